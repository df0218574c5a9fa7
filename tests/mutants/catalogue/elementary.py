"""Bugs in elementary functions, which the sampler computes itself."""

from __future__ import annotations

from tests.mutants.catalogue.gradients import LOGISTIC
from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        name="logistic-of-the-size",
        family="elementary functions",
        scheme="sgld-euler",
        place="sgverify.samplers.reading.double_precision:logistic",
        was="negative = x < 0.0",
        now="negative = x > 0.0",
        settings={**LOGISTIC},
        reason="1/(1 + e^x) for 1/(1 + e^-x): the branch for large |x| has the other sign",
        cause="gradient-biased",
    ),
    Mutant(
        name="exponential-without-its-square",
        family="elementary functions",
        scheme="sgnht-aboba",
        place="sgverify.samplers.reading.floating_point:polynomial",
        was="return value + coefficients[0]",
        now="return value",
        reason="Horner's rule ends one step early: exp(r) without r^2/2, right to first order",
        cause="letter-not-exact",
    ),
    Mutant(
        name="sine-of-the-other-half-turn",
        family="elementary functions",
        scheme="sgld-euler",
        place="sgverify.samplers.reading.double_precision:sin",
        was="_of_quarter(quarter, high, low)",
        now="_of_quarter(quarter + 2, high, low)",
        settings={"target": {"name": "rastrigin", "dim": 1}, "test_function": "theta**2", "steps": 200},
        reason="sin(x + pi) for sin(x): the reduced argument counts half turns from the other end",
        cause="gradient-biased",
    ),
)
