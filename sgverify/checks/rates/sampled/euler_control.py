"""How large is the first-order error of an Euler scheme, for comparison with a bias that is lost in the noise?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sgverify.checks.rates.engines import exact_answers, transfer_answers
from sgverify.checks.rates.sampled.controlled_plan import plan_sweep
from sgverify.checks.rates.sampled.sweep import looks_at
from sgverify.configuration import load_configuration
from sgverify.errors import SgverifyError, Unreached
from sgverify.rates import Decision, Fit, Sample, fit_terms
from sgverify.rates.trial import LACK_OF_FIT
from sgverify.schemes.catalogue import NAMED
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

STAGE = "control"

TERMS = 3
"""The number of powers h, h^2, ... in the fit of a sampled control; one more point than terms shows a lack of fit."""

TOLD = 0.5
"""The sample of a control grows until its lower bound is this part of its estimate; more chains would hardly raise the bound."""


@dataclass(frozen=True)
class Control:
    """The coefficient of h in an Euler scheme's stationary bias: its estimate, its standard error, and a lower bound.

    `bound` bounds |coefficient| from below; it is 0 if the coefficient cannot be distinguished from 0, and `why` gives the
    reason. `level` is the probability that a sampled bound is too large. For a computed coefficient, `standard_error` is
    its error bound.
    """

    scheme: str
    coefficient: float
    standard_error: float
    bound: float
    how: str
    level: float = 0.0
    why: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def certificate(self) -> dict[str, Any]:
        """The control as a certificate names it."""
        return {
            "scheme": self.scheme,
            "first_order_coefficient": self.coefficient,
            "standard_error": self.standard_error,
            "at_least": self.bound,
            "how": self.how,
            "level": self.level,
            **({"why": self.why} if self.why else {}),
            **self.details,
        }


def candidates(subject: Subject) -> list[Subject]:
    """The catalogue's Euler schemes of the same dynamics under the same configuration, but for the scheme itself."""
    found = [
        Subject(scheme, _default_steps(subject), name)
        for name, scheme in NAMED.items()
        if scheme.dynamics == subject.scheme.dynamics
        and scheme.order == 1
        and scheme.word is None
        and name != subject.scheme.name
    ]
    for item in found:
        # What is derived from a target, such as draws of a reference average, is derived once.
        vars(item)["target"] = subject.target
    return found


def control_of(subject: Subject, level: float, *, sampled: bool) -> Control | None:
    """The Euler control of a subject: computed if an exact method reaches one, else from chains if `sampled` is set.

    None if there is no candidate, or if only chains would answer and `sampled` is off. `level` is the probability that a
    sampled bound is too large.
    """
    known = _computed_control(subject)
    return _sampled_control(subject, level) if known is None and sampled else known


@cached_per_subject
def _computed_control(subject: Subject) -> Control | None:
    found = [control for item in candidates(subject) if (control := _computed(item)) is not None]
    return max(found, key=lambda control: control.bound, default=None)


@cached_per_subject
def _sampled_control(subject: Subject, level: float) -> Control | None:
    chosen = _likeliest(candidates(subject))
    return None if chosen is None else _sampled(chosen, level)


def first_order_error(kind: str, alpha: float, scale: float, length: int) -> float:
    """The bias along a schedule of a scheme with stationary bias h: C L^-alpha at a horizon, sum h_l^2 / S_L at falling steps."""
    if kind == "horizon":
        return scale * float(length) ** -alpha
    steps = scale * np.arange(1, length + 1, dtype=np.float64) ** -alpha
    return float((steps @ steps) / steps.sum())


def with_control(decision: Decision, control: Control) -> Decision:
    """The decision with the control in its certificate; the reason names a control that cannot be used."""
    if control.why:
        decision = replace(decision, reason=f"{decision.reason}; {control.why}")
    return replace(decision, certificate={**decision.certificate, "control": control.certificate})


def _likeliest(some: list[Subject]) -> Subject | None:
    """The candidate with the largest first-order coefficient, computed on a one-dimensional Gaussian."""
    if len(some) < 2:
        return next(iter(some), None)

    def size(item: Subject) -> float:
        c = item.configuration
        plain = {"target": {"name": "gaussian"}, "temperature": c.temperature, "friction": c.friction}
        control = _computed(Subject(item.scheme, load_configuration(plain), item.reference))
        return 0.0 if control is None else control.bound

    return max(some, key=size)


