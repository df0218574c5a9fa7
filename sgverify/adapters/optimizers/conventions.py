"""Which conventions has an optimizer? The law of one of its steps tells which option is h, D or N, and what a buffer is.

Let theta move by s B of a buffer B, or by itself, and let B or theta be kicked by -c g, g the gradient that is given, and by noise
of variance v; let B keep its share a. Then a step of size h of Langevin dynamics has c = h, v = 2 h T, and one of kinetic dynamics
s c = h^2, 1 - a = h D + O(h^2). c, v, a and s are looked at as functions of the options: nothing is demanded of the names of those
that they tell, and whether the noise is right is left to the checks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.adapters.optimizers.finding import AT, DIMS, constant_force, find_kept, held_counters, probe
from sgverify.adapters.optimizers.kept_values import is_number
from sgverify.adapters.optimizers.momentum import (
    buffer_by,
    carried_share,
    lone_number,
    share_of,
    with_one_draw,
)
from sgverify.adapters.optimizers.options import (
    CONVENTIONS,
    EMPTY,
    At,
    Options,
    known_options,
    measured_once,
    uses,
)
from sgverify.adapters.optimizers.step import OptimizerStep
from sgverify.errors import SgverifyError
from sgverify.schemes.adapting import SIZE, AdapterSettings, parameter
from sgverify.schemes.dynamics import kinetic, langevin, thermostat

_COUNTED = re.compile(
    r"^(n|n_?(data|train|samples|points|datapoints|obs)|"
    r"(num|n|number|len|size)_?(of_)?(training_|train_)?(data|datapoints|train|training|samples|examples|points|dataset|pseudo_batches)|"
    r"(data|dataset|train|training|trainset|sample)_?(set_)?(size|len|length|num))$",
    re.IGNORECASE,
)
"""Names that say that an option is the number of data."""

FRICTIONS = ("D", "h*D", "1-h*D", "exp(-h*D)")
"""What published optimizers call friction, decay of the momentum, or the momentum that is left."""

SMALL = (2.0**-10, 2.0**-11)
"""The step sizes from which the decay of a momentum as h -> 0 is extrapolated."""

TINY = 2.0**-25
"""The step size at which the law of a splitting is read."""

NEAR, EXACT = 1e-3, 1e-7
"""The tolerances of that limit, whose error is of order h^2, and of numbers that are known up to rounding."""

MOST = 64
"""The largest denominator or numerator by which a step size may differ from an option."""


@dataclass(frozen=True)
class OptimizerConvention:
    """Settings with what the law of one step says of the options, and the option that is a prior, with what changes nothing."""

    settings: AdapterSettings
    prior: str = ""
    prior_at: Callable[[At], float] = lambda at: 0.0
    idle: str = ""


@dataclass(frozen=True)
class _Law:
    """c, v, a and s of one step (see the head of this file), and the prior's precision in units of the gradient that is given."""

    pull: float
    noise: float
    kept: float
    share: float
    prior: float


Rate = Callable[[_Law, float], float]

DECAY: Rate = lambda law, h: (1 - law.kept) / h  # noqa: E731
WARMTH: Rate = lambda law, h: law.noise * law.share**2 / (2 * h**3)  # noqa: E731
"""What a momentum loses of itself in a time of 1, and the friction of which its noise is that."""


def conventions_of(found: Any, name: str, settings: AdapterSettings, told: str) -> OptimizerConvention:
    """The conventions of an optimizer, as far as `settings` leave them open; the settings as they are where its law is not read."""
    known, of_step, make = known_options(found, name, settings.map, told)
    sizes = [option for option in known if option not in settings.map and _COUNTED.match(option)]
    mean = settings.gradient == "mean"
    if sizes or mean:
        settings = replace(settings, data={"N": SIZE, **settings.data})
    settings = replace(settings, map={**settings.map, **dict.fromkeys(sizes, "N")})
    try:
        options = Options(name, make, {}, {}, known, langevin, False, of_step=of_step)
        return _Reading(options, settings, sizes, told).convention()
    except (SgverifyError, ArithmeticError):
        return OptimizerConvention(_mean_of(settings, sizes))


