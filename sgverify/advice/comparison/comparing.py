"""Schemes side by side on one target.

A step of size h asks for g gradients, so that a unit of the dynamics' time costs g/h of them. Schemes of one dynamics have, as
h -> 0, the same Monte Carlo error for the same time; where dynamics differ, costs are per independent draw instead: g tau, tau the
sum of the autocorrelations of the coordinate, or the square of one, that forgets most slowly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from sgverify.advice.certified.asking import given_class
from sgverify.advice.comparison.model import DRAW, UNIT, ComparedScheme, SchemeComparison
from sgverify.advice.comparison.rows import SchemeRow
from sgverify.advice.size.finding import gradient_label
from sgverify.advice.step_bias import given_target
from sgverify.configuration import Configuration, load_configuration
from sgverify.configuration.overrides import SamplingOverrides
from sgverify.errors import ConfigurationError, UserError
from sgverify.exact.certificates.contraction import CurvatureBounds
from sgverify.schemes.catalogue import NAMED
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from sgverify.targets import Target
from sgverify.targets.own.log_density import LogDensity
from sgverify.targets.registry import dressed

Progress = Callable[[str, int, int], None]


def compare(
    *schemes: Any,
    target: Target | LogDensity | Mapping[str, Any] | str | None = None,
    config: Configuration | Mapping[str, Any] | str | Path | None = None,
    error: float = 0.01,
    cost: float | None = None,
    m: float | None = None,
    L: float | None = None,
    progress: Progress | None = None,
    **overrides: Unpack[SamplingOverrides],
) -> SchemeComparison:
    """Schemes side by side: orders, leading errors, stability limits, and what a bias costs, the cheapest first.

    `schemes`: definitions, catalogue names, references, torch steps and optimizers, mixed; a single one is compared with those of
    the catalogue of its dynamics. `target`, `config` and `overrides` as in `sgverify.advise`. `error` is that of each mean and
    standard deviation, in standard deviations of the target; `cost` the gradients at which errors are compared, per unit of time
    (per independent draw where dynamics differ), by default those of the first scheme at its step, where dynamics differ the
    largest of all at their steps. Contractions are certified for curvatures from `m` to `L`, by default those of the
    target. Raises `UserError` where schemes, target or configuration are wrong; what cannot be computed of one scheme has its
    reason in the answer.

        comparison = sgverify.compare("mine.py:fourth", "sghmc-baoab", "sghmc-aboba")
        print(comparison)
    """
    for name, value in (("error", error), ("cost", cost)):
        if value is not None and not (isinstance(value, int | float) and 0 < value < math.inf):
            raise ConfigurationError(f"{name}={value!r}: expected a number above 0, as 0.01; mend it")
    if not schemes:
        raise ConfigurationError(
            "no scheme to compare; expected names of the catalogue, path/to/file.py:scheme, or objects; name one"
        )
    made, tables = (None, dict(overrides)) if target is None else given_target(target, overrides)
    configuration = load_configuration(config, **tables)
    if configuration.schedule.kind != "fixed":
        raise ConfigurationError(
            f"schedule.kind={configuration.schedule.kind!r}: expected 'fixed' for a comparison by step size; leave it out"
        )
    # One that is named twice is one row.
    schemes = tuple(scheme for place, scheme in enumerate(schemes) if scheme not in schemes[:place])
    first = make_subject(schemes[0], configuration)
    if made is not None:
        vars(first)["target"] = dressed(made, configuration.target)
    others = schemes[1:] or comparable(first)
    curvatures = given_class(m, L)
    found = compare_subject(first, others, error=error, cost=cost, curvatures=curvatures, progress=progress)
    return replace(found, m=m, L=L)


def comparable(subject: Subject) -> list[str]:
    """The schemes of the catalogue whose dynamics has the same variables and leaves exp(-U/T) invariant, but for the subject's."""
    dynamics = subject.scheme.dynamics
    if subject.composite is not None or not dynamics.usual:
        raise UserError(
            f"scheme={subject.reference!r}: no scheme of the catalogue to compare it with; expected two or more; name another"
        )
    own = (item for item in NAMED.items() if item[0] != subject.reference)
    return [name for name, item in own if item.dynamics == dynamics]


def compare_subject(
    first: Subject,
    others: Sequence[Any],
    *,
    error: float = 0.01,
    cost: float | None = None,
    brief: bool = False,
    curvatures: CurvatureBounds | None = None,
    progress: Progress | None = None,
) -> SchemeComparison:
    """The subject beside other schemes under its configuration; `brief`: biases alone, without proofs and searches.

    Raises what the settings alone can cause.
    """
    if first.changes_along_run is not None:
        raise ConfigurationError(f"{first.changes_along_run}; expected settings that stay; leave them out")
    if not first.black_box:
        first.validate()
    tables = first.configuration.model_dump(exclude_unset=True)
    tables.get("schedule", {}).pop("step", None)
    free = load_configuration(tables)
    rows = [SchemeRow(first, brief, 0, curvatures)]
    for scheme in others:
        other = make_subject(scheme, free)
        # The target's own derivations are made once.
        vars(other)["target"] = first.target
        rows.append(SchemeRow(other, brief, len(rows), curvatures))
    unit = UNIT if len({row.subject.scheme.dynamics.name for row in rows}) == 1 else DRAW
    for row in rows:
        row.unit = unit
    costs = (row.own_cost for row in rows)
    known = (own for own in costs if own is not None)
    cost = cost or (next(known, None) if unit == UNIT else max(known, default=None))
    found = []
    for number, row in enumerate(rows):
        if progress is not None:
            progress(row.subject.reference, number, len(rows))
        found.append(row.compared(cost, error))
    c = first.configuration
    return SchemeComparison(
        target=first.target.name,
        dim=first.target.dim,
        data=first.target.size,
        gradient=gradient_label(first),
        temperature=float(c.temperature),
        friction=float(c.friction),
        error=error,
        unit=unit,
        cost=cost,
        schemes=tuple(sorted(found, key=partial(_cost_of, error))),
    )


def _cost_of(error: float, row: ComparedScheme) -> float:
    """The cost of the error, or a bound above it where every bias that was looked at is below; to six figures, for ties."""
    cost = row.cost_for_error
    if cost is None:
        cost = row.curve[0].cost if row.curve and abs(row.curve[0].bias) <= error else math.inf
    return float(f"{cost:.6g}")
