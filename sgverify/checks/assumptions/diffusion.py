"""Checks of a diffusion: bounded derivatives, the backward equation, and the bound of the Poisson equation's solution.

Has the drift bounded derivatives, and is E phi(X_t) = exp(t L) phi? Both are decided if drift and noise are polynomials. Does a
Lyapunov function bound the solution of the Poisson equation and its derivatives? Decided if the solution is a polynomial.
"""

from __future__ import annotations

from math import factorial
from typing import Any

from flint import fmpq

from sgverify.checks.question import Question
from sgverify.errors import InstabilityError, NotExpandableError, Unreached
from sgverify.evidence import EVERY, Evidence, tried
from sgverify.exact.rings.polynomials import Polynomial
from sgverify.exact.stationarity.generator import (
    ORDERS,
    Generator,
    Lyapunov,
    degree_of,
    derivatives,
    in_state,
    law_terms,
    lyapunov_of,
    read_generator,
    solve_poisson,
)
from sgverify.rates.verdict import Judgement
from sgverify.subject.subject import Subject

ORDER = 4
"""The power of t up to which the two expansions of E phi(X_t) are compared."""

LARGEST = 8
MOST_DEGREE = 4
"""The largest number of coordinates and degree for which all products of Gaussian moments are formed, in about a second."""


def check_bounded_derivatives(question: Question) -> Evidence:
    """F is smooth, every derivative of it is bounded, and |F| grows no faster than a power: chen2015 Assumption 3.

    The derivatives are those of order 1 and higher; the second part of the assumption bounds F itself.

    Cannot see: drifts that are no polynomials, for which nothing is said, and whether a theorem needs the assumption.
    """
    subject = question.subject
    try:
        generator = _generator(subject)
    except Unreached as reason:
        why = f"decided where the drift is a polynomial: {reason}"
        return question.unanswered(why, "not-applicable")
    power = max(1, generator.degree)
    growth = max(sum(map(abs, form.coeffs())) for form in generator.drift)
    certificate = {
        "drift": dict(zip(generator.coordinates, map(generator.text, generator.drift), strict=True)),
        # |x^a| <= 1 + |x|^s for |a| <= s.
        "growth": f"each entry at most {float(growth):.6g} (1 + |x|^{power})",
    }
    judgement = judge_derivatives(generator, subject.scheme.dynamics.name)
    return question.evidence(
        method="proof",
        judgement=judgement,
        certificate=certificate,
        scope=question.scope(states=EVERY, steps=EVERY, time=EVERY),
    )


def judge_derivatives(generator: Generator, name: str) -> Judgement:
    """Judge by: a polynomial has bounded derivatives if and only if it is affine; a non-constant derivative is the witness."""
    for coordinate, form in zip(generator.coordinates, generator.drift, strict=True):
        for i, by in enumerate(generator.coordinates):
            partial = form.derivative(i)
            if not partial.is_constant():
                return Judgement(
                    "violates",
                    False,
                    f"a derivative of the drift is unbounded; that of {coordinate} in `{name}` by {by} is "
                    f"{generator.text(partial)}; that |F| <= C (1 + |x|^{generator.degree}) holds",
                )
    return Judgement(
        "conforms",
        False,
        f"the drift is affine; of `{name}`, its first derivatives are constant, all others 0",
    )


def check_backward_equation(question: Question) -> Evidence:
    """E phi(X_t) = sum t^i/i! L^i phi, chen2015 (13) to (16): the law of X_t against the generator, in fractions.

    Cannot see: dynamics that are not affine, for which nothing is said, and powers of t beyond the fourth.
    """
    subject = question.subject
    try:
        generator = _generator(subject)
        if not generator.affine:
            raise Unreached(
                f"its drift is of degree {generator.degree}, or its noise depends on the state: the degree of L^i phi grows "
                "with i, and whether the series converges is not decided"
            )
        if generator.size > LARGEST or subject.observable.degree > MOST_DEGREE:
            raise Unreached(
                f"{generator.size} coordinates and a test function of degree {subject.observable.degree}; up to {LARGEST} and "
                f"{MOST_DEGREE} are read"
            )
    except Unreached as reason:
        why = f"the law of X_t is known where `{subject.scheme.dynamics.name}` is affine: {reason}"
        return question.unanswered(why, "not-applicable")
    phi = in_state(subject.observable.terms, generator.size)
    certificate = {
        "E phi(X_t)": {
            f"t^{i}": generator.text(term) for i, term in enumerate(law_terms(generator, phi, ORDER))
        },
        "(16)": f"L maps the polynomials of degree {subject.observable.degree} into themselves: the series converges for every t, "
        "and so do its remainders, which are polynomials of that degree",
    }
    judgement = judge_series(generator, law_terms(generator, phi, ORDER), phi)
    scope = question.scope(states=EVERY, steps=tried("h -> 0"))
    return question.evidence(judgement, certificate=certificate, scope=scope)


