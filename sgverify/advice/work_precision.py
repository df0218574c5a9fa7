"""What does an error cost? The bias of a named average against the gradients per unit of time, beside the catalogue's schemes.

A step of size h asks for g gradients: a unit of the dynamics' time costs g/h of them. The bias of the invariant law falls as h^K,
so that a curve of a scheme of order K falls as the K-th power of its cost. What is compared is the bias alone: schemes of one
dynamics have, as h -> 0, the same Monte Carlo error for the same time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sgverify.advice.chain_laws import ExactLaws, GridLaws
from sgverify.advice.plans.costs import gradients_per_step
from sgverify.checks.rates.engines import exact_answers
from sgverify.errors import InstabilityError, Unreached, UserError
from sgverify.evidence import Panel, Series, Table
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.schemes.catalogue import NAMED
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

HALVINGS = 8
"""Steps of an exact curve, from a share of the stability limit downwards, by factors of 2."""

ON_GRIDS = 5
"""Steps of a curve from grids, from twice the default step downwards: each of them takes a tenth of a second and more."""

LARGEST = 0.9
"""The largest step, as a share of the stability limit."""

ALIKE = 1e-9
"""Two schemes have one curve where their errors differ by less than this share: far above the rounding of 64 bits."""

MOST = 8
"""The most curves in one picture: more cannot be told apart by their colours."""

_NO_LAW = (InstabilityError, PrecisionLostError, Unreached)


@dataclass(frozen=True)
class Cost:
    """One step size: its cost in gradients per unit of time, the bias of the average, and the bound of the bias's own error."""

    step: float
    gradients: float
    bias: float
    error_bound: float


@dataclass(frozen=True)
class CostCurve:
    """One scheme's bias against its cost; `alike` are schemes with the same one.

    `largest_step` is the stability limit, None where none is known. `at_cost` is the bias at the step of the same cost as the
    judged scheme's configured one; None where the scheme is unstable there.
    """

    scheme: str
    gradients_per_step: float
    largest_step: float | None
    costs: tuple[Cost, ...]
    at_cost: Cost | None = None
    alike: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The scheme, and those with the same curve."""
        return " = ".join((self.scheme, *self.alike))


@dataclass(frozen=True)
class WorkPrecision:
    """The curves on one target and with one gradient estimator: that of the judged scheme first, if it has one.

    `method` is "exact" or "grid"; `truth` is the average under exp(-U/T). `cost` is what the judged scheme's step costs. `left_out`
    says of schemes why they have no curve.
    """

    average: str
    gradient: str
    data: bool
    method: str
    truth: float
    step: float
    cost: float | None
    curves: tuple[CostCurve, ...]
    left_out: tuple[tuple[str, str], ...]

    @property
    def panel(self) -> Panel:
        """The picture: at most `MOST` curves, the judged scheme's first, then those of the smallest bias at its cost."""
        first, *others = self.curves
        rest = sorted(others, key=_size_at_cost)[: MOST - 1]
        return Panel(
            f"Bias of the average of {self.average} against its cost, {self.gradient}",
            f"gradients {'of single data ' if self.data else ''}per unit of time",
            f"bias of {self.average}",
            tuple(_series(curve) for curve in (first, *rest)),
        )

    @property
    def table(self) -> Table:
        """Every scheme: gradients per step, stability limit, and the bias at the judged scheme's cost."""
        cost = "that cost" if self.cost is None else f"{self.cost:.3g} gradients per unit of time"
        return Table(
            f"Bias of {self.average} at {cost}",
            ("scheme", "gradients per step", "stability limit of h", "h at that cost", "bias there"),
            tuple(_row(curve) for curve in self.curves),
        )


def work_precision(subject: Subject) -> WorkPrecision:
    """The bias of the average of the subject's test function against the cost, for its scheme and the comparable ones.

    Comparable are the schemes of the catalogue whose dynamics has the same variables and leaves exp(-U/T) invariant, on the same
    target, with the same gradient estimator, temperature and friction. Exact where one step is affine and U quadratic, from
    transfer operators on the line; raises `Unreached` where neither reaches the target, with a sentence for the reader.
    """
    if subject.composite is not None:
        raise Unreached("a composite's errors depend on swaps or weights, whose exact law is not computed")
    dynamics = subject.scheme.dynamics
    if not dynamics.usual:
        raise Unreached(f"no other scheme of {dynamics.name} to compare with")
    if subject.configuration.schedule.kind != "fixed":
        raise Unreached("the step size changes during the run")
    others = [
        name
        for name, item in NAMED.items()
        if item.dynamics.usual and item.dynamics.state == dynamics.state and name != subject.reference
    ]
    curves: list[CostCurve] = []
    left_out: list[tuple[str, str]] = []
    cost = None if subject.black_box else gradients_per_step(subject) / subject.step
    for name, other in _subjects(subject, others):
        try:
            curves.append(_curve(name, other, cost))
        except (Unreached, UserError) as why:
            left_out.append((name, str(why)))
    if not curves:
        reasons = dict.fromkeys(why for _, why in left_out)
        raise Unreached(next(iter(reasons)) if reasons else "nothing to compare with")
    quadratic = subject.target.quadratic
    return WorkPrecision(
        average=str(subject.observable),
        gradient=subject.configuration.gradient.estimator.label.format(
            batch=subject.configuration.gradient.batch
        ),
        data=subject.target.size is not None,
        method="exact" if quadratic else "grid",
        truth=float(subject.truth) if quadratic else float(subject.reference_average.value),
        step=subject.step,
        cost=cost,
        curves=tuple(_together(curves)),
        left_out=tuple(left_out),
    )


