"""The simulations of `python -m reports calibration`: one plan for each table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from reports.making.calibration.counting import CalibrationSetting
from reports.making.calibration.simulations import (
    FIRST_LOOK,
    GROWTH,
    HALVING,
    LENGTHS,
    LEVEL,
    MARGINS,
    STEPS,
    LengthSetting,
    NullSetting,
    StepSetting,
)
from reports.making.calibration.truths import (
    COUPLING,
    ERRORS,
    TAILS,
    Truth,
    masked_truths,
    other_truths,
    truths_of,
)
from sgverify.errors import UserError
from sgverify.rates.sample import CALL, LevelShare
from tests.self_checks.point_null import POWER

ORDERS = (2, 1, 4)
"""Claimed orders; the first is the one that the issue's bars speak of."""

HIGHEST = 8
NOISES = (0.001, 0.003, 0.01, 0.03)
BARRED = (0.003, 0.01)
"""Noise levels at which false verdicts and coverage have bars."""

LOOKS = 3

SPREADS = ((5, 4.0), (7, 1.5))
"""Numbers of steps, and ratios of each to the next, beside the usual ones."""

PRODUCTION = (5, 2)
"""Looks of a call without settings, and how many times larger each is than the one before."""

OFTEN = 7.5
"""How many times as often the cells of right methods are simulated at so small a level as at 1 %: what never happens in 9,300
samples is known to have a chance below 4e-4."""


AnySetting = StepSetting | LengthSetting | NullSetting

BRIEFLY = 0.4
"""The part of the replications that cells get which no bar of the issue speaks of."""


@dataclass(frozen=True)
class TablePlan:
    """One planned table: its settings, each with its share of the requested replications."""

    name: str
    title: str
    note: str
    settings: Sequence[tuple[CalibrationSetting, float]]
    level: float = LEVEL

    def replications(self, asked: int) -> list[int]:
        """The replications of every setting, at least one each."""
        return [max(1, round(share * asked)) for _, share in self.settings]


def plans(orders: Sequence[int] = ORDERS, *, quick: bool = False) -> list[TablePlan]:
    """The tables for the claimed orders; `quick`: the first order alone, at one look, and where it errs most.

    Raises `UserError` for an order outside 1, ..., 8.
    """
    for order in orders:
        if not 1 <= order <= HIGHEST:
            raise UserError(f"order={order}: expected a claimed order from 1 to {HIGHEST}")
    made = [_steps(orders[0], coupled) for coupled in (False, True)]
    masked = [_masked(orders[0], "nothing or a half", (0.0, 0.5)), _masked(orders[0], "a fifth", (0.2,))]
    if quick:
        return made + masked
    made += [_looks(orders[0], coupled) for coupled in (False, True)]
    made += [_other(order) for order in orders[1:]]
    made += [*masked, _other_rates(), _ratios(orders[0]), _robustness(orders[0]), _production(orders[0])]
    return [*made, _lengths(), _nulls()]


def _steps(order: int, coupled: bool) -> TablePlan:
    return TablePlan(
        f"order-{order}-{_sampling(coupled)}",
        f"Order {order} claimed, {_sampling(coupled)} points",
        f"Steps {', '.join(f'{HALVING**-k:g}' for k in range(STEPS))}, {FIRST_LOOK} chains at each, one look. {_coupling(coupled)}",
        _weighted(
            StepSetting(truth, order, noise, coupled)
            for truth in truths_of(order)
            for noise in _noises(truth)
        ),
    )


def _looks(order: int, coupled: bool) -> TablePlan:
    sizes = ", ".join(str(FIRST_LOOK * GROWTH**look) for look in range(LOOKS))
    return TablePlan(
        f"order-{order}-{_sampling(coupled)}-looks",
        f"Order {order} claimed, {_sampling(coupled)} points, three looks",
        f"{sizes} chains, until there is a verdict; the noise is that of the last look. {_coupling(coupled)}",
        _weighted(
            StepSetting(truth, order, noise, coupled, looks=LOOKS)
            for truth in truths_of(order, few=True)
            for noise in _noises(truth, BARRED)
        ),
    )