def judge_series(generator: Generator, law: list[Polynomial], phi: Polynomial) -> Judgement:
    """Judge whether t^i/i! L^i phi is the i-th term of E phi(X_t), for every i up to `ORDER`."""
    term = phi
    for i, found in enumerate(law):
        series = term * fmpq(1, factorial(i))
        if series != found:
            return Judgement(
                "violates",
                False,
                f"law and series differ at t^{i}; the law of X_t has {generator.text(found)}, and L^{i} phi/{i}! is "
                f"{generator.text(series)}",
            )
        term = generator(term)
    return Judgement(
        "conforms",
        False,
        f"law and series agree to t^{len(law) - 1}; E phi(X_t) and sum t^i/i! L^i phi in every term, and the series converges for "
        "every t",
    )


def _generator(subject: Subject) -> Generator:
    dynamics = subject.scheme.dynamics
    parameters = {name: subject.model_parameters[name] for name in dynamics.parameters}
    return read_generator(dynamics, subject.target, parameters)


def check_poisson_bound(question: Question) -> Evidence:
    """(17) to (19) of chen2015 for V = 1 + (x - m)^T P (x - m), on targets where psi is a polynomial, in fractions.

    Cannot see: targets on which psi is no polynomial, for which nothing is said, and other functions V.
    """
    subject = question.subject
    parameters = {name: subject.model_parameters[name] for name in subject.scheme.dynamics.parameters}
    try:
        generator = read_generator(subject.scheme.dynamics, subject.target, parameters)
        if not generator.affine:
            raise Unreached(
                f"the drift of `{subject.scheme.dynamics.name}` on this target is of degree {generator.degree}, or its noise "
                "depends on the state"
            )
        if not subject.affine:
            raise Unreached(str(subject.why_not_affine))
        lyapunov = lyapunov_of(generator)
        phi = in_state(subject.observable.terms, generator.size)
        psi, average = solve_poisson(generator, phi)
    except Unreached as reason:
        why = f"psi is known where it is a polynomial that is computed: of an affine dynamics on a Gaussian target; {reason}"
        return question.unanswered(why, "not-applicable")
    except NotExpandableError as reason:
        why = f"no V falls along the drift; of `{subject.scheme.dynamics.name}`: {reason}"
        return question.evidence(Judgement("violates", False, why), scope=question.scope(states=EVERY))
    certificate = _certificate(generator, lyapunov, psi)
    if average != subject.truth:
        why = (
            f"L psi = phi - phi_bar has no polynomial solution; it asks for phi_bar = {float(average):.6g}, and the average of "
            f"{subject.observable} under exp(-U/T) is {float(subject.truth):.6g}"
        )
        judgement = Judgement("violates", False, why)
    else:
        judgement = _along_the_chain(subject, max(1, degree_of(psi)), certificate)
    return question.evidence(judgement, certificate=certificate, scope=question.scope(states=EVERY))


def _along_the_chain(subject: Subject, degree: int, certificate: dict[str, Any]) -> Judgement:
    """(17): E V^p along the chain for p <= p* = max 2 p_k = deg psi, moments of twice the degree."""
    kind = subject.configuration.schedule.kind
    if kind not in ("fixed", "horizon"):
        return Judgement(
            "inconclusive",
            False,
            "(18) and (19) hold, (17) is not answered; (17), sup_l E V^p < inf, is for steps of one size, and "
            f"schedule.kind={kind!r}",
        )
    if subject.noise.multiplicative:
        return Judgement(
            "inconclusive",
            False,
            f"(18) and (19) hold, (17) is not answered; it asks for moments of degree {2 * degree} of a chain whose minibatches "
            "have Hessians of their own, where contraction of the mean is not enough; gradient.kind=full answers it",
        )
    try:
        step = subject.scale
        subject.step_sizes.check([step], "schedule.step")
    except InstabilityError as error:
        return Judgement("violates", False, f"sup_l E V^p is infinite; {error}")
    # X_l = M X_(l-1) + c + z_l, with z_l independent of X_(l-1) and all its moments finite: M contracts, so moments are bounded.
    certificate["(17)"] = f"one step of size {step:g} contracts, and its draws have all moments"
    return Judgement(
        "conforms",
        False,
        f"psi is a polynomial of degree {degree}; with V = 1 + (x - m)^T P (x - m) the bounds (17) to (19) hold at h = {step:g}, "
        f"for p up to {degree}",
    )


def _certificate(generator: Generator, lyapunov: Lyapunov, psi: Polynomial) -> dict[str, Any]:
    bounds = {}
    for order in ORDERS:
        # The assumption requires p_k > 0, for a constant or zero derivative too.
        degree = max(1, degree_of(psi) - order)
        constants = [lyapunov.constant(part, degree) for part in derivatives(psi, order)]
        largest = max((float(c.upper()) for c in constants), default=0.0)
        bounds[f"D^{order} psi"] = f"at most {largest:.6g} V^({degree}/2), entry by entry"
    return {
        "psi": generator.text(psi),
        "m": [str(entry) for entry in lyapunov.centre.entries()],
        "P": [[str(entry) for entry in row] for row in lyapunov.precision.tolist()],
        "<grad V, F>": f"at most {lyapunov.rate} (1 - V)",
        "(18)": "V is convex, so that V^p(s X + (1 - s) Y) <= max(V^p(X), V^p(Y)): C = 1 for every p > 0",
        "(19)": bounds,
    }
