"""How large is the error of a chain: what is found, and the one line that says it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

LINE, ROW = 100, 80
"""The most columns of the sentence, and those that a row of the verdict's block has room for."""

NONE = 1e-6
"""Errors below this share of a standard deviation are called none in the sentence."""

ALL = 0.995
"""The share of an error from which on all of it is noise."""

MOST = 8
"""The most coordinates whose errors `HowLarge.lines` shows."""

_BY = {
    "exact": "exactly",
    "grid": "from a grid",
    "gaussian approximation": "from a Gaussian approximation at the mode",
    "run": "from a coupled run at h, h/2 and h/4",
}


@dataclass(frozen=True)
class PowerOfStep:
    """The leading term of a bias: constant h^order as h -> 0. `exact`: from the expansion at h = 0, else from two small steps."""

    order: float
    constant: float
    exact: bool


@dataclass(frozen=True)
class Level:
    """The largest step size below which no mean and no standard deviation is off by more than `error` standard deviations.

    It is the smallest h at which an error crosses the level. `step` is None where it is not computed; `stability` says that the
    step is the stability limit itself, which comes before any crossing.
    """

    error: float
    step: float | None
    stability: bool = False


@dataclass(frozen=True)
class MonteCarlo:
    """The error of the average of the test function phi over L steps of one chain at this step size: bias^2 + variance/L.

    `bias` is phi_h - phi_bar, in the units of phi; `variance` is the asymptotic variance, the sum of all autocovariances of phi,
    and `autocorrelation_time` is that over the variance of phi, in steps. `steps` is the L at which the standard error is as large
    as the bias; None where the bias is 0.
    """

    test_function: str
    bias: float
    power: PowerOfStep | None
    variance: float
    autocorrelation_time: float
    steps: float | None

    @property
    def sentence(self) -> str:
        """Bias, asymptotic variance, and the steps after which the standard error is as large as the bias."""
        start = (
            f"averages of {self.test_function}: bias {self.bias:.3g}, asymptotic variance {self.variance:.3g}"
        )
        if self.steps is None:
            return start
        return f"{start}; after {self.steps:.2g} steps the standard error is as large as the bias"


