"""Bugs in the noisy-gradient integrator of Matthews and Weare."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        name="nogin-damps-noise-that-is-not-there",
        family="noisy gradients",
        scheme="sghmc-nogin",
        was="0*h**2/4",
        now="h**2/4",
        reason="a variance of the gradient noise that full gradients do not have",
        cause="friction-wrong",
    ),
    Mutant(
        name="nogin-variance-of-euler",
        family="noisy gradients",
        scheme="sghmc-nogin",
        was="x2 = x1/(2 - x1)",
        now="x2 = x1/2",
        reason="a/2 for tanh(D h/2): equal to first order alone",
        cause="letter-not-exact",
    ),
    Mutant(
        name="nogin-damping-without-denominator",
        family="noisy gradients",
        scheme="sghmc-nogin",
        was="(1 - x5)/(1 + x5)*",
        now="(1 - 2*x5)*",
        reason="the damping is expanded, and the momentum leaves N(0, T)",
        cause="letter-not-exact",
    ),
    Mutant(
        name="nogin-noise-once",
        family="noisy gradients",
        scheme="sghmc-nogin",
        was="(p + x4) + x4",
        now="p + x4",
        reason="the noise enters after the damping only",
        cause="substep-wrong",
    ),
    Mutant(
        name="nogin-temperature-missing",
        family="noisy gradients",
        scheme="sghmc-nogin",
        was="sqrt(T*x2)",
        now="sqrt(x2)",
        reason="the temperature never reaches the noise",
        cause="temperature-missing",
    ),
)
