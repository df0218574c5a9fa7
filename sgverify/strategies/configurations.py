"""Whole configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import Configuration, ScheduleTable, TargetTable, load_configuration
from sgverify.errors import ConfigurationError
from sgverify.schemes import Scheme
from sgverify.strategies.gradients import KINDS, NEED_DATA, gradients
from sgverify.strategies.observables import observables
from sgverify.strategies.scalars import decimals, frictions, temperatures
from sgverify.strategies.targets import DIMENSIONS, SIZES, dimension_of, targets


def configurations(
    *,
    scheme: Scheme | None = None,
    dims: Sequence[int] = DIMENSIONS,
    kinds: Sequence[str] | None = None,
    target: SearchStrategy[TargetTable] | None = None,
    sizes: Sequence[int] = SIZES,
    degree: int = 2,
    lowest: int = 1,
    momentum: bool = True,
    schedule: SearchStrategy[ScheduleTable] | None = None,
) -> SearchStrategy[Configuration]:
    """Valid configurations for `scheme` (for any scheme of the catalogue, where it is left out).

    Temperature and friction are not 1, spectra are random, data asymmetric under a strong prior, starts off the
    mean. `dims` are the dimensions, `kinds` the gradient estimators, `sizes` the numbers of data; test functions
    have a degree from `lowest` to `degree` and read p where the scheme has one and `momentum` allows. The step is left open, so
    that it becomes half the stability limit, unless `schedule` draws one. All survive JSON and TOML.

    >>> from hypothesis import find
    >>> from sgverify.configuration import settings_of
    >>> settings_of(find(configurations(dims=[1], kinds=["full"]), lambda c: True))[:3]
    ['temperature=2.0', 'friction=2.0', 'start=0.0']

    Raises `ConfigurationError` for an empty domain.
    """
    if kinds is not None and (not kinds or not set(kinds) <= set(KINDS)):
        raise ConfigurationError(f"kinds={list(kinds)!r}: expected some of {', '.join(KINDS)}")
    state = ("theta",) if scheme is None or not momentum else scheme.dynamics.state
    if not 1 <= lowest <= degree:
        raise ConfigurationError(f"lowest={lowest!r}, degree={degree!r}: expected 1 <= lowest <= degree")
    bare, full = (targets(dims=dims, data=data, sizes=sizes) for data in (None, True))
    return _configurations(target, bare, full, tuple(state), kinds, degree, lowest, schedule)


@st.composite
def _configurations(
    draw: Any,
    target: SearchStrategy[TargetTable] | None,
    bare: SearchStrategy[TargetTable],
    full: SearchStrategy[TargetTable],
    state: tuple[str, ...],
    kinds: Sequence[str] | None,
    degree: int,
    lowest: int,
    schedule: SearchStrategy[ScheduleTable] | None,
) -> Configuration:
    # What is short and always there comes first: the rest can then shrink, or become another, behind it.
    numbers = {
        "temperature": draw(temperatures()),
        "friction": draw(frictions()),
        "start": draw(decimals(low=-3.0, high=3.0, places=1)),
    }
    if target is None:
        kinds = [draw(st.sampled_from(list(kinds or KINDS)))]
        table = draw(full if kinds[0] in NEED_DATA else bare)
    else:
        table = draw(target)
    gradient = draw(gradients(target=table, kinds=kinds))
    tree: dict[str, Any] = {
        **numbers,
        "test_function": draw(
            observables(dim=dimension_of(table), state=state, degree=degree, lowest=lowest)
        ),
        "target": table.model_dump(exclude_unset=True),
    }
    if "p" in state and draw(st.booleans()):
        tree["start_momentum"] = "stationary"
    if gradient.kind != "full":
        tree["gradient"] = gradient.model_dump(exclude_unset=True)
    if schedule is not None:
        tree["schedule"] = draw(schedule).model_dump(exclude_unset=True)
    return load_configuration(tree)


__all__ = ["configurations"]
