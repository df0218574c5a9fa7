"""Gradient estimators that a target can have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import GradientTable, TargetTable
from sgverify.errors import ConfigurationError
from sgverify.gradients import ESTIMATORS
from sgverify.strategies.scalars import decimals, listed, precisions
from sgverify.strategies.targets import dimension_of, size_of

KINDS = tuple(sorted(ESTIMATORS, key=lambda kind: ESTIMATORS[kind].draws_data))
"""The kinds of gradients in the order in which examples shrink: kinds without data come first."""

UNASKED = tuple(kind for kind in KINDS if not ESTIMATORS[kind].unread and not ESTIMATORS[kind].centred)
"""The kinds that are drawn by default. A table of gradients is left out since no exact engine reads it, a fixed centre since it
has no noise if all data have the same Hessian."""

NEED_DATA = tuple(kind for kind in KINDS if ESTIMATORS[kind].draws_data)


def gradients(
    *, target: TargetTable, kinds: Sequence[str] | None = None, biased: bool = False
) -> SearchStrategy[GradientTable]:
    """Gradient tables for `target`, of `kinds` or of all but `saga` and `control-variate`, in the order in which they shrink.

    `sgverify list gradients` has the kinds. A batch is smaller than the N data, so that there is noise: 1 to N - 1, and
    a divisor of N for `reshuffle` and `symmetric`. A covariance of `additive`, that of the noise of one gradient
    evaluation, is a number in [0.1, 9], a diagonal (that may have a 0) or a matrix (see `precisions`). `biased=True`
    scales the likelihood's part, by 0.5 to 2 and never 1, or clips every datum's gradient at a norm of 0.5 to 4, where
    there are data.

    >>> from hypothesis import find
    >>> from sgverify.configuration import TargetTable
    >>> table = TargetTable(data=[0.0, 0.0, 1.0, 5.0])
    >>> sorted({find(gradients(target=table, kinds=["reshuffle"]), lambda g: g.batch == n).batch for n in (1, 2)})
    [1, 2]
    >>> find(gradients(target=table, biased=True), lambda g: True).scale
    2.0

    Raises `ConfigurationError` where none of the kinds applies to the target.
    """
    size, dim = size_of(target), dimension_of(target)
    wanted = UNASKED if kinds is None else listed("kinds", kinds, KINDS)
    possible = [kind for kind in wanted if kind not in NEED_DATA or (size or 0) > 1]
    if not possible:
        raise ConfigurationError(
            f"kinds={list(wanted)!r}: none applies to target.name={target.name!r} with {size or 'no'} data; expected full or "
            "additive there; choose one of these or a target with data"
        )
    found = st.one_of([_of_kind(kind, size or 0, dim) for kind in possible])
    if not biased:
        return found
    if not size:
        raise ConfigurationError(
            f"biased=True: target.name={target.name!r} has no data whose part could be scaled or clipped; choose one that has"
        )
    return st.tuples(found, _biases()).map(
        lambda pair: GradientTable(**{**pair[0].model_dump(exclude_unset=True), **pair[1]})
    )


def _of_kind(kind: str, size: int, dim: int) -> SearchStrategy[GradientTable]:
    """Tables of one kind with each key that it reads; a key without a strategy is left open."""
    estimator = ESTIMATORS[kind]
    known = {"refresh": st.sampled_from([None, 1, 2, 5]), "covariance": _covariances(dim)}
    own = {key: known[key] for key in estimator.own_keys if key in known}
    if estimator.draws_data:
        batches = [n for n in range(1, size) if not estimator.exchangeable or size % n == 0]
        own["batch"] = st.sampled_from(batches)
    return st.builds(GradientTable, kind=st.just(kind), **own)


def _biases() -> SearchStrategy[dict[str, float]]:
    scales = decimals(low=0.5, high=2.0, places=1, without=frozenset({1.0})).map(lambda x: {"scale": x})
    return st.one_of(scales, decimals(low=0.5, high=4.0, places=1).map(lambda x: {"clip": x}))


def _covariances(dim: int) -> SearchStrategy[Any]:
    number = decimals(low=0.1, high=9.0, places=1)
    if dim == 1:
        return number
    flat = st.lists(decimals(low=0.0, high=9.0, places=1), min_size=dim, max_size=dim).filter(any)
    return st.one_of(number, flat, precisions(dim=dim, shape="dense"))
