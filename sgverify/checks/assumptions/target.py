"""Checks of step sizes and targets: divergent step sums, Lipschitz gradients, dissipativity, and the growth of gradient noise.

Do decreasing steps satisfy sum h_l = inf and sum h_l^(K+1)/sum h_l -> 0? Is grad U Lipschitz and dissipative, and does the
variance of its noise grow at most like |x|^2?
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flint import arb, fmpq, fmpq_mat

from sgverify.checks.question import Question
from sgverify.checks.readings import predicted_order
from sgverify.errors import Unreached
from sgverify.evidence import EVERY, Evidence, Point, Scope
from sgverify.exact.numbers.ball import number
from sgverify.exact.rings.polynomials import Polynomial
from sgverify.exact.stationarity.generator import read_generator
from sgverify.rates.verdict import Judgement
from sgverify.schemes import langevin

_SUMMABLE = (
    "sum h_l converges: with each epoch the steps fall by a factor, and the time of an endless run is finite"
)

LENGTHS = tuple(10**k for k in range(2, 11, 2))


def check_step_conditions(question: Question) -> Evidence:
    """0 < h_(l+1) < h_l, sum h_l = inf, sum h_l^(K+1)/sum h_l -> 0: chen2015 Assumption 2, by the sums of powers of l.

    Cannot see: what a finite run loses by its steps, and schedules other than fixed steps, powers and cycles.
    """
    subject = question.subject
    kind = subject.configuration.schedule.kind
    if kind in ("fixed", "horizon"):
        why = f"{question.claim.id} speaks of steps that decrease, and schedule.kind={kind!r} keeps one step for a run"
        return question.unanswered(why, "not-applicable")
    order = predicted_order(subject)
    if kind == "cyclical":
        # By the power mean inequality, for every shape of a cycle.
        why = (
            f"the steps of a cycle jump back; and sum h^{order + 1}/sum h is at least the {order}-th power of the mean step, which "
            "is that of one cycle however long the run"
        )
        return question.evidence(method="proof", judgement=Judgement("violates", False, why))
    if kind == "annealed":
        return question.evidence(method="proof", judgement=Judgement("violates", False, _SUMMABLE))
    alpha = question.alpha
    return question.evidence(
        method="proof",
        scope=question.scope(states=EVERY, targets=EVERY, time=EVERY),
        judgement=judge_powers(alpha, order),
        points=[_ratio(subject.scale, alpha, order, length) for length in LENGTHS],
        certificate={
            "alpha": str(alpha),
            "K": order,
            "points": "sum h_l^(K+1)/sum h_l, the sums over l <= L",
        },
    )


def judge_powers(alpha: Fraction, order: int) -> Judgement:
    """Judge h_l = C l^-alpha: sums of l^-s grow like L^(1 - s) for s < 1, like log L for s = 1, and converge for s > 1."""
    if alpha <= 0:
        return Judgement("violates", False, f"l^{-alpha} does not decrease")
    if alpha > 1:
        return Judgement("violates", False, f"sum l^-{alpha} is finite; the exponent is above 1")
    power = min(order * alpha, 1 - alpha)
    falls = f"like L^-{power}" if power else "like 1/log L"
    if (order + 1) * alpha == 1:
        falls += " log L"
    return Judgement(
        "conforms",
        False,
        f"the steps meet the conditions; l^-{alpha} decreases, its sum diverges, and sum h^{order + 1}/sum h falls {falls}",
    )


def _ratio(scale: float, alpha: Fraction, order: int, length: int) -> Point:
    def total(power: Fraction) -> arb:
        if power == 1:
            return arb(length + 1).digamma() + arb.const_euler()
        s = number(power)
        return s.zeta() - s.zeta(arb(length + 1))

    found = number(Fraction(repr(scale))) ** order * total((order + 1) * alpha) / total(alpha)
    return Point(step=None, length=length, value=float(found.mid()), error_bound=float(found.rad()))


def check_lipschitz_gradient(question: Question) -> Evidence:
    """|grad U(x) - grad U(y)| <= M |x - y|: decided where grad U is a polynomial, of the whole energy, or M is declared.

    Cannot see: other gradients that are no polynomials, for which nothing is said, and the constants of single minibatches.
    """
    return _judged(question, judge_lipschitz, _lipschitz_by_bounds)


def check_dissipativity(question: Question) -> Evidence:
    """<x, grad U(x)> >= a |x|^2 - b with a > 0: where grad U is a polynomial, affine or of each coordinate alone, or U convex.

    Cannot see: gradients that are no polynomials, or mix coordinates beyond their linear part, for which nothing is
    said unless the target declares that U is strongly convex.
    """
    return _judged(question, judge_dissipative, _dissipative_by_bounds)


def check_noise_growth(question: Question) -> Evidence:
    """E |g - grad U|^2 <= 2 delta (C^2 |x|^2 + Phi^2), delta < 1: decided where every datum has a quadratic energy.

    Cannot see: energies that are not quadratic and estimators that remember, for which nothing is said.
    """
    subject = question.subject
    gradient = subject.configuration.gradient
    kind, batch = gradient.kind, gradient.batch
    if not gradient.estimator.noisy:
        judgement = Judgement("conforms", False, "full gradients have no noise")
    elif not gradient.estimator.draws_data:
        judgement = Judgement(
            "conforms", False, "delta = 0; additive noise has the same covariance everywhere"
        )
    elif gradient.estimator.fresh and subject.target.quadratic and gradient.clip is None:
        judgement = Judgement(
            "conforms",
            False,
            f"delta is just above 1/(2 n); every datum has an affine gradient g_i with N |g_i(x)| <= C |x| + Phi', so that the "
            f"variance of a mean of n = {batch} is at most ((1 + e) C^2 |x|^2 + (1 + 1/e) Phi'^2)/n for every e > 0",
        )
    else:
        why = f"decided for quadratic energies; of fresh minibatches of data, not for gradient.kind={kind!r} on this target"
        return question.unanswered(why, "not-applicable")
    return question.evidence(method="proof", judgement=judgement, scope=_of_the_energy(question))


def judge_lipschitz(gradients: Sequence[Polynomial]) -> Judgement | str:
    """Judge by: a polynomial is Lipschitz if and only if it is affine; the constant is the largest row sum of |A|."""
    degree = _degree(gradients)
    if degree > 1:
        why = f"the derivative of grad U is unbounded; a polynomial of degree {degree}"
        return Judgement("violates", False, why)
    rows = [sum((abs(c) for m, c in form.to_dict().items() if any(m)), fmpq(0)) for form in gradients]
    return Judgement(
        "conforms",
        False,
        f"Lipschitz constant at most {float(max(rows)):.6g}; grad U of the whole energy is affine",
    )


def judge_dissipative(gradients: Sequence[Polynomial]) -> Judgement | str:
    """Judge by the matrix of an affine gradient, or by the leading term of each coordinate; or the reason why neither decides."""
    n = len(gradients)
    if _degree(gradients) <= 1:
        units = [tuple(int(i == j) for j in range(n)) for i in range(n)]
        matrix = [[form[unit] for unit in units] for form in gradients]
        minors = [fmpq_mat([row[:k] for row in matrix[:k]]).det() for k in range(1, n + 1)]
        if min(minors) > 0:
            return Judgement("conforms", False, "grad U is affine with a positive definite matrix")
        return Judgement("violates", False, "grad U is affine, and its matrix is not positive definite")
    for i, form in enumerate(gradients):
        if any(power for m in form.monoms() for j, power in enumerate(m) if j != i):
            return "grad U is a polynomial that mixes coordinates beyond its linear part"
        degree = max(0, int(form.degrees()[i]))
        leading = sum((c for m, c in form.to_dict().items() if m[i] == degree), fmpq(0))
        if degree % 2 == 0 or leading <= 0:
            why = f"<x, grad U> outgrows no a |x|^2; along coordinate {i} it ends in {leading} x^{degree + 1}, on both sides"
            return Judgement("violates", False, why)
    return Judgement(
        "conforms",
        False,
        "<x, grad U> grows like |x|^2 or faster; its leading power is even, with a positive factor, in each coordinate",
    )


def _degree(gradients: Sequence[Polynomial]) -> int:
    return max(0, *(int(form.total_degree()) for form in gradients))


def _lipschitz_by_bounds(least: float, largest: float) -> Judgement:
    if math.isinf(largest):
        return Judgement("violates", False, "the derivative of grad U is unbounded; the target declares it")
    constant = max(abs(least), abs(largest))
    return Judgement(
        "conforms",
        False,
        f"Lipschitz constant at most {constant:.6g}; the target declares bounds of its Hessian",
    )


def _dissipative_by_bounds(least: float, largest: float) -> Judgement | None:
    """<x, grad U(x)> >= m |x|^2 - |grad U(0)| |x| where the Hessian is at least m > 0."""
    if least <= 0:
        return None
    return Judgement("conforms", False, f"U is strongly convex, with {least:.6g}; the target declares it")


def _judged(question: Question, judge, by_bounds) -> Evidence:  # type: ignore[no-untyped-def]
    subject = question.subject
    bounds = subject.target.hessian_bounds
    declared = None if bounds is None else by_bounds(*bounds)
    if declared is not None:
        return question.evidence(method="proof", judgement=declared, scope=_of_the_energy(question))
    try:
        drift = read_generator(langevin, subject.target, {"T": subject.model_parameters["T"]}).drift
    except Unreached as reason:
        return question.unanswered(f"decided where grad U is a polynomial: {reason}", "not-applicable")
    found = judge([-form for form in drift])
    if isinstance(found, str):
        return question.unanswered(found, "not-applicable")
    return question.evidence(method="proof", judgement=found, scope=_of_the_energy(question))


def _of_the_energy(question: Question) -> Scope:
    """The scope of a statement about U and its gradient alone: no step enters."""
    return question.scope(states=EVERY, steps=EVERY, time=EVERY)
