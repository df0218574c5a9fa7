"""Bugs of precision: float32 where float64 was asked for."""

from __future__ import annotations

from typing import Any

from sgverify.checks.mutants.mutant import Mutant


def bug(name: str, place: str, was: str, now: str, **rest: Any) -> Mutant:
    """A bug of the precision in which ABOBA runs."""
    return Mutant(name=name, family="precision", scheme="sghmc-aboba", place=place, was=was, now=now, **rest)


MUTANTS = (
    bug(
        "constants-in-float32",
        "sgverify.samplers.constants:Constant.meet",
        "torch.from_numpy(self.value.copy()).to(like.dtype)",
        "torch.from_numpy(self.value.copy()).to(torch.float32).to(like.dtype)",
        reason="the constants of a float64 run are rounded to float32: an error that grows as h falls",
        source="posteriors, baoa",
    ),
    bug(
        "gradient-in-float32",
        "sgverify.samplers.differentiation:LinearisedGradient.linear",
        "return self.times(theta - self.centre)",
        "return self.times((theta - self.centre).to(torch.float32).to(theta.dtype))",
        reason="the gradient is evaluated in float32",
    ),
    bug(
        "functions-in-float32",
        "sgverify.samplers.constants:_finite",
        "return function(x)",
        "return float(np.float32(function(x)))",
        reason="exponentials and roots of constants are taken in float32",
    ),
)
