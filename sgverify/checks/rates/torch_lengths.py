"""At which rate do bias and mean square error of an average along torch code fall with its length L, on a Gaussian target?

The chain of one affine step with its noise, read with bounds of its errors, goes into the exact engines: the bias and mean square
error at L steps are sums by matrix powers, in balls that contain those errors. The rate in L follows from the powers of h in the
stationary bias, in h times the sum of all transient biases, and in h times the long-run variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import flint
import numpy as np

from sgverify.checks.question import Question
from sgverify.checks.rates.beyond_gaussians import bias_beyond_gaussians
from sgverify.checks.rates.finite_time import BRIEF_LENGTHS, LENGTHS, told_of
from sgverify.checks.rates.torch_law import certificate_of, followed_bias, torch_bias
from sgverify.checks.rates.transfer import ASSUMED, rate_of_powers
from sgverify.claims import claim_for
from sgverify.errors import Unreached
from sgverify.evidence import Evidence, Point
from sgverify.exact.chain.chain import ChainProblem
from sgverify.exact.chain.ergodic import Centred, ergodic_bias
from sgverify.exact.chain.mse import long_run_variance, mean_square_error
from sgverify.exact.numbers.ball import Certified, PrecisionLostError, identity
from sgverify.law.one_step_map import STATES
from sgverify.law.torch_chain import BendsError, TorchChain, chain_of
from sgverify.rates.powers import PowersOfH, powers_of_h
from sgverify.rates.verdict import Rate, judge_length_rate, length_rate
from sgverify.samplers.intercepted.black_box import CodeError
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.composite import TorchSubject, limits
from sgverify.subject.subject import Subject

BITS = 160
"""The working precision: the errors of the reading, of 1e-15, are far above its rounding."""

ZERO = 1e-6
"""A coefficient whose bound is below this share of the quantity's own size, and that is not told from 0, counts as 0."""

MOST_COORDINATES = 16
"""The most coordinates of a chain at L steps: its balls take seconds in more."""


@dataclass(frozen=True)
class _Series:
    """Powers of h: the stationary bias b_j, h times the sum of transients tau_j, and the variance sigma_0^2 (None: not told)."""

    bias: list[float]
    transient: list[float]
    variance: float | None


def torch_length_rate(question: Question) -> Evidence:
    """The rate in L of bias, mean square error, or the slower of both, along the schedule of the claim."""
    subject = cast(TorchSubject, question.subject)
    if question.why_no_rate:
        return question.unanswered(question.why_no_rate, "not-applicable")
    quantity, schedule, alpha = question.quantity, question.schedule.kind, question.alpha
    if not subject.target.quadratic:
        return _from_stationary_law(question, "the potential is not quadratic")
    try:
        chain = chain_of(subject)
        _refuse(chain, quantity)
        followed = followed_bias(subject)
        stationary = followed.judged(Fraction(0))
        if stationary.verdict != "conforms":
            return question.unanswered(stationary.reason, method="quadrature")
        points = [] if schedule == "power" else _points(chain, quantity, schedule, alpha)
        series = _series(subject)
        found = _rate(chain, series, quantity, schedule, alpha)
    except BendsError as error:
        return _from_stationary_law(question, str(error))
    except (Unreached, PrecisionLostError) as error:
        return question.unanswered(f"the chain at L steps is not read: {error}", method="quadrature")
    prediction = question.prediction
    predicted = Rate(prediction.exponent, logarithm=prediction.logarithm)
    certificate: dict[str, Any] = {
        **certificate_of(followed, subject),
        "stationary_bias": series.bias,
        "transient": series.transient,
        "asymptotic_variance": series.variance,
        "schedule": {
            "kind": schedule,
            "alpha": alpha,
            "scale": _scale(chain),
        },
        "logarithm": {"found": found.logarithm, "predicted": prediction.logarithm},
    }
    if schedule == "power":
        certificate["no_points"] = "every step has its own size, and its own map would have to be read"
    return question.answered(
        method="quadrature",
        scope=question.scope(states=STATES),
        judgement=judge_length_rate(found, predicted, told_of(question), strict=prediction.strict),
        found=found,
        points=points,
        certificate=certificate,
    )


def _from_stationary_law(question: Question, why: str) -> Evidence:
    """The rate for a chain that is not affine, from the order of its stationary law; inconclusive if that order is not shown."""
    subject = cast(TorchSubject, question.subject)
    stationary = _stationary(subject, torch_bias)
    if stationary.verdict == "conforms" and stationary.found.exponent is None:
        # The order alone bounds a rate; the power of h that the bias has gives it.
        more = _stationary(subject, bias_beyond_gaussians)
        stationary = more if more.verdict == "conforms" and more.found.exponent is not None else stationary
    order = stationary.predicted.exponent if stationary.found.exponent is None else stationary.found.exponent
    schedule, alpha = question.schedule.kind, question.alpha
    if (
        stationary.verdict != "conforms"
        or order is None
        or Fraction(order).denominator != 1
        or schedule == "fixed"
    ):
        reason = f"the chain at L steps is not read: {why}; of its stationary law: {stationary.reason}"
        return question.unanswered(reason, method="quadrature")
    scale = subject.configuration.schedule.scale or subject.step
    found = rate_of_powers([*([0.0] * int(order)), 1.0], question.quantity, schedule, alpha, scale)
    prediction = question.prediction
    predicted = Rate(prediction.exponent, logarithm=prediction.logarithm)
    found = replace(found, at_most=found.at_most or stationary.found.exponent is None)
    judgement = judge_length_rate(found, predicted, told_of(question), strict=prediction.strict)
    if judgement.verdict == "inconclusive":
        # A bound is all that is known, and the claim is about what it leaves open.
        judgement = replace(judgement, verdict="not-applicable")
    return question.answered(
        method="quadrature",
        scope=question.scope(states=STATES),
        judgement=replace(judgement, reason=f"{judgement.reason}; {ASSUMED}"),
        found=found,
        certificate={
            "rests_on": ASSUMED,
            "stationary_law": stationary.reason,
            "schedule": {"kind": schedule, "alpha": alpha, "scale": scale},
            "logarithm": {"found": found.logarithm, "predicted": prediction.logarithm},
            "limits": limits(subject.target.dim),
        },
    )


