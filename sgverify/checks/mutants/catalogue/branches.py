"""Bugs on one branch of a definition alone: for one sign of a state, or on one side of a switch."""

from __future__ import annotations

from sgverify.checks.mutants.mutant import Mutant

FAMILY = "branches of a definition"

MUTANTS = (
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
        scheme="sgverify.checks.mutants.correct:tamed",
        was="1 + h*sqrt",
        now="1 + sqrt",
        reason="the taming forgets the step size: the drift is another one however small the steps",
    ),
)
