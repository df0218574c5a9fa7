"""How does a measured factor depend on temperature, friction and dimension?

The cause of a wrong step that can only be run: the term whose measured factor is not 1, and how that factor scales.
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
    Setting,
    measured_generator,
)
from sgverify.advice.diagnosis.model import Cause, CauseName
from sgverify.advice.diagnosis.wrong_terms.moments import root_text
from sgverify.errors import SgverifyError
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
    def number(self) -> Fraction | None:
        """The factor where it is the same fraction at every setting."""
        return fraction(self.base) if all(near(value, self.base) for value in self.values) else None

    @property
    def depends_on(self) -> list[str]:
        """Those of T and D with another value of which the factor is another one."""
        return [symbol for symbol, value in self.elsewhere.items() if not near(value, self.base)]

    @property
    def depends_on_dimension(self) -> bool:
        """Whether another dimension gives another factor."""
        return any(not near(value, self.base) for value in self.by_dimension.values())

    def power_of(self, symbol: str) -> Fraction:
        """a where the factor goes as T^a, say, a multiple of 1/2; 0 where it goes as no such power."""
        other = self.elsewhere.get(symbol, 0.0)
        if self.base <= 0 or other <= 0:
            return Fraction(0)
        found = log(other / self.base) / log(CHANGED[symbol][symbol] / BASE[symbol])
        half = Fraction(round(2 * found), 2)
        return half if abs(found - float(half)) <= 1e-3 else Fraction(0)


def near(value: float, other: float) -> bool:
    """Whether two factors agree within `NEAR`."""
    return abs(value - other) <= NEAR * max(1.0, abs(other))


def fraction(value: float) -> Fraction | None:
    """The simple fraction that a factor is, if it is one."""
    found = Fraction(value).limit_denominator(MOST)
    return found if near(float(found), value) else None


BASE: Setting = {"T": Fraction(3, 4), "D": Fraction(5, 4)}
CHANGED: Mapping[str, Setting] = {
    "T": {"T": Fraction(2), "D": Fraction(5, 4)},
    "D": {"T": Fraction(3, 4), "D": Fraction(1, 2)},
}
FURTHER: tuple[Setting, ...] = (
    {"T": Fraction(16), "D": Fraction(5, 4)},
    {"T": Fraction(1, 16), "D": Fraction(5, 4)},
    {"T": Fraction(3, 4), "D": Fraction(8)},
)
"""Settings on both sides of 1, and further ones, at which a clipped temperature or friction shows."""

PROOF, OTHERS = 2, (1, 3)
"""The dimension of the base setting, and the others that are tried."""

WORDS = {
    "force": "the force on {v}",
    "friction": "the friction of {v}",
    "motion": "the motion of {v}",
    "energy": "the energy in the drift of {v}",
    "setpoint": "the number that the energy is held against in the drift of {v}",
    "constant": "the constant drift of {v}",
    "noise": "the variance of the noise of {v}",
}
NAMES: dict[str, CauseName] = {
    "force": "drift-scaled",
    "friction": "friction-wrong",
    "motion": "substep-wrong",
    "energy": "thermostat-wrong",
    "setpoint": "thermostat-wrong",
    "constant": "drift-scaled",
    "noise": "diffusion-scaled",
}


def black_box_cause(step: TorchStep) -> Cause | None:
    """The cause of a generator that is not the declared one, measured; None where it is right or cannot be measured."""
    try:
        base = measured_generator(step, PROOF, BASE)
        found = _alone(base, step) or _varied(base, step)
    except (SgverifyError, ArithmeticError):
        return None
    return found


def _alone(base: MeasuredGenerator, step: TorchStep) -> Cause | None:
    """What one setting shows: other powers of h, shared draws, a noise of the wrong variable, drifts that are no multiple."""
    dynamics = step.dynamics.name
    for variable, kind in base.early.items():
        return Cause(
            NAMES[kind],
            f"{WORDS[kind].format(v=variable)} is applied without the step size: {variable} moves however small h is",
        )
    for variable, power in base.variance_power.items():
        if power == float("inf"):
            return Cause("noise-missing", f"{variable} has no noise, where {dynamics} has one")
        if abs(4 * power - round(4 * power)) > OFF:
            # No power of h: what a step keeps from call to call, or reads elsewhere, gives such numbers.
            return None
        variance, deviation = round(4 * power) / 4, round(4 * power) / 8
        return Cause(
            "diffusion-power-of-h",
            f"the variance of the noise of {variable} goes as h^{variance:g} where h is due: the noise is multiplied by "
            f"h^{deviation:g} and not by sqrt(h)",
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
            f"{': they are one draw' if whole else ''}",
        )
    return None


def _varied(base: MeasuredGenerator, step: TorchStep) -> Cause | None:
    """What the factors and their dependence on the settings show."""
    elsewhere = {
        symbol: measured_generator(step, PROOF, setting)
        for symbol, setting in CHANGED.items()
        if symbol in step.dynamics.parameters
    }
    others = {dim: measured_generator(step, dim, BASE) for dim in OTHERS}
    for found in (base, *others.values()):
        cause = _alone(found, step) or _by_place(found)
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
    found_cause = _in_common(wrong, scalings, step)
    if found_cause is not None:
        return found_cause
    for (variable, kind), value in sorted(wrong.items(), key=lambda item: item[0][1] == "noise"):
        return _of_factor(variable, kind, value, step)
    for variable, _ in base.drift:
        lost = [kind for (name, kind), factor in base.drift.items() if name == variable and factor is None]
        if lost:
            name: CauseName = "thermostat-wrong" if lost[0] in ("energy", "setpoint") else NAMES[lost[0]]
            return Cause(
                name,
                f"the drift of {variable} is no multiple of {' and '.join(lost)} of {step.dynamics.name}",
            )
    return _further(step)


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


def _in_common(
    wrong: dict[tuple[str, str], Scaling], every: dict[tuple[str, str], Scaling], step: TorchStep
) -> Cause | None:
    """One factor of several terms."""
    numbers = {value.number for value in wrong.values()}
    if len(every) > 1 and len(wrong) == len(every) and len(numbers) == 1 and None not in numbers:
        factor = numbers.pop()
        return Cause("substep-wrong", f"a step moves everything for {factor} h, where h is due")
    for variable in {name for name, _ in wrong}:
        friction, noise = wrong.get((variable, "friction")), wrong.get((variable, "noise"))
        if friction and noise and all(near(a, b) for a, b in zip(friction.values, noise.values, strict=True)):
            return Cause(
                "friction-wrong",
                f"friction and noise of {variable} are those of {_text(friction.base)} D at D = {float(BASE['D']):g}, where "
                f"{step.dynamics.name} has D",
            )
    energy = {name for name, kind in wrong if kind == "energy"}
    for variable in energy:
        one, two = wrong[variable, "energy"], wrong.get((variable, "setpoint"))
        if two is not None and one.number is not None and one.number == two.number:
            if one.number < 0:
                return Cause(
                    "thermostat-wrong",
                    f"the drift of {variable} has the wrong sign: a factor of {one.number}",
                )
            return Cause("substep-wrong", f"{variable} moves for {one.number} h in all, where h is due")
    return None


def _of_factor(variable: str, kind: str, value: Scaling, step: TorchStep) -> Cause:
    what, due = WORDS[kind].format(v=variable), step.dynamics.name
    stands = f"{what} is {_text(value.base)} times that of {due}"
    if value.base == float("inf"):
        return Cause("diffusion-scaled", f"{variable} has noise, and {due} has none there")
    if value.depends_on_dimension:
        listed = ", ".join(
            f"{_text(factor)} in dimension {dim}"
            for dim, factor in sorted({PROOF: value.base, **value.by_dimension}.items())
        )
        name: CauseName = "thermostat-dimension" if kind == "energy" else NAMES[kind]
        return Cause(name, f"{what} is that of {due} times {listed}")
    if value.depends_on:
        powers = {symbol: value.power_of(symbol) for symbol in ("T", "D")}
        for symbol in value.depends_on:
            if powers[symbol]:
                continue
            named, at, there = (
                "temperature" if symbol == "T" else "friction",
                *(f"{symbol} = {float(setting[symbol]):g}" for setting in (BASE, CHANGED[symbol])),
            )
            return Cause(
                "temperature-misplaced" if symbol == "T" else NAMES[kind],
                f"{what} does not follow the {named}: it is that of {due} times {_text(value.base)} at {at} and "
                f"{_text(value.elsewhere[symbol])} at {there}",
            )
        rest = value.base / float(BASE["T"]) ** float(powers["T"]) / float(BASE["D"]) ** float(powers["D"])
        missing = powers["T"] == -1 and kind in ("noise", "setpoint")
        name = ("temperature-missing" if missing else "temperature-misplaced") if powers["T"] else NAMES[kind]
        alone = missing and near(rest, 1.0) and not powers["D"]
        return Cause(
            name,
            f"{what} is that of {due} times {_monomial(rest, powers)}"
            f"{': T is missing, which is nothing at T = 1' if alone else ''}{_hotter(kind, rest, powers)}",
        )
    number = value.number
    if kind == "noise" and number is not None and number > 0:
        size = f"too small by {root_text(1 / number)}" if number < 1 else f"too large by {root_text(number)}"
        return Cause(
            "diffusion-scaled",
            f"{what} is {number} of that of {due}: the noise is {size}{_hotter(kind, float(number), {})}",
        )
    if near(value.base, 0.0):
        return Cause("noise-missing" if kind == "noise" else NAMES[kind], f"{what} is missing")
    if value.base < 0:
        signs: CauseName = "drift-sign" if kind in ("force", "motion", "constant") else NAMES[kind]
        return Cause(signs, f"{stands}: the sign is wrong")
    if kind == "force" and variable != "theta":
        return Cause("substep-wrong", f"{what} acts for {_text(value.base)} h in all, where h is due")
    return Cause(NAMES[kind], stands + _hotter(kind, value.base, {}))


def _monomial(number: float, powers: Mapping[str, Fraction]) -> str:
    """Such as "2 T^1/2 D^-1"."""
    parts = [name if power == 1 else f"{name}^{power}" for name, power in powers.items() if power]
    return " ".join(([] if near(number, 1.0) and parts else [_text(number)]) + parts)


def _hotter(kind: str, number: float, powers: Mapping[str, Fraction]) -> str:
    """The temperature that a noise of another size, beside the right drift, makes of T."""
    if kind != "noise" or number <= 0:
        return ""
    own = {"T": 1 + powers.get("T", Fraction(0)), "D": powers.get("D", Fraction(0))}
    wider = f", spreads are {number**0.5:.3g} times the due ones" if not any(powers.values()) else ""
    return f"; it samples at the temperature {_monomial(number, own)}{wider}"


def _further(step: TorchStep) -> Cause | None:
    """Settings far from 1, where a clipped parameter shows."""
    for setting in FURTHER:
        found = measured_generator(step, 1, setting)
        for key, read in _reads(found):
            value = read(found)
            if value is None or near(value, 1.0):
                continue
            variable, kind = key
            what = WORDS[kind].format(v=variable)
            at = f"at T = {float(setting['T']):g}, D = {float(setting['D']):g}"
            name: CauseName = NAMES[kind] if setting["T"] == BASE["T"] else "temperature-misplaced"
            return Cause(
                name,
                f"{what} is {_text(value)} times that of {step.dynamics.name} {at}, and right at T = 0.75, D = 1.25",
            )
    return None


def _text(value: float) -> str:
    found = fraction(value)
    return str(found) if found is not None and found.denominator < 100 else f"{value:.6g}"
