"""Checks: the drift has bounded derivatives, and E phi(X_t) is exp(t L) phi, where drift and noise are polynomials."""

from __future__ import annotations

from math import factorial

from flint import fmpq

from sgverify.checks.question import Question
from sgverify.checks.subject import Subject
from sgverify.errors import OutOfReachError
from sgverify.evidence import Evidence
from sgverify.exact.closure import Generator, read_generator
from sgverify.exact.closure.moments import derivative
from sgverify.exact.closure.poisson import law_terms, rational_form
from sgverify.rates import Judgement
from sgverify.targets.form import Form

ORDER = 4
"""Powers of t to which the two readings of E phi(X_t) are compared."""

LARGEST = 8
MOST_DEGREE = 4
"""Coordinates and degree up to which all products of the Gaussian moments are formed, in about a second."""


def check_bounded_derivatives(question: Question) -> Evidence:
    """F is smooth, every derivative of it is bounded, and |F| grows no faster than a power: chen2015 Assumption 3.

    Of the derivatives from the first on: F itself is what the second part bounds.
    """
    subject = question.subject
    try:
        generator = _generator(subject)
    except OutOfReachError as reason:
        why = f"decided where the drift is a polynomial: {reason}"
        return question.unanswered(why, "not-applicable")
    power = max(1, generator.degree)
    growth = max(sum(abs(c) for c in form.values()) for form in generator.drift)
    certificate = {
        "drift": dict(zip(generator.coordinates, map(generator.text, generator.drift), strict=True)),
        # |x^a| <= 1 + |x|^s for |a| <= s.
        "growth": f"each entry at most {float(growth):.6g} (1 + |x|^{power})",
    }
    judgement = judge_derivatives(generator, subject.scheme.dynamics.name)
    return question.evidence(method="proof", judgement=judgement, certificate=certificate)


def judge_derivatives(generator: Generator, name: str) -> Judgement:
    """A polynomial has bounded derivatives where it is affine, and nowhere else: the witness is one that is not constant."""
    for coordinate, form in zip(generator.coordinates, generator.drift, strict=True):
        for i, by in enumerate(generator.coordinates):
            partial = derivative(form, i)
            if any(any(m) for m in partial):
                return Judgement(
                    "violates",
                    False,
                    f"the drift of {coordinate} in `{name}` has the derivative {generator.text(partial)} by {by}, which is "
                    f"unbounded; that |F| <= C (1 + |x|^{generator.degree}) holds",
                )
    return Judgement(
        "conforms",
        False,
        f"the drift of `{name}` is affine: its first derivatives are constant, all others 0",
    )


def check_backward_equation(question: Question) -> Evidence:
    """E phi(X_t) = sum t^i/i! L^i phi, chen2015 (13) to (16): the law of X_t against the generator, in fractions."""
    subject = question.subject
    try:
        generator = _generator(subject)
        if not generator.affine:
            raise OutOfReachError(
                f"its drift is of degree {generator.degree}, or its noise depends on the state: the degree of L^i phi grows "
                "with i, and whether the series converges is not decided"
            )
        if generator.size > LARGEST or subject.observable.degree > MOST_DEGREE:
            raise OutOfReachError(
                f"{generator.size} coordinates and a test function of degree {subject.observable.degree}; up to {LARGEST} and "
                f"{MOST_DEGREE} are read"
            )
    except OutOfReachError as reason:
        why = f"the law of X_t is known where `{subject.scheme.dynamics.name}` is affine: {reason}"
        return question.unanswered(why, "not-applicable")
    phi = rational_form(dict(subject.observable.terms), generator.size)
    certificate = {
        "E phi(X_t)": {
            f"t^{i}": generator.text(term) for i, term in enumerate(law_terms(generator, phi, ORDER))
        },
        "(16)": f"L maps the polynomials of degree {subject.observable.degree} into themselves: the series converges for every t, "
        "and so do its remainders, which are polynomials of that degree",
    }
    judgement = judge_series(generator, law_terms(generator, phi, ORDER), phi)
    return question.evidence(judgement, certificate=certificate)


def judge_series(generator: Generator, law: list[Form], phi: Form) -> Judgement:
    """Whether t^i/i! L^i phi is the i-th term of E phi(X_t) for every i that is compared."""
    term = phi
    for i, found in enumerate(law):
        series = {m: c * fmpq(1, factorial(i)) for m, c in term.items()}
        if series != found:
            return Judgement(
                "violates",
                False,
                f"at t^{i} the law of X_t has {generator.text(found)}, and L^{i} phi/{i}! is {generator.text(series)}",
            )
        term = generator(term)
    return Judgement(
        "conforms",
        False,
        f"E phi(X_t) and sum t^i/i! L^i phi agree in every term to t^{len(law) - 1}, and the series converges for every t",
    )


def _generator(subject: Subject) -> Generator:
    dynamics = subject.scheme.dynamics
    parameters = {name: subject.model_parameters[name] for name in dynamics.parameters}
    return read_generator(dynamics, subject.target, parameters)
