"""Checks of what is assumed of a target: a Lipschitz gradient, dissipativity, noise that grows no faster than the distance."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq, fmpq_mat

from sgverify.checks.question import Question
from sgverify.errors import OutOfReachError
from sgverify.evidence import Evidence
from sgverify.exact.closure import read_generator
from sgverify.rates import Judgement
from sgverify.schemes import langevin
from sgverify.targets.form import Form


def check_lipschitz_gradient(question: Question) -> Evidence:
    """|grad U(x) - grad U(y)| <= M |x - y|: decided where grad U is a polynomial, of the whole energy."""
    return _judged(question, judge_lipschitz)


def check_dissipativity(question: Question) -> Evidence:
    """<x, grad U(x)> >= a |x|^2 - b with a > 0: decided where grad U is a polynomial, affine or of each coordinate alone."""
    return _judged(question, judge_dissipative)


def check_noise_growth(question: Question) -> Evidence:
    """E |g - grad U|^2 <= 2 delta (C^2 |x|^2 + Phi^2), delta < 1: decided where every datum has a quadratic energy."""
    subject = question.subject
    gradient = subject.configuration.gradient
    kind, batch = gradient.kind, gradient.batch
    if not gradient.estimator.noisy:
        judgement = Judgement("conforms", False, "full gradients have no noise")
    elif not gradient.estimator.draws_data:
        judgement = Judgement(
            "conforms", False, "additive noise has the same covariance everywhere: delta = 0"
        )
    elif gradient.estimator.fresh and subject.target.quadratic and gradient.clip is None:
        judgement = Judgement(
            "conforms",
            False,
            f"every datum has an affine gradient g_i with N |g_i(x)| <= C |x| + Phi', so that the variance of a mean of "
            f"n = {batch} is at most ((1 + e) C^2 |x|^2 + (1 + 1/e) Phi'^2)/n for every e > 0: delta is just above 1/(2 n)",
        )
    else:
        why = f"decided for fresh minibatches of data whose energies are quadratic, not for gradient.kind={kind!r} on this target"
        return question.unanswered(why, "not-applicable")
    return question.evidence(method="proof", judgement=judgement)


def judge_lipschitz(gradients: Sequence[Form]) -> Judgement | str:
    """A polynomial is Lipschitz where it is affine, and nowhere else; the constant is the largest row sum of |A|."""
    degree = _degree(gradients)
    if degree > 1:
        why = f"grad U is a polynomial of degree {degree}, whose derivative is unbounded"
        return Judgement("violates", False, why)
    rows = [sum((abs(c) for m, c in form.items() if any(m)), fmpq(0)) for form in gradients]
    return Judgement(
        "conforms",
        False,
        f"grad U of the whole energy is affine, with the constant {float(max(rows)):.6g} at most",
    )


def judge_dissipative(gradients: Sequence[Form]) -> Judgement | str:
    """By the positive definite matrix of an affine gradient, else by the leading term of each coordinate; or why neither tells."""
    n = len(gradients)
    if _degree(gradients) <= 1:
        units = [tuple(int(i == j) for j in range(n)) for i in range(n)]
        matrix = [[form.get(unit, fmpq(0)) for unit in units] for form in gradients]
        minors = [fmpq_mat([row[:k] for row in matrix[:k]]).det() for k in range(1, n + 1)]
        if min(minors) > 0:
            return Judgement("conforms", False, "grad U is affine with a positive definite matrix")
        return Judgement("violates", False, "grad U is affine, and its matrix is not positive definite")
    for i, form in enumerate(gradients):
        if any(power for m in form for j, power in enumerate(m) if j != i):
            return "grad U is a polynomial that mixes coordinates beyond its linear part"
        degree = max((m[i] for m in form), default=0)
        leading = sum((c for m, c in form.items() if m[i] == degree), fmpq(0))
        if degree % 2 == 0 or leading <= 0:
            why = f"along coordinate {i} <x, grad U> ends in {leading} x^{degree + 1}, which outgrows no a |x|^2 on both sides"
            return Judgement("violates", False, why)
    return Judgement(
        "conforms",
        False,
        "<x, grad U> has an even leading power of at least 2, with a positive factor, in each coordinate",
    )


def _degree(gradients: Sequence[Form]) -> int:
    return max((sum(m) for form in gradients for m, c in form.items() if c), default=0)


def _judged(question: Question, judge) -> Evidence:  # type: ignore[no-untyped-def]
    subject = question.subject
    try:
        drift = read_generator(langevin, subject.target, {"T": subject.model_parameters["T"]}).drift
    except OutOfReachError as reason:
        return question.unanswered(f"decided where grad U is a polynomial: {reason}", "not-applicable")
    found = judge([{m: -c for m, c in form.items()} for form in drift])
    if isinstance(found, str):
        return question.unanswered(found, "not-applicable")
    return question.evidence(method="proof", judgement=found)


__all__ = [
    "check_dissipativity",
    "check_lipschitz_gradient",
    "check_noise_growth",
    "judge_dissipative",
    "judge_lipschitz",
]