def _other(order: int) -> TablePlan:
    return TablePlan(
        f"order-{order}",
        f"Order {order} claimed",
        f"As for order {ORDERS[0]}, at one look. {_coupling(True)}",
        _weighted(
            (
                StepSetting(truth, order, noise, coupled)
                for coupled in (False, True)
                for truth in truths_of(order, few=True)
                for noise in _noises(truth, BARRED)
            ),
            BRIEFLY,
        ),
    )


def _masked(order: int, title: str, shares: Sequence[float]) -> TablePlan:
    return TablePlan(
        f"masked-{title.replace(' ', '-')}",
        f"Terms that no fit holds, hiding {title}",
        f"The fits hold powers up to h^{order + 2}, the last one shrunk. Much of it leaks into the lower orders, and may hide "
        "one of them at all steps that there are: what the procedure cannot tell apart, and a limit of its promise. "
        f"{_coupling(True)}",
        _weighted(
            (
                StepSetting(truth, order, noise, coupled)
                for coupled in (False, True)
                for share in shares
                for truth in masked_truths(order, share)
                for noise in BARRED
            ),
            BRIEFLY,
        ),
    )


def _other_rates() -> TablePlan:
    return TablePlan(
        "other-rates",
        "Rates between the powers of the fits",
        "Halves of an order, and h^k (1 + log 1/h) for h^k log h, which is slower than h^k by the logarithm alone. "
        f"{_coupling(True)}",
        _weighted(
            (
                StepSetting(truth, order, noise, coupled)
                for order in (1, 2)
                for coupled in (False, True)
                for truth in other_truths(order)
                for noise in BARRED
            ),
            BRIEFLY,
        ),
    )


def _ratios(order: int) -> TablePlan:
    return TablePlan(
        "step-ratios",
        "Other ratios of the steps",
        f"Order {order} claimed, at one look, on steps 1, 1/ratio, 1/ratio^2, ... {_coupling(True)}",
        _weighted(
            (
                StepSetting(truth, order, noise, coupled, steps=steps, ratio=ratio)
                for steps, ratio in SPREADS
                for coupled in (False, True)
                for truth in _around_the_margin(order)
                for noise in _noises(truth, BARRED)
            ),
            BRIEFLY,
        ),
    )


def _production(order: int) -> TablePlan:
    looks, growth = PRODUCTION
    sizes = ", ".join(str(FIRST_LOOK * growth**look) for look in range(looks))
    level = production_level()
    return TablePlan(
        "production",
        "The level of a call without settings",
        f"Order {order} claimed at the level {level:.1e}, by looks at {sizes} chains; the noise is that "
        f"of the last look. {_coupling(True)}",
        tuple(
            (
                StepSetting(truth, order, BARRED[0], True, looks=looks, growth=growth, level=level),
                OFTEN if truth.kind(order) == "keeps" else BRIEFLY,
            )
            for truth in _around_the_margin(order, (0.2,))
        ),
        level,
    )


def production_level() -> float:
    """The share of the default level of a call that a sampled rate gets."""
    return LevelShare(CALL).rate


def _around_the_margin(order: int, shares: Sequence[float] = (0.05, 0.2, 0.5)) -> list[Truth]:
    """A pure order, parts of the order below on either side of the margin, and zero."""
    below = f"order {order - 1}" if order > 1 else "a constant"
    names = [f"order {order}", *(f"{share:.0%} of {below} in order {order}" for share in shares), "zero"]
    return [truth for truth in truths_of(order) if truth.name in names]


def _robustness(order: int) -> TablePlan:
    K = float(order)
    below = f"order {order - 1}" if order > 1 else "a constant"
    truths = [
        Truth(f"order {order}", ((K, 1.0),)),
        Truth(f"5% of {below} in order {order}", ((K - 1, 0.05), (K, 0.95))),
        Truth(f"50% of {below} in order {order}", ((K - 1, 0.5), (K, 0.5))),
        Truth("zero", ()),
    ]
    laws = [(errors, False) for errors in ERRORS if errors != "Gaussian"] + [("Gaussian", True)]
    return TablePlan(
        "robustness",
        "Chains that are not Gaussian, errors that grow as the step falls",
        f"As above with single chains that are exponential (skewness 2) or Student's with {TAILS} degrees of freedom, and "
        "with standard errors that grow like h^-1/2, as they do for a fixed number of steps.",
        _weighted(
            (
                StepSetting(truth, order, noise, coupled, errors, growing)
                for errors, growing in laws
                for coupled in (False, True)
                for truth in truths
                for noise in _noises(truth, BARRED)
            ),
            BRIEFLY,
        ),
    )