def _default_steps(subject: Subject) -> Any:
    """The configuration without the settings of steps and samples that were chosen for the subject itself."""
    tree = subject.configuration.model_dump(exclude_unset=True)
    for table, keys in {"schedule": ("step", "scale"), "sweep": ("steps", "lengths")}.items():
        if table in tree:
            tree[table] = {key: value for key, value in tree[table].items() if key not in keys}
    for key in ("chains", "steps", "burn_in", "thinning"):
        tree.pop(key, None)
    return load_configuration(tree)


def _computed(item: Subject) -> Control | None:
    """The coefficient of h from an expansion at h = 0: of affine moments, or of operators on a grid."""
    try:
        answers = exact_answers(item)
        value = answers.expansion.values[1]
        return _exactly(item, value, 0.0, "expansion of the exact law at h = 0")
    except Unreached:
        pass
    except SgverifyError:
        return None
    try:
        leading = transfer_answers(item).expansion
    except SgverifyError:
        return None
    term = next((term for term in leading.terms if term.order == 1), None)
    if term is None:
        return None
    return _exactly(item, float(term.value), float(term.error_bound), "Poisson equation on a grid")


def _exactly(item: Subject, value: float, error: float, how: str) -> Control:
    bound = max(0.0, abs(value) - error)
    why = (
        ""
        if bound
        else f"the first-order coefficient of its control {item.reference} is 0"
        + (f" within {error:.1g}" if error else "")
    )
    return Control(item.reference, value, error, bound, how, why=why)


def _sampled(item: Subject, level: float) -> Control:
    try:
        plan = plan_sweep(item)
    except Unreached as reason:
        return Control(
            item.reference, np.nan, np.nan, 0.0, "chains", level, f"its control {item.reference}: {reason}"
        )
    control: Control | None = None
    for sweep in looks_at(item, plan, STAGE):
        control = None
        apart = sweep.disagreement()
        if apart:
            why = f"of its control {item.reference}: {apart}"
            return Control(item.reference, np.nan, np.nan, 0.0, "chains", level, why)
        # An error of the reference average, or of a Gaussian control's, shifts all points by the same amount.
        shared = sweep.sample.shifted(sweep.error)
        for sample, steps in _without_the_largest(shared, sweep.steps):
            # Bonferroni: two signs of the coefficient, all looks, and all subsets of the steps share the level.
            tail = level / (2 * len(plan.looks) * max(1, len(plan.steps) - TERMS))
            control = _fitted(item, sample, steps, tail, level)
            if control is not None:
                break
        if control is not None and control.bound > TOLD * abs(control.coefficient):
            break
    if control is None:
        why = f"no powers of h describe the bias of its control {item.reference} on {len(plan.steps)} steps"
        return Control(item.reference, np.nan, np.nan, 0.0, "chains", level, why)
    return control


def _without_the_largest(
    sample: Sample, steps: tuple[float, ...]
) -> Iterator[tuple[Sample, tuple[float, ...]]]:
    for dropped in range(len(steps) - TERMS):
        yield sample.take(slice(dropped, None)), steps[dropped:]


def _fitted(
    item: Subject, sample: Sample, steps: tuple[float, ...], tail: float, level: float
) -> Control | None:
    """The control from a fit of `TERMS` powers of h to one sample; None if the fit is rejected."""
    h = np.asarray(steps)
    # Columns of size 1 at the largest step keep the normal equations well conditioned.
    columns = np.stack([(h / h[0]) ** power for power in range(1, TERMS + 2)], axis=1)
    fit = fit_terms(sample, columns[:, :TERMS])
    if fit.p_value < LACK_OF_FIT:
        return None
    # Omitted powers of h bias the first coefficient: a second fit has one more term, at most as large as the whole error.
    whole = max(abs(float(sample.values[0])), float(sample.covariance[0, 0]) ** 0.5)
    guard = fit_terms(sample, columns, shrink=[*[None] * TERMS, whole])
    (value, bound, error), (other, least, _) = (_first(item, tail, steps[0]) for item in (fit, guard))
    bound = min(bound, least) if value * other > 0 else 0.0
    why = ""
    if not bound:
        why = f"the first-order coefficient of its control {item.reference}, {value:.3g} +- {error:.2g}, is not told from 0 either"
    details = {"steps": list(steps), "chains": sample.chains, "lack_of_fit": fit.p_value}
    return Control(item.reference, value, error, bound, "chains", level, why, details)


def _first(fit: Fit, tail: float, step: float) -> tuple[float, float, float]:
    """The coefficient of h, a lower bound of its absolute value, and its standard error."""
    value, error = float(fit.estimates[0]) / step, float(fit.covariance[0, 0]) ** 0.5 / step
    return value, max(0.0, abs(value) - fit.quantile(tail) * error), error