def _mean_of(settings: AdapterSettings, sizes: list[str]) -> AdapterSettings:
    """The settings by which the gradient is that of the mean loss where an option is the number of data."""
    return replace(settings, gradient=settings.gradient or ("mean" if sizes else None))


class _Reading:
    """An optimizer whose options are looked at, one after the other."""

    def __init__(self, options: Options, settings: AdapterSettings, sizes: list[str], told: str) -> None:
        self.settings, self.known, self.sizes = settings, options.left, sizes
        known = self.known
        self.size = settings.data.get("N", 1.0)
        given = {
            option: settings.read(option, text)({**AT, "dim": 3.0}) for option, text in settings.map.items()
        }
        numbers = {option: default for option, default in known.items() if is_number(default)}
        usual = {
            option: CONVENTIONS[option] for option in known if option in CONVENTIONS and option not in given
        }
        self.temperatures = [option for option, quantity in usual.items() if quantity == "T"]
        self.values = {
            **{option: 0.3 for option, default in known.items() if default is EMPTY},
            **numbers,
            **{option: AT[quantity] for option, quantity in usual.items() if quantity in ("h", "T")},
            **given,
        }
        held = {option: (lambda quantities, value=value: value) for option, value in self.values.items()}
        options = replace(options, read=held)
        kept, *_ = find_kept(options, told)
        step = OptimizerStep(options, lambda: None, kept, None, told)
        self.step = step.holding(held_counters(step)[0])
        at, self.share = At(self.values, 1.0), share_of
        self.momentum = buffer_by(share_of, self.step, at)
        if not self.momentum and (momentum := buffer_by(carried_share, self.step, at)):
            # The law of a splitting is one of powers of h to leading order.
            self.momentum, self.share = momentum, carried_share
            self.values |= {option: TINY for option, quantity in usual.items() if quantity == "h"}
        self.steps = [option for option, text in settings.map.items() if uses(text, "h")]
        self.steps = self.steps or [option for option, quantity in usual.items() if quantity == "h"]
        self.steps = self.steps or [option for option in self._free() if self._scales(option)]

    def convention(self) -> OptimizerConvention:
        """What the law says."""
        settings, law = self.settings, self.law()
        if law is None or len(self.steps) != 1:
            return OptimizerConvention(_mean_of(settings, self.sizes))
        gradient, idle = self._gradient(law)
        mean, (lr,) = gradient == "mean", self.steps
        maps, dynamics = dict(settings.map), settings.dynamics
        if not mean and not idle and not self._power_of_size(lambda law: abs(law.share * law.pull)):
            # What changes nothing and has a default may count something else.
            maps = {option: text for option, text in maps.items() if option not in self.sizes}
        if mean and not self.sizes:
            maps.update(dict.fromkeys(self.temperatures, "T/N"))
        if dynamics is None and lr not in maps:
            values = self.values
            name, more = self._kinetic(law, lr, mean) if self.momentum else (None, {})
            self.values = values
            dynamics, maps = name, {**maps, **(more or {lr: self._langevin(law, lr, mean)})}
        settings = replace(settings, map=maps, gradient=gradient, dynamics=dynamics)
        return OptimizerConvention(settings, *self._prior(law, lr), idle)

    def law(self, thermostat: float | None = None, **values: float) -> _Law | None:
        """The law of a step with other values of some options; None if it kicks entries by other factors."""
        at = At({**self.values, **values}, 1.0)
        theta = torch.linspace(-1.1, 0.7, DIMS[0], dtype=torch.float64)
        zero, force = torch.zeros_like(theta), 1e-4 * theta
        others = probe(self.step, np.random.default_rng(0))[1]

        def kick(place: Tensor, buffer: Tensor, gradient: Tensor, drawn: int = 0) -> tuple[Tensor, int]:
            number = 1.0 if thermostat is None else thermostat
            held = {name: torch.full_like(value, number) for name, value in others.items()}
            held |= {self.momentum: buffer} if self.momentum else {}
            moved, after, count = with_one_draw(self.step, at, place, held, constant_force(gradient), drawn)
            return (after[self.momentum] if self.momentum else moved - place), count

        try:
            rest, draws = kick(zero, zero, zero)
        except (SgverifyError, ArithmeticError, ValueError):
            return None
        pull = _one(-(kick(zero, zero, force)[0] - rest) / force)
        noise = _one(sum(((kick(zero, zero, zero, k + 1)[0] - rest) ** 2 for k in range(draws)), zero))
        kept = _one((kick(zero, theta, zero)[0] - rest) / theta) if self.momentum else 0.0
        prior = _one(-(kick(theta, zero, zero)[0] - rest) / theta)
        if pull is None or noise is None or kept is None or prior is None or not pull:
            return None
        share = self.share(self.step, at, self.momentum) if self.momentum else 1.0
        return _Law(pull, noise, kept, share, prior / pull)

    def _free(self) -> Iterator[str]:
        """The options of which nothing is told, whose value is a float."""
        for option, default in self.known.items():
            numeric = default is EMPTY or (isinstance(default, float) and default)
            if numeric and option not in self.settings.map and option not in self.temperatures:
                yield option

    def _scales(self, option: str) -> bool:
        """Does an option scale the movement as a step size does: the pull by its power 1 with the noise, or 2 with its power 3?"""
        powers = self._powers(option)
        return powers is not None and powers in (
            ((1, 1),) if not self.momentum else ((1, 1), (1, 2), (2, 3), (2, 1))
        )

    def _powers(self, option: str) -> tuple[int, int] | None:
        """The powers of an option in s c and in v."""
        powers = (
            self._power(lambda law: abs(law.share * law.pull), option),
            self._power(lambda law: law.noise, option),
        )
        rounded = [
            round(power) for power in powers if math.isfinite(power) and abs(power - round(power)) < EXACT
        ]
        return (rounded[0], rounded[1]) if len(rounded) == 2 else None

    def _power(self, value: Callable[[_Law], float], *options: str) -> float:
        """The power of options, of their product if there are several, in a number of the law; NaN where it has none."""
        one, two = self.law(), self.law(**{option: 2 * self.values[option] for option in options})
        quotient = 0.0 if one is None or two is None or not value(one) else value(two) / value(one)
        return math.log2(quotient) if quotient > 0 else math.nan

    def _power_of_size(self, value: Callable[[_Law], float]) -> float:
        """The power of N in a number of the law."""
        power = self._power(value, *self.sizes) if self.sizes else 0.0
        return round(power, 6) if math.isfinite(power) else 0.0

    def _gradient(self, law: _Law) -> tuple[str | None, str]:
        """Is it the gradient of the mean loss that is due, and the options that say N and change nothing."""
        if self.settings.gradient or not self.sizes:
            return self.settings.gradient, ""
        power = self._power_of_size(lambda law: abs(law.pull / law.noise)) if law.noise else 1.0
        if power:
            return "mean", ""
        if self._power_of_size(lambda law: abs(law.share * law.pull)):
            return None, ""
        return None, ", ".join(size for size in self.sizes if self.known[size] is EMPTY)

    def _langevin(self, law: _Law, lr: str, mean: bool) -> str:
        """The step option in h and N: as the pull says, if the noise is that of such a step, else as its name says."""
        size = self.size if mean else 1.0
        power = self._power_of_size(lambda law: law.pull) - mean if self.sizes else -float(mean)
        pull = law.pull / size
        # With T = 1. Where no option is N, T is told as T/N.
        due = 2 * law.pull / (size if self.sizes else 1.0)
        fits = abs(law.noise / due - 1) < EXACT
        powers = self._powers(lr)
        if powers is None or powers[0] != 1:
            return "h" if not mean else "h*N"
        # What is kept besides, such as a second moment, is no constant.
        factor = self.values[lr] * self.size**power / pull
        return _text(factor if fits and not self.step.kept.buffers else 1.0, "h", -power)

    def _kinetic(self, law: _Law, lr: str, mean: bool) -> tuple[str | None, dict[str, str]]:
        """The name of a dynamics with a momentum, and its options in h and D; None and none where no friction is found."""
        size = self.size if mean else 1.0
        power = self._power(lambda law: law.share * law.pull, lr)
        if math.isfinite(power) and abs(power - round(power)) > EXACT:
            # A friction that is solved exactly multiplies the pull by exp(-hD), which is 1 as h -> 0.
            self.values = {**self.values, lr: TINY}
            power, law = self._power(lambda law: law.share * law.pull, lr), self.law() or law
        if law.share * law.pull <= 0 or not any(abs(power - root) <= EXACT for root in (1, 2)):
            return None, {}
        root = round(power)
        of_size = (self._power_of_size(lambda law: law.share * law.pull) - mean) / root
        # h^2 = K lr^root N^(root of_size)
        factor = (
            self.values[lr] ** root * self.size ** (root * of_size) / (law.share * law.pull / size)
        ) ** (1 / root)
        text = _text(factor, "h**2" if root == 1 else "h", -of_size)
        value = parameter(lr, text)
        heats = self._thermostat()
        named = [o for o in self.known if CONVENTIONS.get(o) == "D" and o not in self.settings.map]
        pairs = [(o, friction) for o in self._free() if o != lr for friction in FRICTIONS]
        # Of a thermostat, and where a friction is missing, the noise tells.
        decaying = () if heats else (pair for pair in pairs if self._tends(lr, value, *pair, DECAY))
        found = next(iter(decaying), None) or next(((o, "D") for o in named if not heats), None)
        found = found or next((pair for pair in pairs if self._tends(lr, value, *pair, WARMTH)), None)
        if found is None:
            return None, {}
        return (thermostat if heats else kinetic).name, {lr: text, found[0]: found[1]}

    def _tends(self, lr: str, size: Any, option: str, friction: str, rate: Rate) -> bool:
        """Does a rate tend to D as h -> 0, with an option told as a friction?"""
        rates = []
        for h in SMALL:
            at = {**AT, "h": h, "N": self.size}
            law = self.law(**{lr: size(at), option: parameter(option, friction)(at)})
            if law is None:
                return False
            rates.append(rate(law, h))
        return abs(2 * rates[1] - rates[0] - AT["D"]) <= NEAR

    def _thermostat(self) -> str:
        """The number besides the momentum whose value is a friction; "" if there is none."""
        number = lone_number(self.step, self.momentum)
        if not number:
            return ""
        one, two, three = (self.law(value) for value in (0.5, 1.0, 1.5))
        if one is None or two is None or three is None:
            return ""
        linear = abs(one.kept - 2 * two.kept + three.kept) < EXACT
        return number if linear and three.kept < one.kept - EXACT else ""

    def _prior(self, law: _Law, lr: str) -> tuple[str, Callable[[At], float]]:
        """The precision of a Gaussian prior about 0, by the option that alone changes the pull to 0, and as a function.

        What pushes away from 0 is no prior.
        """
        for option in self._free() if law.prior >= EXACT else ():
            power, of_step = (self._power(lambda law: law.prior, name) for name in (option, lr))
            if option != lr and abs(power) > EXACT and abs(of_step) < EXACT:
                factor, root = law.prior / self.values[option] ** round(power), round(power)
                power_of = f"{option}**{root}" if root != 1 else option
                text = _text(factor, power_of, 0.0)
                if text == power_of and abs(factor - 1) > EXACT:
                    text = f"{factor:.4g}*{power_of}"
                return text, measured_once(
                    lambda at: 0.0 if (found := self.law(**at.values)) is None else found.prior
                )
        return "", lambda at: 0.0


def _one(entries: Any) -> float | None:
    """The number that all entries are, up to rounding; None if they are not one."""
    values = torch.as_tensor(entries)
    size = float(values.abs().max())
    return float(values.mean()) if float(values.max() - values.min()) <= EXACT * max(size, 1e-12) else None


def _text(factor: float, quantity: str, power: float) -> str:
    """An option as factor times a power of h times a power of N; a factor that is no plain fraction is left at 1."""
    near = Fraction(factor).limit_denominator(MOST)
    plain = 0 < near.numerator <= MOST and abs(float(near) - factor) <= EXACT * factor
    front = (
        ""
        if not plain or near == 1
        else f"{near.numerator}*"
        if near.denominator == 1
        else f"{near.numerator}/{near.denominator}*"
    )
    sizes = {0.0: "", 1.0: "*N", -1.0: "/N", 0.5: "*sqrt(N)", -0.5: "/sqrt(N)"}
    return f"{front}{quantity}{sizes.get(round(power, 6), f'*N**{power:g}')}"
