"""Bugs in the Euler schemes, overdamped and underdamped.

Bugs on one branch of a definition alone: for one sign of a state, or on one side of a switch.
"""

from __future__ import annotations

from tests.mutants.mutant import Mutant

OF_EULER = (
    Mutant(
        name="sgld-noise-without-2",
        family="Euler schemes",
        scheme="sgld-euler",
        was="sqrt(2*T*h)",
        now="sqrt(T*h)",
        reason="the convention theta - h/2 grad + sqrt(h) z mixed with the one without halves",
    ),
    Mutant(
        name="sgld-noise-by-h",
        family="Euler schemes",
        scheme="sgld-euler",
        was="sqrt(2*T*h)*z1",
        now="h*sqrt(2*T)*z1",
        reason="the step size is given as the scale of a normal law, which is a standard deviation",
        source="blei-lab/edward issue 722",
    ),
    Mutant(
        name="sgld-half-gradient",
        family="Euler schemes",
        scheme="sgld-euler",
        was="h*grad(theta)",
        now="h/2*grad(theta)",
        reason="half of the gradient with the noise of the whole: samples at twice the temperature",
    ),
    Mutant(
        name="sgld-temperature-outside-root",
        family="Euler schemes",
        scheme="sgld-euler",
        was="sqrt(2*T*h)",
        now="T*sqrt(2*h)",
        reason="the temperature multiplies the noise and not its variance",
    ),
    Mutant(
        name="sgld-temperature-missing",
        family="Euler schemes",
        scheme="sgld-euler",
        was="sqrt(2*T*h)",
        now="sqrt(2*h)",
        reason="the temperature never reaches the noise",
    ),
    Mutant(
        name="sgld-gradient-of-wrong-sign",
        family="Euler schemes",
        scheme="sgld-euler",
        was="theta - h*grad(theta)",
        now="theta + h*grad(theta)",
        reason="a log density and its negative confused: the chain climbs the potential",
    ),
    Mutant(
        name="heun-corrector-without-noise",
        family="Euler schemes",
        scheme="tests.mutants.correct:heun",
        was="grad(theta - h*grad(theta) + x1)",
        now="grad(theta - h*grad(theta))",
        reason="the corrector is evaluated where the noise has not moved the guess: second order is lost",
    ),
    Mutant(
        name="sghmc-friction-without-step",
        family="Euler schemes",
        scheme="sghmc-euler",
        was="h*D*p",
        now="D*p",
        reason="the friction forgets the step size",
        source="automl/pybnn issue 4",
    ),
    Mutant(
        name="sghmc-noise-without-friction",
        family="Euler schemes",
        scheme="sghmc-euler",
        was="sqrt(2*D*T*h)",
        now="sqrt(2*T*h)",
        reason="the friction is missing in the variance of the noise",
        source="automl/pybnn issue 4, last comment",
    ),
    Mutant(
        name="sghmc-noise-by-h",
        family="Euler schemes",
        scheme="sghmc-euler",
        was="sqrt(2*D*T*h)*z1",
        now="2*h*sqrt(D*T)*z1",
        reason="the step outside the root, and the 2 with it",
        source="ruqizhang/csgmcmc issue 1",
    ),
    Mutant(
        name="sghmc-drift-without-step",
        family="Euler schemes",
        scheme="sghmc-euler",
        was="theta + h*p1",
        now="theta + p1",
        reason="the position moves by the momentum and not by h times it",
    ),
    Mutant(
        name="sghmc-drift-by-half-step",
        family="Euler schemes",
        scheme="sghmc-euler",
        was="theta + h*p1",
        now="theta + h/2*p1",
        reason="a half step of a splitting kept in an Euler scheme",
    ),
    Mutant(
        name="sghmc-explicit-noise-without-2",
        family="Euler schemes",
        scheme="sghmc-euler-explicit",
        was="sqrt(2*D*T*h)",
        now="sqrt(D*T*h)",
        reason="a diffusion sigma sigma^T/2 taken for sigma sigma^T",
    ),
    Mutant(
        name="sghmc-explicit-friction-without-step",
        family="Euler schemes",
        scheme="sghmc-euler-explicit",
        was="h*D*p",
        now="D*p",
        reason="the friction forgets the step size",
    ),
    Mutant(
        name="sghmc-explicit-friction-of-wrong-sign",
        family="Euler schemes",
        scheme="sghmc-euler-explicit",
        was="- h*D*p",
        now="+ h*D*p",
        reason="the friction drives the momentum",
    ),
    Mutant(
        name="taylor-curvature-of-wrong-sign",
        family="Euler schemes",
        scheme="tests.mutants.correct:taylor_step",
        was="- h/2*grad.hessian(",
        now="+ h/2*grad.hessian(",
        reason="the drift is -grad U, and its derivative along itself is +H grad U",
    ),
    Mutant(
        name="taylor-curvature-times-position",
        family="Euler schemes",
        scheme="tests.mutants.correct:taylor_step",
        was="grad.hessian(theta, grad(theta))",
        now="grad.hessian(theta, theta)",
        reason="H theta is the gradient where U is quadratic about 0, and nowhere else",
    ),
    Mutant(
        name="prior-stepped-twice",
        family="Euler schemes",
        scheme="tests.mutants.correct:prior_then_likelihood",
        was="grad.likelihood(x1)",
        now="grad(x1)",
        reason="the whole gradient has the prior's in it, which was stepped along already",
    ),
    Mutant(
        name="prior-halved",
        family="Euler schemes",
        scheme="tests.mutants.correct:prior_then_likelihood",
        was="h*grad.prior(theta)",
        now="h/2*grad.prior(theta)",
        reason="weight decay that is half of what the prior says",
    ),
)


FAMILY = "branches of a definition"

OF_BRANCHES = (
    Mutant(
        name="sgld-noise-thrice-below-zero",
        family=FAMILY,
        scheme="sgld-euler",
        was="sqrt(2*T*h)*z1",
        now="sqrt(2*T*h)*(2 - theta/sqrt(theta*theta))*z1",
        reason="an amplitude by the sign of the state: right wherever a posterior of positive coordinates is looked at",
    ),
    Mutant(
        name="sgld-length-of-gradient-for-gradient",
        family=FAMILY,
        scheme="sgld-euler",
        was="h*grad(theta)",
        now="h*sqrt(grad(theta)**2)",
        reason="an RMS of the gradient stands for the gradient: where the potential falls the step climbs",
    ),
    Mutant(
        name="sgld-temperature-at-least-one",
        family=FAMILY,
        scheme="sgld-euler",
        was="sqrt(2*T*h)",
        now="sqrt((T + 1 + sqrt((T - 1)*(T - 1)))*h)",
        settings={"temperature": 0.5},
        reason="max(T, 1) guards against a cold chain, and warms it",
    ),
    Mutant(
        name="sghmc-friction-twice-below-zero",
        family=FAMILY,
        scheme="sghmc-euler",
        was="h*D*p",
        now="h*D*p*(3 - p/sqrt(p*p))/2",
        reason="a drag that is other forwards than backwards, its noise the same",
    ),
    Mutant(
        name="tamed-without-step",
        family=FAMILY,
        scheme="tests.mutants.correct:tamed",
        was="1 + h*sqrt",
        now="1 + sqrt",
        reason="the taming forgets the step size: the drift is another one however small the steps",
    ),
)

MUTANTS = (*OF_EULER, *OF_BRANCHES)
