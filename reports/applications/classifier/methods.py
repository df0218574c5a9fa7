"""The methods that vr-resgld compares, with their rows, and the printed settings scaled to another data set and number of epochs.

eta of vr-resgld is h^2 of `sghmc-euler`, and 1 - D h its momentum: v = h p then moves as in SGHMC with eta and a momentum.
M-SGD is the same step at T = 0. Scaled to N images, minibatches of n and E epochs:

- eta N is kept, and lambda / N of the prior: the mean loss is the same, so the same step of it is as large;
- factors per epoch are taken to the power 500/E, so that step and temperature fall as far in E epochs as in 500;
- F is in proportion to N / sqrt(n), as the standard deviation of an energy: the correction of log S relative to it stays;
- m = 392 and 50 keep their share of an epoch (2 epochs, and about 1/4), and so does the thinning.

The temperatures are those that are printed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reports.applications.chains import ChainSetting
from reports.applications.printed import printed_settings
from sgverify.samplers.run.schedules import Annealed, Cyclical

SCHEME = "sghmc-euler"
"""The scheme whose steps all methods take."""

FACTORS = (0.25, 0.5, 2.0, 4.0)
"""The further step sizes eta of SGHMC, relative to the printed one, beside which `advise` is asked."""


@dataclass(frozen=True)
class ScaledSteps:
    """A schedule h_l times a constant, such as the ratio of the step sizes of two replicas."""

    schedule: Annealed | Cyclical
    factor: float = 1.0

    def at(self, number: int) -> float:
        """factor h_l at l = `number`, counted from 1."""
        return self.factor * self.schedule.at(number)


@dataclass(frozen=True)
class Friction:
    """D_l = (1 - momentum) / h_l: the momentum of v = h p is the same at every step."""

    steps: ScaledSteps
    momentum: float

    def at(self, number: int) -> float:
        """D_l at l = `number`, counted from 1."""
        return (1 - self.momentum) / self.steps.at(number)


@dataclass(frozen=True)
class Cooling:
    """T_k = temperature / cooling^min(k, until) in epoch k of `epoch` steps, counted from 0."""

    temperature: float
    epoch: int
    cooling: float
    until: int

    def at(self, number: int) -> float:
        """T of step l = `number`, counted from 1."""
        return float(self.temperature / self.cooling ** min((number - 1) // self.epoch, self.until))


@dataclass(frozen=True)
class MethodSwaps:
    """How the two replicas of a method swap: the composite's name, and m, the steps from one measurement of the energies' variance
    to the next; with it a control variate is renewed, where the composite has one.
    """

    composite: str
    refresh: int


@dataclass(frozen=True)
class ComparedMethod:
    """A method: its label, its rows, how it swaps, and the steps after which its predictions count.

    The first row is the one whose predictions count; `cold` is its temperature, None for T = 0, and `schedule` that of its steps.
    """

    label: str
    rows: tuple[ChainSetting, ...]
    cold: Cooling | None
    schedule: Annealed | Cyclical
    swaps: MethodSwaps | None = None
    burn_in: int = 0

    def samples(self, number: int) -> bool:
        """Do predictions after step `number` count?"""
        return number > self.burn_in and bool(self.schedule.samples(number))


@dataclass(frozen=True)
class Scaled:
    """The printed settings for N = `size` images, minibatches of `batch` and `epochs` epochs."""

    size: int
    batch: int
    epochs: int

    @property
    def printed(self) -> Mapping[str, Any]:
        """The settings as they are printed."""
        return printed_settings("vr_resgld", "classifier")

    @property
    def epoch(self) -> int:
        """The steps of an epoch."""
        return -(-self.size // self.batch)

    @property
    def steps(self) -> int:
        """The steps of a run of `epochs` epochs."""
        return self.epochs * self.epoch

    @property
    def stretched(self) -> float:
        """The printed epochs for each of a run's."""
        return float(self.printed["epochs"] / self.epochs)

    @property
    def early(self) -> int:
        """The steps of the first part of a run, whose step size is constant."""
        return self.epoch * round(self.printed["constant_epochs"] / self.stretched)

    @property
    def burn_in(self) -> int:
        """The epochs in which temperature and F are annealed, before predictions count."""
        return round(self.printed["code"]["burn_in"] * self.epochs)

    @property
    def precision(self) -> float:
        """lambda of the prior."""
        return float(self.printed["code"]["weight_decay"] * self.size / self.printed["images"])

    @property
    def correction(self) -> float:
        """F_0."""
        deviation = self.size / math.sqrt(self.batch)
        return float(
            self.printed["correction"]
            * deviation
            / (self.printed["images"] / math.sqrt(self.printed["batch"]))
        )

    @property
    def cooling(self) -> float:
        """By what temperatures are divided, and F is multiplied, in each epoch of the burn-in."""
        return float(self.printed["cooling"] ** self.stretched)

    @property
    def ladder(self) -> tuple[float, float]:
        """The temperatures of the replicas, relative to the first one's."""
        return 1.0, float(self.printed["temperature_ratio"])

    def share_of_epoch(self, iterations: int) -> int:
        """Steps that are as large a share of an epoch as printed iterations are of one with the printed batch."""
        printed_epoch = self.printed["images"] / self.printed["batch"]
        return max(1, round(iterations / printed_epoch * self.epoch))

    @property
    def refreshes(self) -> tuple[int, ...]:
        """m of the control variates, the printed ones in their order."""
        return tuple(self.share_of_epoch(value) for value in self.printed["refresh"])

    @property
    def thinning(self) -> int:
        """The steps between two predictions that count."""
        return self.share_of_epoch(self.printed["thinning"])

    def step(self, eta: float) -> float:
        """h of the printed eta."""
        return math.sqrt(eta * self.printed["images"] / self.size)

    def decaying(self, factor: float = 1.0) -> Annealed:
        """h_l of the printed eta times `factor`: constant, then falling."""
        return Annealed(
            self.step(factor * self.printed["step"]),
            self.epoch,
            math.sqrt(self.printed["decay"] ** self.stretched),
            round(self.printed["constant_epochs"] / self.stretched),
        )

    def cyclical(self, exchange: bool) -> Cyclical:
        """h_l = sqrt(eta_l) would not be a cosine: h falls by the cosine, from the root of the printed eta."""
        told = self.printed["cyclical"]
        cycles = told["exchange_cycles" if exchange else "cycles"]
        steps = self.steps if exchange else self.long
        return Cyclical(self.step(told["step"]), -(-steps // cycles), threshold=told["threshold"])

    @property
    def long(self) -> int:
        """The steps of cycSGHMC, which runs for more epochs than the others."""
        return self.steps * self.printed["cyclical"]["epochs"] // self.printed["epochs"]

    def row(
        self, label: str, schedule: Annealed | Cyclical, temperature: Any, *, factor: float = 1.0
    ) -> ChainSetting:
        """A row with the momentum of the published code."""
        steps = ScaledSteps(schedule, factor)
        return ChainSetting(steps, Friction(steps, self.printed["code"]["momentum"]), temperature, label)

    def cold(self, cyclical: bool) -> Cooling:
        """The temperatures of the first replica, and of single chains."""
        if cyclical:
            return Cooling(self.printed["cyclical"]["temperature"], self.epoch, 1.0, 0)
        return Cooling(self.printed["temperature"], self.epoch, self.cooling, self.burn_in)

    def single(
        self, label: str, schedule: Annealed | Cyclical, cold: Cooling | None, burn_in: int = 0
    ) -> ComparedMethod:
        """A method of one chain; without temperatures at T = 0."""
        return ComparedMethod(
            label, (self.row(label, schedule, 0.0 if cold is None else cold),), cold, schedule, None, burn_in
        )

    def exchanging(
        self, label: str, schedule: Annealed | Cyclical, cyclical: bool, swaps: MethodSwaps, burn_in: int = 0
    ) -> ComparedMethod:
        """A method of two replicas."""
        cold, ratio = self.cold(cyclical), math.sqrt(self.printed["step_ratio"])
        warm = Cooling(cold.temperature * self.ladder[1], cold.epoch, cold.cooling, cold.until)
        rows = (
            self.row(label, schedule, cold),
            self.row(f"{label}, second replica", schedule, warm, factor=ratio),
        )
        return ComparedMethod(label, rows, cold, schedule, swaps, burn_in)


TABLE = ("M-SGD", "SGHMC", "reSGHMC", "VR-reSGHMC", "cycSGHMC", "cVR-reSGHMC")
"""The methods of vr-resgld, Table 1."""


def methods(scaled: Scaled) -> tuple[ComparedMethod, ...]:
    """All methods of `scaled.steps` steps: those of Table 1 but cycSGHMC, the variants of Figures 3 and 5, SGHMC at other steps."""
    plain, burn_in = scaled.decaying(), scaled.burn_in * scaled.epoch
    often, seldom = scaled.refreshes
    found = [
        scaled.single("M-SGD", plain, None, burn_in),
        scaled.single("SGHMC", plain, scaled.cold(False), burn_in),
        scaled.exchanging("reSGHMC", plain, False, MethodSwaps("resghmc", seldom), burn_in),
        scaled.exchanging("VR-reSGHMC", plain, False, MethodSwaps("vr-resghmc", seldom), burn_in),
        scaled.exchanging("cVR-reSGHMC", scaled.cyclical(True), True, MethodSwaps("vr-resghmc", seldom)),
        scaled.exchanging(variant("VR", often), plain, False, MethodSwaps("vr-resghmc", often), burn_in),
        scaled.exchanging(
            variant("adaptive VR", seldom), plain, False, MethodSwaps("avr-resghmc", seldom), burn_in
        ),
        scaled.exchanging(
            variant("adaptive VR", often), plain, False, MethodSwaps("avr-resghmc", often), burn_in
        ),
    ]
    for factor in FACTORS:
        label = at_step(factor)
        found.append(scaled.single(label, scaled.decaying(factor), scaled.cold(False), burn_in))
    return tuple(found)


def long_method(scaled: Scaled) -> ComparedMethod:
    """cycSGHMC, of `scaled.long` steps."""
    return scaled.single("cycSGHMC", scaled.cyclical(False), scaled.cold(True))


def variant(kind: str, refresh: int) -> str:
    """The label of a variant of VR-reSGHMC.

    >>> variant("VR", 8)
    'VR-reSGHMC, m = 8'
    """
    return f"{kind}-reSGHMC, m = {refresh}"


def at_step(factor: float) -> str:
    """The label of SGHMC at another step size; at the printed one it is SGHMC."""
    return "SGHMC" if factor == 1 else f"SGHMC, eta x {factor:g}"
