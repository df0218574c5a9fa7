"""The cause of a wrong step that can only be run: its measured generator is read as an exact one is.

How does the measured factor of a term depend on temperature, friction and dimension? As powers of T and D it makes a polynomial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

from sgverify.advice.diagnosis.measured_terms.generator import (
    OFF,
    MeasuredGenerator,
    measured_generator,
    split,
)
from sgverify.advice.diagnosis.model import Cause, CauseName
from sgverify.advice.diagnosis.wrong_terms.consistency import OF_KIND, WORDS, wrong_generator
from sgverify.advice.diagnosis.wrong_terms.moments import Quotient, StepMoments, number_text
from sgverify.advice.diagnosis.wrong_terms.noise import kinds_of, power_text
from sgverify.errors import SgverifyError
from sgverify.exact.rings.polynomials import Polynomial
from sgverify.exact.rings.ring import Ring
from sgverify.exact.rings.roots import reciprocal
from sgverify.exact.series.operators import Operator, ring_of
from sgverify.law.own_dynamics import SETTINGS
from sgverify.schemes.torch_step import TorchStep

NEAR = 1e-5
"""The relative error within which a measured factor is a number; the factors are known to 1e-7."""

MOST = 64
"""The largest denominator of a fraction that a factor is read as: such fractions are 1/4096 apart and more, far beyond `NEAR`."""


@dataclass(frozen=True)
class Scaling:
    """A factor at the base setting, `elsewhere` where T or D is another one, and in other dimensions, as far as it was measured."""

    base: float
    elsewhere: Mapping[str, float]
    by_dimension: Mapping[int, float]

    @property
    def values(self) -> list[float]:
        """All measured factors."""
        return [self.base, *self.elsewhere.values(), *self.by_dimension.values()]

    @property
    def right(self) -> bool:
        """Whether the factor is 1 at every setting."""
        return all(near(value, 1.0) for value in self.values)

    @property
    def depends_on_dimension(self) -> bool:
        """Whether another dimension gives another factor."""
        return any(not near(value, self.base) for value in self.by_dimension.values())

    @property
    def unlike(self) -> str | None:
        """T or D, where the factor goes as no power of it."""
        return next(
            (
                symbol
                for symbol, value in self.elsewhere.items()
                if not near(value, self.base) and not self.power_of(symbol)
            ),
            None,
        )

    def power_of(self, symbol: str) -> Fraction:
        """a where the factor goes as T^a, say, a multiple of 1/2; 0 where it goes as no such power."""
        other = self.elsewhere.get(symbol, 0.0)
        if self.base <= 0 or other <= 0:
            return Fraction(0)
        found = log(other / self.base) / log(CHANGED[symbol] / BASE[symbol])
        half = Fraction(round(2 * found), 2)
        return half if abs(found - float(half)) <= 1e-3 else Fraction(0)

    def times(self, value: Polynomial, ring: Ring) -> Polynomial:
        """A term of the dynamics with this factor."""
        number, top, bottom = self.base, value, ring.one
        for symbol in self.elsewhere:
            power = self.power_of(symbol)
            number /= float(BASE[symbol]) ** float(power)
            root = ring.generator("root", symbol) ** abs(int(2 * power))
            top, bottom = (top * root, bottom) if power > 0 else (top, bottom * root)
        found = Quotient.of(top, bottom, ring)
        below = found.denominator
        whole = found.numerator if below.is_constant() else found.numerator * reciprocal(below, ring)
        return whole * ring.constant(fraction(number))


def near(value: float, other: float) -> bool:
    """Whether two factors agree within `NEAR`."""
    return abs(value - other) <= NEAR * max(1.0, abs(other))


def fraction(value: float) -> Fraction:
    """The simple fraction that a factor is, if it is one; 0 is one, and what is missing is no tiny factor."""
    found = Fraction(value).limit_denominator(MOST)
    return found if near(float(found), value) else Fraction(value)


BASE, CHANGED = SETTINGS
PROOF, OTHERS = 2, (1, 3)
"""The dimension of the base setting, and the others that are tried."""

TOLD = {
    **WORDS,
    "energy": "the energy in the drift of {v}",
    "setpoint": "the number that the energy is held against in the drift of {v}",
    "noise": "the variance of the noise of {v}",
}
NAMES: dict[str, CauseName] = {
    **OF_KIND,
    "energy": "thermostat-wrong",
    "setpoint": "thermostat-wrong",
    "noise": "diffusion-scaled",
}


def black_box_cause(step: TorchStep) -> Cause | None:
    """The cause of a generator that is not the declared one, measured; None where it is right or cannot be measured."""
    try:
        # What takes no T is given U/T: as it is called, T is 1.
        base = measured_generator(step, PROOF, {**BASE, "T": Fraction(1)} if step.tempered else BASE)
        found = _alone(base, step) or _varied(base, step)
    except (SgverifyError, ArithmeticError):
        return None
    return found


def _alone(base: MeasuredGenerator, step: TorchStep) -> Cause | None:
    """What one setting shows: other powers of h, shared draws, a noise that depends on the coordinate or on the state."""
    dynamics = step.dynamics.name
    for variable, kind in base.early.items():
        return Cause(
            NAMES[kind],
            f"{TOLD[kind].format(v=variable)} is applied without the step size: {variable} moves however small h is",
        )
    for variable, power in base.variance_power.items():
        if power == float("inf"):
            return Cause("noise-missing", f"{variable} has no noise, where {dynamics} has one")
        if abs(4 * power - round(4 * power)) > OFF:
            # No power of h: what a step keeps from call to call, or reads elsewhere, gives such numbers.
            return None
        variance, deviation = (power_text(Fraction(round(4 * power), part)) for part in (4, 8))
        return Cause(
            "diffusion-power-of-h",
            f"the variance of the noise of {variable} goes as {variance} where h is due: the noise is multiplied by "
            f"{deviation} and not by sqrt(h)",
        )
    for variable, power in base.mean_power.items():
        if abs(power - 0.5) <= OFF:
            return Cause(
                "noise-law",
                f"the noise of {variable} has a mean: the mean of its increment goes as sqrt(h), where h is due",
            )
    for (one, other), value in base.correlated.items():
        whole = near(abs(value), 1.0)
        return Cause(
            "noise-shared" if whole else "noise-correlated",
            f"the noises of {one} and {other} are correlated by {value:.3g} where they are independent"
            f"{', as they are one draw' if whole else ''}",
        )
    return _by_place(base)


def _varied(base: MeasuredGenerator, step: TorchStep) -> Cause | None:
    """What the factors and their dependence on the settings show."""
    elsewhere = {
        symbol: measured_generator(step, PROOF, {**base.setting, symbol: value})
        for symbol, value in CHANGED.items()
        if symbol in step.dynamics.parameters and not (symbol == "T" and step.tempered)
    }
    others = {dim: measured_generator(step, dim, base.setting) for dim in OTHERS}
    for found in others.values():
        cause = _alone(found, step)
        if cause is not None:
            return cause

    def known(
        found: Mapping[Any, MeasuredGenerator], read: Callable[[MeasuredGenerator], float | None]
    ) -> dict[Any, float]:
        return {key: value for key, item in found.items() if (value := read(item)) is not None}

    scalings = {
        key: Scaling(here, known(elsewhere, read), known(others, read))
        for key, read in _reads(base)
        if (here := read(base)) is not None
    }
    wrong = {key: value for key, value in scalings.items() if not value.right}
    for (variable, kind), value in wrong.items():
        told = _unlike(variable, kind, value, step)
        if told is not None:
            return told
    for variable, _ in base.drift:
        lost = [kind for (name, kind), factor in base.drift.items() if name == variable and factor is None]
        if lost:
            terms = " and ".join(lost)
            return Cause(
                NAMES[lost[0]], f"the drift of {variable} is no multiple of {terms} of {step.dynamics.name}"
            )
    return wrong_generator(_polynomials(step, scalings))


def _polynomials(step: TorchStep, scalings: Mapping[tuple[str, str], Scaling]) -> StepMoments:
    """The measured generator in one dimension, where texts are short: each term of the dynamics, with its factor."""
    ring = ring_of(step.dynamics, 1, depth=2, cap=1)
    due = StepMoments(step, ring, ({}, {}, {}), measured=True)
    operator: Operator = {}
    for index, value in due.exact[1].items():
        k = next(k for k, n in enumerate(index) if n)
        name = ring.coordinates[k][0]
        terms = {"noise": value} if sum(index) == 2 else split(kinds_of(value, k, ring), ring)
        operator[index] = ring.zero
        for kind, term in terms.items():
            scaling = scalings.get((name, kind))
            operator[index] += term if scaling is None else scaling.times(term, ring)
    return StepMoments(step, ring, ({}, {}, operator), measured=True)


def _unlike(variable: str, kind: str, value: Scaling, step: TorchStep) -> Cause | None:
    """A factor that is no power of temperature and friction in every dimension."""
    what, due = TOLD[kind].format(v=variable), step.dynamics.name
    if value.base == float("inf"):
        return Cause("diffusion-scaled", f"{variable} has noise, and {due} has none there")
    if value.depends_on_dimension:
        by_dimension = sorted({PROOF: value.base, **value.by_dimension}.items())
        listed = ", ".join(f"{_text(factor)} in dimension {dim}" for dim, factor in by_dimension)
        name: CauseName = "thermostat-dimension" if kind == "energy" else NAMES[kind]
        return Cause(name, f"{what} is that of {due} times {listed}")
    symbol = value.unlike
    if symbol is None:
        return None
    name = "temperature-misplaced" if symbol == "T" else NAMES[kind]
    return Cause(name, f"{what} does not follow {symbol}: it goes as no power of that of {due}")


def _reads(
    base: MeasuredGenerator,
) -> Iterator[tuple[tuple[str, str], Callable[[MeasuredGenerator], float | None]]]:
    for key in base.drift:
        yield key, lambda found, key=key: found.drift.get(key)  # type: ignore[misc]
    for variable in base.diffusion:
        yield (variable, "noise"), lambda found, variable=variable: found.diffusion.get(variable)  # type: ignore[misc]


def _by_place(found: MeasuredGenerator) -> Cause | None:
    """A noise that depends on the coordinate or on the state."""
    for variable, factors in found.by_coordinate.items():
        wrong = {k: value for k, value in enumerate(factors, 1) if not near(value, 1.0)}
        texts = " and ".join(
            f"{_text(value)} times the due one in coordinate {k}" for k, value in wrong.items()
        )
        return Cause(
            "noise-missing" if any(near(value, 0.0) for value in factors) else "diffusion-scaled",
            f"the variance of the noise of {variable} is {texts} (of {found.dim}, from 1)",
        )
    for variable in found.state_dependent:
        return Cause("diffusion-scaled", f"the variance of the noise of {variable} depends on the state")
    return None


def _text(value: float) -> str:
    return number_text(fraction(value))