def _subjects(subject: Subject, others: Sequence[str]) -> Iterator[tuple[str, Subject]]:
    yield subject.reference, subject
    configuration = subject.configuration
    for name in others:
        other = make_subject(name, configuration)
        # The target's own derivations are made once.
        vars(other)["target"] = subject.target
        yield name, other


def _curve(name: str, subject: Subject, cost: float | None) -> CostCurve:
    """The curve of one scheme. Raises `Unreached` or `UserError` where it has none."""
    if subject.black_box:
        raise Unreached("torch code counts its gradients itself")
    subject.validate()
    per_step = gradients_per_step(subject)
    laws = _laws(subject)
    if isinstance(laws, ExactLaws):
        limit, steps = laws.largest_step, [LARGEST * laws.largest_step * 2.0**-k for k in range(HALVINGS)]
    else:
        limit, steps = None, [2 * subject.step * 2.0**-k for k in range(ON_GRIDS)]
    costs = tuple(filter(None, (_cost(laws, step, per_step) for step in steps)))
    if not costs:
        raise Unreached("no step that was tried is stable")
    there = None
    if cost is not None and (limit is None or per_step / cost < limit):
        there = _cost(laws, per_step / cost, per_step)
    return CostCurve(name, per_step, limit, costs, there)


def _laws(subject: Subject) -> ExactLaws | GridLaws:
    """The laws that give the bias of the average with a bound of its error."""
    if subject.target.quadratic:
        exact_answers(subject)
        laws = ExactLaws(subject)
        limit = laws.largest_step
        if not math.isfinite(limit) or limit <= 0:
            raise Unreached("it is stable at no step size" if limit <= 0 else "no stability limit is known")
        return laws
    if len(subject.scheme.dynamics.state) > 1 or subject.target.dim > 1:
        raise Unreached(
            "no exact law off Gaussian targets but on the line: there is no curve to compare with"
        )
    return GridLaws(subject)


def _cost(laws: ExactLaws | GridLaws, step: float, per_step: float) -> Cost | None:
    try:
        bias, bound = laws.bias(step)
    except _NO_LAW:
        return None
    return Cost(step, per_step / step, bias, bound) if math.isfinite(bias) else None


def _together(curves: Sequence[CostCurve]) -> list[CostCurve]:
    """The curves, each once: schemes with the same errors at the same costs share one."""
    found: list[CostCurve] = []
    for curve in curves:
        same = next((place for place, other in enumerate(found) if _same(curve, other)), None)
        if same is None:
            found.append(curve)
        else:
            found[same] = replace(found[same], alike=(*found[same].alike, curve.scheme))
    return found


def _same(one: CostCurve, other: CostCurve) -> bool:
    close = partial(math.isclose, rel_tol=ALIKE)
    return len(one.costs) == len(other.costs) and all(
        close(a.gradients, b.gradients)
        and (close(a.bias, b.bias) or abs(a.bias - b.bias) <= a.error_bound + b.error_bound)
        for a, b in zip(one.costs, other.costs, strict=True)
    )


def _size_at_cost(curve: CostCurve) -> float:
    return math.inf if curve.at_cost is None else abs(curve.at_cost.bias)


def _series(curve: CostCurve) -> Series:
    ordered = sorted(curve.costs, key=lambda cost: cost.gradients)
    return Series(
        curve.label,
        "exact",
        tuple(cost.gradients for cost in ordered),
        tuple(0.0 if abs(cost.bias) <= cost.error_bound else cost.bias for cost in ordered),
        tuple(cost.error_bound for cost in ordered),
    )


def _row(curve: CostCurve) -> tuple[str | float | None, ...]:
    there = curve.at_cost
    return (
        curve.label,
        curve.gradients_per_step,
        curve.largest_step,
        None if there is None else there.step,
        "unstable" if there is None else 0.0 if abs(there.bias) <= there.error_bound else there.bias,
    )