@dataclass(frozen=True)
class HowLarge:
    """The errors of a scheme's invariant law on a target at one step size, relative to the standard deviations of the target.

    For each coordinate i of theta: `mean_bias` (E_h theta_i - E theta_i)/sd_i and `sd_bias` sd_h(theta_i)/sd_i - 1, so that 0.05 is
    5 per cent. `configuration_temperature` is T sd_h^2/sd^2, the temperature at which a Gaussian target is as wide as the chain;
    `momentum_temperature` is E_h p_i^2, None without a momentum. `power` is the leading term of the largest of these errors,
    `levels` the largest steps for given errors, `monte_carlo` the error of averages of the test function. `method`: "exact",
    "grid", "gaussian approximation" or "run"; `mean_error` and `sd_error` are what the biases by the last two may be off by, an
    estimate. `distrust` is the reason why an approximation or a run is not to be trusted here; the biases are then left
    out where it has none. `without_noise` is the largest error where the gradients are full and the configured ones noisy;
    `independent_draw` are the steps after which an average knows as much as from one independent draw of theta.
    """

    scheme: str
    target: str
    gradient: str
    step: float
    method: str
    temperature: float
    mean_bias: tuple[float, ...] = ()
    sd_bias: tuple[float, ...] = ()
    configuration_temperature: tuple[float, ...] = ()
    momentum_temperature: tuple[float, ...] | None = None
    power: PowerOfStep | None = None
    levels: tuple[Level, ...] = ()
    monte_carlo: MonteCarlo | None = None
    distrust: str | None = None
    without_noise: float | None = None
    independent_draw: float | None = None
    mean_error: tuple[float, ...] = ()
    sd_error: tuple[float, ...] = ()

    @property
    def worst(self) -> tuple[str, int]:
        """The quantity, "mean" or "sd", and the coordinate with the largest error. Raises `ValueError` where none is known."""
        return worst_of(self.mean_bias, self.sd_bias)

    @property
    def error(self) -> float:
        """The largest error, with its sign: in standard deviations, or relative to one."""
        quantity, place = self.worst
        return (self.mean_bias if quantity == "mean" else self.sd_bias)[place]

    @property
    def uncertainty(self) -> float:
        """The estimated error of the largest error; 0 where it is far below what is told."""
        quantity, place = self.worst
        errors = self.mean_error if quantity == "mean" else self.sd_error
        return errors[place] if errors else 0.0

    @property
    def sentence(self) -> str:
        """The largest error, its part that is noise, the effective temperature and the largest step for the first level."""
        start = f"h = {self.step:.3g}"
        if self.distrust is not None:
            told = "a Gaussian approximation is not to be trusted (--set how_large=run)"
            return f"{start}: how large the bias is cannot be told: {'this run is no guide' if self.method == 'run' else told}"
        quantity, place = self.worst
        of = "" if len(self.sd_bias) == 1 else f" of theta[{place}]"
        size, off = abs(self.error), self.uncertainty
        if size < NONE:
            said = "no bias of mean and sd of theta"
        elif off >= size:
            return f"{start}: {quantity}{of} off by less than {percent(size + off)}; no bias is told from 0"
        elif quantity == "sd":
            how = f"{percent(size, off)} too {'wide' if self.error > 0 else 'narrow'}"
            if self.error >= 1:
                about = f" ± {off:.1g}" if off else ""
                how = f"{1 + self.error:.2g}{about} times the target's"
            said = f"sd{of} {how}{self._noise}"
        else:
            said = f"mean{of} off by {percent(size, off)} of its sd{self._noise}"
        level = next((self._level(item) for item in self.levels if item.step is not None), "")
        temperature = self._effective(place) if quantity == "sd" and size >= NONE else ""
        tail = f"; {level}" if level else ""
        whole, plain = f"{start}: {said}{temperature}{tail}", f"{start}: {said}{tail}"
        # Where a row has no room, first the temperature goes, which says of the width what the error says.
        if len(whole) <= (ROW if self._noise else LINE):
            return whole
        return plain if self._noise and len(plain) <= LINE else f"{start}: {said}{temperature}"

    @property
    def details(self) -> str:
        """The steps that an independent draw costs; the reason where no error is told; "" where neither is known."""
        if self.distrust is not None:
            return self.distrust
        if self.independent_draw is None:
            return ""
        steps = max(1.0, self.independent_draw)
        told = f"{steps:.2g}" if steps < 100 else f"{float(f'{steps:.2g}'):.0f}"
        return f"an independent draw costs {told} step{'' if told == '1' else 's'}"

    @property
    def _noise(self) -> str:
        """The part of the largest error that gradient noise makes, in per cent as the error; "" where gradients are full."""
        if self.without_noise is None:
            return ""
        share = 1 - self.without_noise / self.error
        if share >= ALL:
            return ", all from noise"
        if share <= 0 or self.error >= 1:
            return f", {percent(abs(self.without_noise))} without noise"
        return f", {100 * share * abs(self.error):.2g} from noise"

    def __str__(self) -> str:
        return "\n".join((self.sentence, *(f"  {line}" for line in self.lines())))

    __repr__ = __str__

    def lines(self) -> list[str]:
        """Every number in words, one line for each subject: coordinates, largest steps, averages; the worst `MOST` coordinates."""
        lines = [f"at h = {self.step:.3g}, {_BY[self.method]}"]
        if self.distrust is not None:
            return [*lines, self.distrust]
        places = sorted(range(len(self.sd_bias)), key=self._size, reverse=True)
        lines += [self._coordinate(place) for place in sorted(places[:MOST])]
        if len(places) > MOST:
            lines.append(f"{len(places) - MOST} more coordinates are off by less")
        if self.momentum_temperature is not None:
            told = sorted(self.momentum_temperature)
            ends = dict.fromkeys(f"{value:.4g}" for value in (told[0], told[-1]))
            lines.append(f"temperature of the momentum {' to '.join(ends)}, where T = {self.temperature:g}")
        if self.power is not None:
            power = "h" if self.power.order == 1 else f"h^{self.power.order:g}"
            lines.append(f"the largest error is {self.power.constant:.3g} {power} as h -> 0")
        known = [level for level in self.levels if level.step is not None]
        limits = [level for level in known if level.stability]
        # Every larger error has the same limit.
        levels = [self._level(level) for level in known if level not in limits[1:]]
        lines += ["error below " + "; ".join(levels).removeprefix("below ")] if levels else []
        lines += [line for line in (self.details,) if line]
        return [*lines, *([self.monte_carlo.sentence] if self.monte_carlo is not None else [])]

    def _size(self, place: int) -> float:
        return max(abs(self.mean_bias[place]), abs(self.sd_bias[place]))

    def _coordinate(self, place: int) -> str:
        name = "theta" if len(self.sd_bias) == 1 else f"theta[{place}]"
        mean, sd = self.mean_bias[place], self.sd_bias[place]
        temperature = f"{self.configuration_temperature[place]:.4g}"
        of_mean, of_sd = (
            f" ± {errors[place]:.2%}" if errors else "" for errors in (self.mean_error, self.sd_error)
        )
        return f"{name}: mean {mean:+.2%}{of_mean} of an sd, sd {sd:+.2%}{of_sd}, effective temperature {temperature}"

    def _effective(self, place: int) -> str:
        told, given = f"{self.configuration_temperature[place]:.3g}", f"{self.temperature:.3g}"
        return "" if told == given else f" (effective T {told})"

    def _level(self, level: Level) -> str:
        assert level.step is not None
        if level.stability:
            return f"below {percent(level.error)} up to the stability limit {level.step:.3g}"
        return f"{percent(level.error)} at h <= {below(level.step):.2g}"

    def document(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def worst_of(mean_bias: Any, sd_bias: Any) -> tuple[str, int]:
    """The quantity and the coordinate with the largest absolute error; that of the standard deviation where both are alike."""
    sizes = [(abs(value), 1, i) for i, value in enumerate(sd_bias)]
    sizes += [(abs(value), 0, i) for i, value in enumerate(mean_bias)]
    _, kind, place = max(sizes, key=lambda item: (item[0], item[1], -item[2]))
    return ("sd" if kind else "mean"), place


def percent(share: float, off: float = 0.0) -> str:
    """A share in per cent, to two figures, with its error to one: 0.0253 is "2.5 %", or "2.5 ± 0.1 %"."""
    about = f" ± {float(f'{100 * off:.1g}'):g}" if off else ""
    return f"{100 * share:.2g}{about} %" if share < 0.995 else f"{100 * share:.0f}{about} %"


def below(value: float) -> float:
    """The next smaller number with two significant figures."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit * (1 + 1e-12)) * unit:.2g}")