@cached_per_subject
def _stationary(subject: TorchSubject, judge: Callable[[Question], Evidence]) -> Evidence:
    return judge(Question(subject, claim_for("stationary-bias", "fixed"), "stationary-bias"))


def _refuse(chain: TorchChain, quantity: str) -> None:
    subject = chain.subject
    if subject.observable.degree > 2:
        raise Unreached(
            f"the test function has degree {subject.observable.degree}, and moments up to the second are read at L steps "
            "(--set test_function=theta**2)"
        )
    size = len(chain.setting.spreads)
    if size > MOST_COORDINATES:
        raise Unreached(
            f"the chain has {size} coordinates, more than the {MOST_COORDINATES} of an answer at L steps"
        )
    why = None if quantity == "bias" else chain.why_no_square(chain.first)
    if why:
        raise Unreached(why)


@cached_per_subject
def _series(subject: TorchSubject) -> _Series:
    """The powers of h behind a rate, from values at falling steps."""
    chain, followed = chain_of(subject), followed_bias(subject)
    rate, bias = followed.fitted.rate, []
    if rate.exponent is not None:
        if rate.exponent.denominator != 1:
            raise Unreached(f"the stationary bias has the power h^({rate.exponent})")
        bias = [*([0.0] * int(rate.exponent)), float(rate.coefficient or 0.0)]
    transient = _powers(followed.below, lambda p, h: _transient(p) * h, chain)
    found = [_told(transient, j) for j in range(len(transient.coefficients))]
    if chain.why_no_square(chain.first):
        return _Series(bias, [value or 0.0 for value in found], None)
    variance = _powers(
        followed.below, lambda p, h: long_run_variance(lambda bits: p, bits=BITS, rounds=1).ball * h, chain
    )
    return _Series(bias, [value or 0.0 for value in found], _told(variance, 0))


def _powers(below: list[Any], value: Callable[[ChainProblem, float], Any], chain: TorchChain) -> PowersOfH:
    steps = np.array([point.step for point in below])
    balls = []
    for h in steps:
        with flint.ctx.workprec(BITS):
            balls.append(value(chain.problem(float(h)), float(h)))
    values, errors = (
        np.array([[float(part(ball))] for ball in balls]) for part in (lambda b: b.mid(), lambda b: b.rad())
    )
    return powers_of_h(steps, values, errors)


def _told(powers: PowersOfH, power: int) -> float | None:
    """The coefficient of h^power; 0 if it is not told from 0 and small, None if it is not told from 0 and may be large."""
    value, bound = float(powers.coefficients[power, 0]), float(powers.bounds[power, 0])
    if powers.seen(power)[0]:
        return value
    size = float(np.abs(powers.coefficients).max())
    return 0.0 if power or bound <= ZERO * max(size, 1e-300) else None


def _transient(problem: ChainProblem) -> Any:
    """sum_(l >= 1) (E phi(X_l) - phi_h)."""
    if problem.constant:
        return flint.arb(0)
    centred = Centred(problem)
    return centred.transient(0 * identity(problem.chain.size))


def _rate(chain: TorchChain, series: _Series, quantity: str, schedule: str, alpha: Fraction) -> Rate:
    if chain.subject.observable.degree == 0:
        return Rate(None)
    if schedule == "fixed":
        with flint.ctx.workprec(BITS):
            constant = Centred(chain.problem(chain.first)).stationary_bias()
        return Rate(Fraction(-1), at_most=True) if constant.contains(0) else Rate(Fraction(0))
    return length_rate(
        quantity, schedule, alpha, _scale(chain), series.bias, series.variance, series.transient
    )


def _scale(chain: TorchChain) -> float:
    """The configured scale of a schedule, else the default step at which the chain contracts."""
    return chain.subject.configuration.schedule.scale or chain.first


def _points(chain: TorchChain, quantity: str, schedule: str, alpha: Fraction) -> list[Point]:
    """Values at the configured lengths, each at the step size of its length."""
    subject, found = chain.subject, []
    for length in subject.configuration.sweep.lengths or (BRIEF_LENGTHS if subject.brief else LENGTHS):
        h = chain.first if schedule == "fixed" else _scale(chain) * float(length) ** -float(alpha)
        try:
            chain.check_contracts(h, "schedule.step" if schedule == "fixed" else "schedule.scale*L^-alpha")
            value = _at_length(subject, quantity == "mse", h, length)
        except CodeError:
            if subject.configuration.sweep.lengths:
                raise
            # Points illustrate, and these steps are chosen here: some code divides by what cancels at so small a step.
            break
        found.append(Point(step=h, length=length, value=value.value, error_bound=value.error_bound))
    return found


@cached_per_subject
def _at_length(subject: Subject, squared: bool, h: float, length: int) -> Certified:
    values = mean_square_error if squared else ergodic_bias
    problem = chain_of(subject).problem
    return values(lambda bits: problem(h), length, bits=BITS, rounds=1)
