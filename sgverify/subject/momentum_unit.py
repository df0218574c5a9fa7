"""In which unit does a kinetic step measure its momentum? With p of another variance than T it may sample exp(-U/T) as well.

Its dynamics is dtheta = a q dt, dq = -(b grad U + k q) dt + sqrt(2 k v) dW with v = T b/a: a mass m has a = 1/m, and where q has
variance 1 at every T, b is 1/T. With p = q sqrt(a/b), the step c h, c = sqrt(a b), and the friction k/c it is the dynamics of
`kinetic`, and the step is read so.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from sgverify.errors import SgverifyError
from sgverify.schemes import Scheme, TorchStep, kinetic
from sgverify.schemes.definition.binding import FullGradientIngredient
from sgverify.schemes.definition.mathematics import sqrt
from sgverify.schemes.scheme import make_scheme

TOLD = "the momentum in the unit of kinetic"

STEPS = (2.0**-10, 2.0**-11, 2.0**-12)
SHARES = (1 / 3, -2.0, 8 / 3)
"""The weights with which moves over h at these steps give the limit: their error is of the third power of h, 1e-10."""

SETTINGS = ((0.5625, 1.375, 0.75, -1.25), (2.890625, 0.6875, -0.4375, 0.8125))
"""Generic numbers: T, D, theta and p."""

SLOPE = 1.1875
"""The gradient is this times theta."""

WITHIN = 1e-7
"""The relative error of a limit: above that of the extrapolation, and of rounding over h."""

LARGEST = 1000
"""The largest denominator of a factor that is exact in a definition."""

Step = TypeVar("Step", Scheme, TorchStep)
State = tuple[float, float]


@dataclass(frozen=True)
class MomentumPower:
    """factor T^(half/2)."""

    factor: Fraction
    half: int

    def __str__(self) -> str:
        power = {0: " at every T", 2: " T"}.get(self.half, f" T^({self.half}/2)")
        return f"{float(self.factor):.6g}{power}"

    @staticmethod
    def through(values: list[float]) -> MomentumPower | None:
        """The power of T that has these values at the settings; None if there is none."""
        (one, other), (first, second) = values, (setting[0] for setting in SETTINGS)
        if not one * other > 0 or not math.isfinite(one * other):
            return None
        half = round(2 * math.log(one / other) / math.log(first / second))
        factor = one / first ** (half / 2)
        near = Fraction(factor).limit_denominator(LARGEST)
        found = MomentumPower(near if abs(near - factor) <= WITHIN * abs(factor) else Fraction(factor), half)
        return found if found.near(other, second) else None

    def near(self, value: float, T: float) -> bool:
        """Is this its value at T?"""
        return math.isclose(float(self.factor) * T ** (self.half / 2), value, rel_tol=WITHIN)

    def times_root(
        self, value: Any, T: Any, root_of: Callable[[Any], Any], *, exact: bool, below: bool = False
    ) -> Any:
        """A value times the root of this power of T, or divided by it; `root_of` is the square root of its numbers."""
        root = root_of(self.factor if exact else float(self.factor))
        found, half = (value / root, -self.half) if below else (value * root, self.half)
        whole, rest = divmod(abs(half), 4)
        parts = [T] * whole + [root_of(T)] * (rest // 2) + ([root_of(root_of(T))] if rest % 2 else [])
        for part in parts:
            found = found * part if half > 0 else found / part
        return found


@dataclass(frozen=True)
class MomentumUnit:
    """a/b, a b and (c D/k)^2 of a step, each a power of T."""

    mass: MomentumPower
    pace: MomentumPower
    friction: MomentumPower

    @property
    def told(self) -> str:
        """The unit in words: by the variance of the momentum."""
        variance, step = MomentumPower(1 / self.mass.factor, 2 - self.mass.half), self.pace
        own = math.sqrt(step.factor) ** -1
        power = f" T^({-step.half}/4)" if step.half else ""
        return f"{TOLD}: its p has the variance {variance}, and its h is {own:.6g}{power} times the h that is told"


def in_own_unit(step: Step) -> Step:
    """The step itself, or with its momentum in the unit of the dynamics where it measures it in another one."""
    if (
        step.dynamics is not kinetic
        or step.memory
        or not {"grad", "T", "D"} <= set(step.declaration.ingredients)
    ):
        return step
    if isinstance(step, Scheme):
        unit = None if step.word is not None else _unit(lambda *at: _moved_definition(step, *at))
        if unit is None or any(part.factor.denominator > LARGEST for part in vars(unit).values()):
            return step
        made = make_scheme(_scaled(step, unit, sqrt, True), kinetic, order=step.order)
        told = f"{step.summary or step.name}; with {unit.told}"
        return replace(made, invariant_order=step.invariant_order, reference=step.reference, summary=told)
    if step.as_it_is is not None or step.own_loss is not None or step.generator:
        return step
    unit = _unit(lambda *at: _moved_code(step, *at))
    if unit is None:
        return step
    conventions = "; ".join(filter(None, (step.conventions, unit.told)))
    return replace(step, function=_scaled(step, unit, math.sqrt, False), conventions=conventions)


def told_unit(step: Scheme | TorchStep) -> str:
    """The unit in words; "" of a step that has that of its dynamics."""
    _, told, rest = (getattr(step, "conventions", "") or step.summary).partition(TOLD)
    return told + rest


def in_told_unit(step: Step) -> Step:
    """The step as it is written, with its momentum in its own unit."""
    found: Step = getattr(step.function, "in_told_unit", step)
    return found


def _scaled(
    step: Scheme | TorchStep, unit: MomentumUnit, root_of: Callable[[Any], Any], exact: bool
) -> Callable[..., Any]:
    function = step.function

    @functools.wraps(function)
    def scaled(theta: Any, p: Any, *, h: Any, T: Any, D: Any, **given: Any) -> Any:
        by = functools.partial(MomentumPower.times_root, T=T, root_of=root_of, exact=exact)
        q, own = by(unit.mass, p, below=True), by(unit.pace, h, below=True)
        theta, q = function(theta, q, h=own, T=T, D=by(unit.friction, D), **given)
        return theta, by(unit.mass, q)

    scaled.__signature__, scaled.in_told_unit = inspect.signature(function), step  # type: ignore[attr-defined]
    return scaled


def _unit(after: Callable[..., tuple[State, list[State]]]) -> MomentumUnit | None:
    """The unit of the momentum; None if it is that of kinetic, or if the step has no such dynamics."""
    try:
        found = [_limits(after, *setting) for setting in SETTINGS]
        for (T, *_), (a, b, k, variance, apart) in zip(SETTINGS, found, strict=True):
            if abs(apart) > WITHIN or not math.isclose(variance, 2 * k * T * b / a, rel_tol=WITHIN):
                return None
        mass = MomentumPower.through([a / b for a, b, *_ in found])
        pace = MomentumPower.through([a * b for a, b, *_ in found])
        settings = zip(SETTINGS, found, strict=True)
        friction = MomentumPower.through([a * b * (D / k) ** 2 for (_, D, *_), (a, b, k, *_) in settings])
    except (SgverifyError, ArithmeticError, AttributeError, NotImplementedError, TypeError, ValueError):
        # It takes other values than numbers, or draws of another law; or nothing moves.
        return None
    if mass is None or pace is None or friction is None or mass == MomentumPower(Fraction(1), 0):
        return None
    return MomentumUnit(mass, pace, friction)


def _limits(
    after: Callable[..., tuple[State, list[State]]], T: float, D: float, theta: float, p: float
) -> tuple[float, float, float, float, float]:
    """a, b, k and the variance of the noise of p over h; and what else moves theta."""
    found = [0.0] * 5
    for h, share in zip(STEPS, SHARES, strict=True):
        (x, q), _ = after(h, T, D, 0.0, p)
        (y, r), _ = after(h, T, D, theta, 0.0)
        still, kicked = after(h, T, D, theta, p)
        variance = sum((moved[1] - still[1]) ** 2 for moved in kicked)
        parts = (x / p, -r / (SLOPE * theta), (p - q) / p, variance, y - theta)
        found = [total + share * part / h for total, part in zip(found, parts, strict=True)]
    return found[0], found[1], found[2], found[3], found[4]


def _moved_definition(
    step: Scheme, h: float, T: float, D: float, theta: float, p: float
) -> tuple[State, list[State]]:
    """The state after a step without draws, and after one with each draw of 1 alone."""

    def after(draws: list[float]) -> State:
        left = iter(draws)
        gradient = FullGradientIngredient(lambda place: SLOPE * place)
        found = step.step((theta, p), h=h, T=T, D=D, dim=1, grad=gradient, noise=lambda: next(left))
        return float(found[0]), float(found[1])

    rows = [[float(i == k) for i in range(step.draws)] for k in range(step.draws)]
    return after([0.0] * step.draws), [after(row) for row in rows]


def _moved_code(
    step: TorchStep, h: float, T: float, D: float, theta: float, p: float
) -> tuple[State, list[State]]:
    # Imported here: a definition needs no torch.
    import torch

    from sgverify.samplers.intercepted.black_box import BlackBox
    from sgverify.samplers.intercepted.dtypes import default_dtype

    with default_dtype(torch.float64):
        box = BlackBox(step, lambda place, minibatch: SLOPE * place, 1, {"T": T, "D": D})
        one = torch.tensor([theta, p], dtype=torch.float64)
        state = step.tensors(one[None] if step.chains else one, 1)
        count = box.census(state, h)

        def after(draws: Any) -> State:
            found, _ = box.run(state, draws[None] if step.chains else draws, h)
            return float(found[0].double()), float(found[1].double())

        rows = torch.eye(count, dtype=torch.float64)
        return after(torch.zeros(count, dtype=torch.float64)), [after(row) for row in rows]
