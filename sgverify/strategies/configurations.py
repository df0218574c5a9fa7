"""Test functions: polynomials in the state, as text.

Ladders of temperatures, and how neighbours on them swap.

Whole configurations.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import (
    Configuration,
    ExchangeTable,
    ScheduleTable,
    TargetTable,
    load_configuration,
)
from sgverify.errors import ConfigurationError
from sgverify.schemes import Scheme
from sgverify.strategies.gradients import KINDS, NEED_DATA, UNASKED, gradients
from sgverify.strategies.scalars import decimals, frictions, listed, temperatures, whole
from sgverify.strategies.targets import DIMENSIONS, GAUSSIAN, SIZES, WITH_DATA, dimension_of, targets
from sgverify.targets.observable import COORDINATES, Observable, parse_observable

MOST_TERMS = 4
COEFFICIENTS = (1, -1, 2, Fraction(1, 2), Fraction(-3, 2), Fraction(1, 3), -5)


def observables(
    *, dim: int = 1, state: Sequence[str] = ("theta",), degree: int | None = None, lowest: int = 1
) -> SearchStrategy[str]:
    """Polynomials of at most `degree` in theta, and in p where `state` has it, as text that the key `test_function` takes.

    `dim` is the number of coordinates; in one dimension they are called theta and p, else theta[0], p[0] and so on.
    `degree` is 2 where it is left out, 4 in one dimension without momentum. Each has 1 to 4 terms with rational
    coefficients in [-5, 2], one of them of degree `lowest` or more, so that none is constant. `state` has the names of
    the state's parts, as a dynamics has them. Shrinks to one coordinate.

    >>> from hypothesis import find
    >>> find(observables(dim=2, state=("theta", "p"), lowest=2), lambda text: "p" in text)
    'theta[0]*p[0]'

    Raises `ConfigurationError` for an empty domain.
    """
    names = [name for name in COORDINATES if name in state]
    if degree is None:
        degree = 4 if dim == 1 and len(names) == 1 else 2
    if dim < 1 or not names:
        raise ConfigurationError(
            f"dim={dim!r}, state={tuple(state)!r}: expected a coordinate of theta or p to read"
        )
    if not 1 <= lowest <= degree:
        raise ConfigurationError(f"lowest={lowest!r}, degree={degree!r}: expected 1 <= lowest <= degree")
    return _observables(dim, tuple(names), degree, lowest)


@st.composite
def _observables(draw: Any, dim: int, names: tuple[str, ...], degree: int, lowest: int) -> str:
    size = dim * len(names)
    monomials = {
        total: [
            tuple(slots.count(i) for i in range(size))
            for slots in combinations_with_replacement(range(size), total)
        ]
        for total in range(degree + 1)
    }
    leading = draw(st.sampled_from([m for total in range(lowest, degree + 1) for m in monomials[total]]))
    # The other terms are of no higher degree: else a low leading term and a high other one would be a dead end
    # for the shrinker, which can only drop the others.
    every = [m for total in range(sum(leading) + 1) for m in monomials[total] if m != leading]
    terms = {leading: Fraction(draw(st.sampled_from(COEFFICIENTS)))}
    # A fixed number of places, each drawn whether it is taken or not: a term can go, and the choices that follow it
    # stay where they are, so that the shrinker drops it in one move.
    for _ in range(MOST_TERMS - 1 if every else 0):
        monomial, coefficient, taken = (
            draw(st.sampled_from(every)),
            draw(st.sampled_from(COEFFICIENTS)),
            draw(st.booleans()),
        )
        if taken:
            terms.setdefault(monomial, Fraction(coefficient))
    # Read once more: the canonical text has its terms in the parser's order.
    return str(parse_observable(str(Observable(dim, names, terms)), dim, names))


LONGEST = 4
"""Replicas."""


def exchanges(*, replicas: int = LONGEST) -> SearchStrategy[ExchangeTable]:
    """Tables `[exchange]` of replica exchange: ladders of 2 to `replicas` temperatures, and how neighbours on them swap.

    The key `ladder` holds T_k over the configured temperature: 1 for the coldest, and each next one 1.5 to 4 times as
    much as the one below it. A table may also set step factors (0.25, 0.5 or 1 times h for each replica), steps between
    swaps, and how energies are estimated. All keys are valid with every gradient, and the swaps balance: F is 2.
    Shrinks to two temperatures and no other key.

    >>> from hypothesis import find
    >>> sorted(find(exchanges(), lambda table: True).model_dump(exclude_unset=True))
    ['ladder']

    Raises `ConfigurationError` for fewer than two replicas.
    """
    whole("replicas", [replicas], 2, ", the colder and the hotter one")
    return _exchanges(replicas)


@st.composite
def _exchanges(draw: Any, replicas: int) -> ExchangeTable:
    rises = draw(st.lists(decimals(low=1.5, high=4.0, places=1), min_size=1, max_size=replicas - 1))
    ladder = [1.0]
    for rise in rises:
        # Decimals stay short: products of these have few digits.
        ladder.append(round(ladder[-1] * rise, 6))
    tree: dict[str, Any] = {"ladder": ladder}
    if draw(st.booleans()):
        factor = st.sampled_from([0.5, 1.0, 0.25])
        tree["step_factors"] = draw(st.lists(factor, min_size=len(ladder), max_size=len(ladder)))
    for key, values in (
        ("every", [2, 3]),
        ("energies", ["exact"]),
        ("variance", ["repeated"]),
        ("repeats", [2, 5]),
        ("smoothing", [0.5, 1.0]),
        ("refresh", [1, 2, 7]),
        ("momentum", ["kept"]),
    ):
        if draw(st.booleans()):
            tree[key] = draw(st.sampled_from(values))
    return ExchangeTable(**tree)


DTYPES = ("float64", "float32")
METRICS = ("1 + theta**2/10", "2", "1 + theta/5 + theta**2/10")
"""The default, a constant one and one without symmetry: its coefficients are those of a polynomial without real zeros."""

LONGEST_BURN_IN = 20
LARGEST_THINNING = 5


def configurations(
    *,
    scheme: Scheme | None = None,
    dims: Sequence[int] = DIMENSIONS,
    kinds: Sequence[str] | None = None,
    names: Sequence[str] = GAUSSIAN,
    condition: float | None = None,
    target: SearchStrategy[TargetTable] | None = None,
    sizes: Sequence[int] = SIZES,
    degree: int = 2,
    lowest: int = 1,
    momentum: bool = True,
    averaging: bool = False,
    dtypes: Sequence[str] = ("float64",),
    schedule: SearchStrategy[ScheduleTable] | None = None,
) -> SearchStrategy[Configuration]:
    """Valid configurations for `scheme` (for any scheme of the catalogue, where it is left out).

    A configuration says what `sgverify verify` is asked under; its keys and their units are those of `sgverify list
    config`.

    - T in [0.25, 4] and D in [0.25, 6], never 1 (`temperatures`, `frictions`); the start in [-3, 3] standard deviations of
      exp(-U/T) from its mean; momenta start at 0, or from N(0, T I).
    - targets with `dims` coordinates, of `names`, with `sizes` data and the `condition` number of their Hessian: see
      `targets`, in whose place a strategy of your own may stand as `target`. These four options are not read then.
    - gradient estimators of `kinds`: see `gradients`. Each kind is as likely as the next.
    - test functions of a degree from `lowest` to `degree`: see `observables`. They read p where the scheme has one and
      `momentum` allows.
    - `averaging` draws a burn-in of 0 to 20 steps and a thinning of 1 to 5, `dtypes` are those of the state, float64
      and float32; a Riemannian scheme gets one of three metrics.
    - the step is left open, so that it becomes half the stability limit, unless `schedule` draws one (`schedules`).

    All survive JSON, TOML and the command line. Shrinks to the smallest of each.

    >>> from hypothesis import find
    >>> from sgverify.configuration import settings_of
    >>> settings_of(find(configurations(dims=[1], kinds=["full"]), lambda c: True))[:3]
    ['temperature=2.0', 'friction=2.0', 'start=0.0']

    Raises `ConfigurationError` for an empty domain.
    """
    kinds = None if kinds is None else listed("kinds", kinds, KINDS)
    dtypes = listed("dtypes", dtypes, DTYPES)
    state = ("theta",) if scheme is None or not momentum else scheme.dynamics.state
    if not 1 <= lowest <= degree:
        raise ConfigurationError(f"lowest={lowest!r}, degree={degree!r}: expected 1 <= lowest <= degree")
    options: dict[str, Any] = {"dims": dims, "sizes": sizes, "names": names, "condition": condition}
    scalars = _scalars(state, averaging, dtypes, scheme is not None and scheme.dynamics.riemannian)
    chosen = _targets_for(kinds, options) if target is None else st.tuples(st.just(kinds), target)
    return _configurations(scalars, chosen, state, degree, lowest, schedule)


def _targets_for(
    kinds: Sequence[str] | None, options: dict[str, Any]
) -> SearchStrategy[tuple[Sequence[str] | None, TargetTable]]:
    """A kind of gradient, and a target that can have it: the kind comes first, so that each is as likely as the next."""
    bare = targets(**options)
    with_data = any(name in WITH_DATA for name in options["names"])
    possible = [kind for kind in kinds or UNASKED if with_data or kind not in NEED_DATA]
    if not possible:
        raise ConfigurationError(
            f"kinds={list(kinds or UNASKED)!r}, names={list(options['names'])!r}: these gradients need data; expected a name "
            f"among {', '.join(WITH_DATA)}"
        )
    full = targets(**options, data=True) if with_data else bare
    return st.sampled_from(possible).flatmap(
        lambda kind: st.tuples(st.just([kind]), full if kind in NEED_DATA else bare)
    )


@st.composite
def _scalars(
    draw: Any, state: tuple[str, ...], averaging: bool, dtypes: tuple[str, ...], riemannian: bool
) -> dict[str, Any]:
    """The keys that need no target."""
    tree: dict[str, Any] = {
        "temperature": draw(temperatures()),
        "friction": draw(frictions()),
        "start": draw(decimals(low=-3.0, high=3.0, places=1)),
    }
    if averaging:
        tree.update(
            burn_in=draw(st.integers(0, LONGEST_BURN_IN)), thinning=draw(st.integers(1, LARGEST_THINNING))
        )
    if len(dtypes) > 1 or dtypes[0] != "float64":
        tree["dtype"] = draw(st.sampled_from(dtypes))
    if riemannian:
        tree["metric"] = draw(st.sampled_from(METRICS))
    return tree


@st.composite
def _configurations(
    draw: Any,
    scalars: SearchStrategy[dict[str, Any]],
    chosen: SearchStrategy[tuple[Sequence[str] | None, TargetTable]],
    state: tuple[str, ...],
    degree: int,
    lowest: int,
    schedule: SearchStrategy[ScheduleTable] | None,
) -> Configuration:
    # Short draws that always occur come first, so that the later ones can shrink, or change, behind them.
    numbers = draw(scalars)
    kinds, table = draw(chosen)
    gradient = draw(gradients(target=table, kinds=kinds))
    seen = tuple(name for name in state if name in ("theta", "p"))
    tree: dict[str, Any] = {
        **numbers,
        "test_function": draw(observables(dim=dimension_of(table), state=seen, degree=degree, lowest=lowest)),
        "target": table.model_dump(exclude_unset=True),
    }
    if "p" in state and draw(st.booleans()):
        tree["start_momentum"] = "stationary"
    if gradient.estimator.noisy:
        tree["gradient"] = gradient.model_dump(exclude_unset=True)
    if schedule is not None:
        tree["schedule"] = draw(schedule).model_dump(exclude_unset=True)
    return load_configuration(tree)
