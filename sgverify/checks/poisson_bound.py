"""Check: the solution of the Poisson equation and its derivatives are bounded by a Lyapunov function, where it is a polynomial."""

from __future__ import annotations

from typing import Any

from sgverify.checks.question import Question
from sgverify.checks.subject import Subject
from sgverify.errors import InstabilityError, NotExpandableError, OutOfReachError
from sgverify.evidence import Evidence
from sgverify.exact.closure import Generator, read_generator
from sgverify.exact.closure.poisson import (
    ORDERS,
    Lyapunov,
    derivatives,
    lyapunov_of,
    rational_form,
    solve_poisson,
)
from sgverify.rates import Judgement


def check_poisson_bound(question: Question) -> Evidence:
    """(17) to (19) of chen2015 for V = 1 + (x - m)^T P (x - m), on targets where psi is a polynomial, in fractions."""
    subject = question.subject
    parameters = {name: subject.model_parameters[name] for name in subject.scheme.dynamics.parameters}
    try:
        generator = read_generator(subject.scheme.dynamics, subject.target, parameters)
        if not generator.affine:
            raise OutOfReachError(
                f"the drift of `{subject.scheme.dynamics.name}` on this target is of degree {generator.degree}, or its noise "
                "depends on the state"
            )
        if not subject.affine:
            raise OutOfReachError(str(subject.why_not_affine))
        lyapunov = lyapunov_of(generator)
        phi = rational_form(dict(subject.observable.terms), generator.size)
        psi, average = solve_poisson(generator, phi)
    except OutOfReachError as reason:
        why = f"psi is known where it is a polynomial that is computed: of an affine dynamics on a Gaussian target; {reason}"
        return question.unanswered(why, "not-applicable")
    except NotExpandableError as reason:
        why = f"no V falls along the drift of `{subject.scheme.dynamics.name}`: {reason}"
        return question.evidence(Judgement("violates", False, why))
    certificate = _certificate(generator, lyapunov, psi)
    if average != subject.truth:
        why = (
            f"L psi = phi - phi_bar has no polynomial solution: it asks for phi_bar = {float(average):.6g}, and the average of "
            f"{subject.observable} under exp(-U/T) is {float(subject.truth):.6g}"
        )
        judgement = Judgement("violates", False, why)
    else:
        judgement = _along_the_chain(subject, max(1, _degree(psi)), certificate)
    return question.evidence(judgement, certificate=certificate)


def _along_the_chain(subject: Subject, degree: int, certificate: dict[str, Any]) -> Judgement:
    """(17): E V^p along the chain for p <= p* = max 2 p_k = deg psi, moments of twice the degree."""
    kind = subject.configuration.schedule.kind
    if kind not in ("fixed", "horizon"):
        return Judgement(
            "inconclusive",
            False,
            f"(18) and (19) hold; (17), sup_l E V^p < inf, is settled for steps of one size, and schedule.kind={kind!r}",
        )
    if subject.noise.multiplicative:
        return Judgement(
            "inconclusive",
            False,
            f"(18) and (19) hold; (17) asks for moments of degree {2 * degree} of a chain whose minibatches have Hessians of "
            "their own, where contraction of the mean is not enough; gradient.kind=full settles it",
        )
    try:
        step = subject.scale
        subject.step_sizes.check([step], "schedule.step")
    except InstabilityError as error:
        return Judgement("violates", False, f"sup_l E V^p is infinite: {error}")
    # X_l = M X_(l-1) + c + a draw with all moments, independent of X_(l-1): with a contracting M every moment stays bounded.
    certificate["(17)"] = f"one step of size {step:g} contracts, and its draws have all moments"
    return Judgement(
        "conforms",
        False,
        f"psi is a polynomial of degree {degree}; with V = 1 + (x - m)^T P (x - m) the bounds (17) to (19) hold at h = {step:g}, "
        f"for p up to {degree}",
    )


def _degree(psi: dict[tuple[int, ...], Any]) -> int:
    return max((sum(m) for m in psi), default=0)


def _certificate(generator: Generator, lyapunov: Lyapunov, psi: Any) -> dict[str, Any]:
    bounds = {}
    for order in ORDERS:
        # p_k > 0 is asked for, of a constant or zero derivative too.
        degree = max(1, _degree(psi) - order)
        constants = [lyapunov.constant(part, degree) for part in derivatives(psi, generator.size, order)]
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