def _lengths() -> TablePlan:
    order = 2
    settings: list[AnySetting] = []
    for quantity, alpha in (("bias", Fraction(1, 3)), ("mse", Fraction(1, 5))):
        a = float(alpha)
        truths = [
            Truth("the claimed rate", ((2 * a, 1.0),)),
            Truth("half a transient", ((2 * a, 0.5), (1 - a, 0.5))) if quantity == "mse" else
            Truth("half an order faster", ((2 * a, 0.5), (3 * a, 0.5))),
            Truth("order 1", ((a, 1.0),)),
            Truth("50% of order 1", ((a, 0.5), (2 * a, 0.5))),
            Truth("20% of a constant", ((0.0, 0.2), (2 * a, 0.8))),
            Truth("zero", ()),
        ]  # fmt: skip
        settings += [
            LengthSetting(truth, quantity, order, alpha, noise) for truth in truths for noise in BARRED
        ]
    return TablePlan(
        "lengths",
        "Rates in the length",
        f"Order {order} along h = C L^-alpha, alpha = 1/3 (bias) and 1/5 (mean square error), lengths {LENGTHS[0]} to "
        f"{LENGTHS[-1]}, {FIRST_LOOK} chains at each. The noise is a part of the bias at the shortest length and falls like "
        "L^-(1-alpha)/2. Shares are of the bias.",
        _weighted(settings, BRIEFLY),
    )


def _nulls() -> TablePlan:
    deviations = [
        ("as it should be", 0.0, 1.0),
        ("the mean off by 0.1 standard deviations", 0.1, 1.0),
        (f"the mean off by {MARGINS['mean']:g} standard deviations", MARGINS["mean"], 1.0),
        ("the variance 1.25 times as large", 0.0, 1.25),
        ("the variance twice as large", 0.0, math.exp(MARGINS["log variance"])),
        ("the variance half as large", 0.0, math.exp(-MARGINS["log variance"])),
    ]
    return TablePlan(
        "point-nulls",
        "Point nulls: mean and variance of single chains",
        f"Fresh samples of {FIRST_LOOK}, {FIRST_LOOK * 4} and {FIRST_LOOK * 16} chains at most. The noise is the standard error "
        f"of the mean at the first look. An acceptance must have been able to find a mean off by {MARGINS['mean']:g} and a "
        f"variance off by a factor of 2 in {POWER:.0%} of all samples; a smaller deviation may be called either way.",
        _weighted(NullSetting(*deviation, errors) for errors in ERRORS for deviation in deviations),
    )


def _weighted(settings: Iterable[AnySetting], share: float = 1.0) -> tuple[tuple[AnySetting, float], ...]:
    """Zero truths, on which verdicts are false most often, in full; noise levels without a bar `BRIEFLY`."""
    return tuple((setting, _share(setting, share)) for setting in settings)


def _share(setting: AnySetting, share: float) -> float:
    if isinstance(setting, NullSetting) or setting.truth.vanishes:
        return 1.0
    return share if setting.noise in BARRED else BRIEFLY


def _noises(truth: Truth, noises: Sequence[float] = NOISES) -> Sequence[float]:
    """A zero error has no size: the noise beside it is the same at every level."""
    return BARRED[:1] if truth.vanishes else noises


def _sampling(coupled: bool) -> str:
    return "coupled" if coupled else "independent"


def _coupling(coupled: bool) -> str:
    noise = "Noise: standard error of the mean at every step, as a part of the error at the largest."
    return f"{noise} Coupled: errors at different steps have correlation {COUPLING:g}." if coupled else noise
