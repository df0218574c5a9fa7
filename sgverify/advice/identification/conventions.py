"""The recovered numbers as functions of the handed ones: which convention a step has, and what its law cannot separate.

A number such as the scheme's step size h' is recovered at several settings of (h, D, T). Where h' = c h^a D^b T^e at all of them,
with exponents that are multiples of 1/2, this monomial is the convention. Of the momentum's decay the monomial may be h' D' or
1 - exp(-h' D') as well.

What the law leaves open: with the gradient times g (N/n, say) and the mass m, where d theta = p/m dt and p has the variance m T,

    h' = h sqrt(g/m),  D' = D sqrt(m/g),  T' = T/g,   overdamped h' = h g,  T' = T/g,

so that for given (h', D', T') every g and m has the same law of theta.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import attrgetter

import numpy as np

from sgverify.advice.identification.fitting import Solution
from sgverify.law.observed import HandedNumbers

LEAST_ERROR = 2.0**-42
"""The relative error that numbers have at least: a monomial takes some logarithms and exponentials of them."""

PLAIN = tuple(2.0 ** (k / 2) for k in range(-2, 3))
"""The constants of conventions, 1/2, 1/sqrt(2), 1, sqrt(2), 2: such as a step size epsilon/2."""

LARGEST_EXPONENT = 4

_SYMBOLS = ("h", "D", "T")


@dataclass(frozen=True)
class Monomial:
    """constant h^a D^b T^e, `exponents` (a, b, e); `error` bounds the relative error of the constant."""

    constant: float
    exponents: tuple[Fraction, Fraction, Fraction]
    error: float = LEAST_ERROR

    def __str__(self) -> str:
        above, under = _constant(self.constant, self.error)
        named = list(zip(_SYMBOLS, self.exponents, strict=True))
        over = [above] * (above != "1") + [_power(name, power) for name, power in named if power > 0]
        below = [under] * (under != "1") + [_power(name, -power) for name, power in named if power < 0]
        text = "*".join(over) or "1"
        if not below:
            return text
        return f"{text}/{below[0]}" if len(below) == 1 else f"{text}/({'*'.join(below)})"

    @property
    def plain(self) -> bool:
        """Is the constant that of a convention?"""
        return any(self.is_near(c) for c in PLAIN)

    def is_near(self, value: float) -> bool:
        """Is this number the constant, up to its error?"""
        return abs(self.constant / value - 1) <= self.error

    def __mul__(self, other: Monomial) -> Monomial:
        a, b, c = (x + y for x, y in zip(self.exponents, other.exponents, strict=True))
        return Monomial(self.constant * other.constant, (a, b, c), self.error + other.error)

    def __truediv__(self, other: Monomial) -> Monomial:
        a, b, c = (-x for x in other.exponents)
        return self * Monomial(1 / other.constant, (a, b, c), other.error)

    def same(self, other: Monomial) -> bool:
        """Are two monomials equal, up to the error of recovered numbers?"""
        return self.exponents == other.exponents and (self / other).is_near(1.0)


def one(name: str) -> Monomial:
    """The monomial that is one handed number."""
    a, b, c = (Fraction(int(symbol == name)) for symbol in _SYMBOLS)
    return Monomial(1.0, (a, b, c))


def number(value: float) -> Monomial:
    """The monomial that is a constant."""
    return Monomial(value, (Fraction(0), Fraction(0), Fraction(0)))


def monomial(
    settings: Sequence[HandedNumbers], values: Sequence[float], errors: Sequence[float] = ()
) -> Monomial | None:
    """The monomial that a number is at these settings; None if it is none, or 0 or of changing sign.

    `errors` bound the relative errors of the values: the constants c_i of two settings may differ by the sum of theirs.
    """
    found = np.array(values, dtype=float)
    if not np.isfinite(found).all() or not (np.sign(found) == np.sign(found[0])).all() or found[0] == 0:
        return None
    logs = np.log([[s.h, s.D, s.T] for s in settings])
    ratios = np.linalg.lstsq(logs - logs[0], np.log(found / found[0]), rcond=None)[0]
    exponents = tuple(Fraction(round(2 * float(r)), 2) for r in ratios)
    if max(map(abs, exponents)) > LARGEST_EXPONENT:
        return None
    powers = np.exp(logs @ np.array([float(e) for e in exponents]))
    constants, bounds = found / powers, LEAST_ERROR + np.array(errors or [0.0] * len(found))
    if bounds.max() >= 0.5:
        # 0 may be among the values.
        return None
    if (np.abs(constants / constants[0] - 1) > bounds + bounds[0]).any():
        return None
    error = float(bounds[0])
    return Monomial(_rounded(float(constants[0]), error), (exponents[0], exponents[1], exponents[2]), error)


@dataclass(frozen=True)
class Convention:
    """The monomials of a recovered step by the name of each number, `own` those of a family; None where a number is none.

    "h*D" is the decay h' D', and "lost" is 1 - exp(-h' D'), the share of the momentum that is lost in a step.
    """

    laws: Mapping[str, Monomial | None]
    scales: Sequence[str]
    own: Sequence[str]
    damped: bool
    noiseless: bool

    def of_divided_gradients(self) -> Convention:
        """That of a step which is given U/T: beside second moments of gradients of U a floor is T times as large."""
        owned = {name: self.laws[name] for name in self.own}
        moved = {name: law / one("T") for name, law in owned.items() if law and any(law.exponents)}
        return replace(self, laws={**self.laws, **moved})

    @staticmethod
    def of(
        settings: Sequence[HandedNumbers],
        found: Sequence[Solution],
        scales: Sequence[str],
        own: Sequence[str],
    ) -> Convention:
        """The convention of the solutions at the settings, with the names of scales and of a family's own numbers."""
        numbers = [solution.numbers for solution in found]

        def law(values: Sequence[float], *names: str) -> Monomial | None:
            errors = [sum(solution.errors.get(name, 0.0) for name in names) for solution in found]
            return monomial(settings, values, errors)

        laws, damped = {name: law([n[name] for n in numbers], name) for name in numbers[0]}, "D" in numbers[0]
        if damped:
            decays = [n["h"] * n["D"] for n in numbers]
            # x exp(-x)/(1 - exp(-x)) <= 1: the share that is lost has no larger relative error than the decay.
            lost = [float(-np.expm1(-x)) for x in decays]
            laws |= {"h*D": law(decays, "h", "D"), "lost": law(lost, "h", "D")}
        return Convention(laws, scales, own, damped, all(n["T"] == 0 for n in numbers))


@dataclass(frozen=True)
class Reading:
    """The meaning of a convention: `odd` says which of its numbers are not those handed up to conventions.

    `sentences` name the convention, `gradient` is the factor of the gradient in these terms. `hot`: the temperature alone is odd,
    which is that of the noise as h -> 0 whatever scheme has the law.
    """

    odd: tuple[str, ...]
    sentences: tuple[str, ...]
    gradient: float
    hot: bool

    @property
    def named(self) -> bool:
        """Are its numbers those handed, up to conventions?"""
        return not self.odd


STEP_POWERS = {"overdamped": 1.0, "preconditioned": 0.0, "kinetic": 0.5}
"""The power of the gradient's factor g in the step size: h' = h g, h' = h, or h' = h sqrt(g)."""


def read_convention(
    convention: Convention, declared: Sequence[str], kind: str, factors: Mapping[str, float]
) -> Reading:
    """Name the convention of a step of a `kind` of `STEP_POWERS`.

    `declared` are the parameters that the step takes, `factors` those of N and n by their text.
    """
    damped, overdamped = convention.damped, kind == "overdamped"
    said: list[str] = []
    odd: list[str] = []
    gradient, mass = 1.0, 1.0
    T, h = convention.laws["T"], convention.laws["h"]
    if convention.noiseless:
        told = "no draw reaches its state: the temperature is 0"
        (odd if "T" in declared else said).append(f"{told}, where T was handed" if "T" in declared else told)
    elif T is None:
        odd.append("the temperature of the noise is no monomial in h, D and T")
    elif "T" not in declared:
        if any(T.exponents):
            odd.append(f"the temperature of the noise is {T}")
        else:
            said.append(f"it takes no temperature: that of its noise is {T}")
    elif T.same(one("T")):
        said.append("the temperature T is that of the noise")
    else:
        factor = _named_factor(one("T") / T, factors)
        if factor is None or not _gradient_shows(convention.laws, kind, factors[factor]):
            odd.append(f"the temperature of the noise is {T}, where T was handed")
        else:
            gradient = factors[factor]
            said.append(
                f"the temperature of the noise is {T}, with {factor} = {gradient:g}: either the gradient is multiplied by "
                f"{factor}, due where grad is a sum without that factor, or it samples exp(-{gradient:g} "
                "U/T); one step does not tell which"
            )
    hot = bool(odd)
    if h is None:
        odd.append("the step size is no monomial in h, D and T")
    else:
        h = h / number(gradient ** STEP_POWERS[kind])
        scaled = _time_scaled(h, convention.laws.get("h*D"), declared)
        if h.plain or overdamped:
            said.append(_step_words(h))
        elif scaled:
            mass = float(one("h").constant / h.constant) ** 2
            said.append(
                f"time is scaled by {h.constant:.9g}, or p has the mass {mass:.9g}: h D is that of the dynamics"
            )
        else:
            odd.append(f"the step size is {h}, where h was handed")
    if damped:
        _read_friction(convention.laws, declared, (gradient, mass) == (1.0, 1.0), said, odd)
    _read_scales(convention, gradient, mass, said)
    for name, own in ((name, convention.laws[name]) for name in convention.own):
        if own is None or any(own.exponents):
            odd.append(
                f"its {name} is {'no monomial in h, D and T' if own is None else own}, where a constant is due"
            )
    return Reading(tuple(odd), tuple(said), gradient, hot and len(odd) == 1)


def _gradient_shows(laws: Mapping[str, Monomial | None], kind: str, gradient: float) -> bool:
    """Is there a sign of the gradient's factor beside T' = T/g, which a noise that is too weak has as well?

    The factor shows in the step size, c g or c sqrt(g) times that of a convention, so that c = 1 speaks against it; where a second
    moment takes it out of the motion, it shows in the second moment's scale g^2.
    """
    scale, h = laws.get("V"), laws["h"]
    if kind == "preconditioned":
        return scale is not None and not scale.same(number(1.0))
    if h is None or h.is_near(1.0):
        return False
    return (h / number(gradient ** STEP_POWERS[kind])).plain or not h.plain


def _time_scaled(h: Monomial, decay: Monomial | None, declared: Sequence[str]) -> bool:
    """Is h' = c h with h' D' = h D: another unit of time, or a mass?"""
    linear = h.exponents == one("h").exponents and decay is not None
    return linear and ("D" not in declared or decay.same(one("h") * one("D")))  # type: ignore[union-attr]


def _read_friction(
    laws: Mapping[str, Monomial | None],
    declared: Sequence[str],
    plainly: bool,
    said: list[str],
    odd: list[str],
) -> None:
    """`plainly`: gradient and mass are those of the dynamics."""
    forms = [laws[name] for name in ("D", "h*D", "lost")]
    D, decay, _ = forms

    def first(texts: Sequence[str], wanted: Callable[[Monomial], bool]) -> str:
        pairs = zip(texts, forms, strict=True)
        return next((text.format(law) for text, law in pairs if law is not None and wanted(law)), "")

    if "D" not in declared:
        own = ("its own is {}", "its own has h' D' = {}", "the momentum loses the share {} in a step")
        told = first([f"it takes no friction: {text}" for text in own], lambda law: True)
    elif decay is not None and decay.same(one("h") * one("D")):
        plainly = plainly and D is not None and D.same(one("D"))
        told = "the friction D is that of the dynamics" if plainly else "the momentum decay is h D"
    else:
        kept = "the momentum keeps 1 - {} of itself in a step, in place of exp(-h D)"
        told = first(("the friction is {}", "the momentum decay h' D' is {}", kept), attrgetter("plain"))
        if not told and D is not None:
            odd.append(f"the friction is {D}, where D was handed")
            return
    (said if told else odd).append(told or "the friction is no monomial in h, D and T")


def _read_scales(convention: Convention, gradient: float, mass: float, said: list[str]) -> None:
    laws = convention.laws
    scale, h = laws.get("p"), laws["h"]
    if scale is not None and h is not None and not scale.same(number((gradient * mass) ** 0.5)):
        if scale.same(h):
            decay = laws.get("h*D") or laws.get("lost")
            told = f", momentum decay {decay}" if decay is not None else ""
            said.append(
                f"its momentum is v = h' p: the learning rate, which multiplies grad U, is {h * h}{told}"
            )
        else:
            said.append(f"its momentum is {scale} times p")
    for name, other in ((name, laws[name]) for name in convention.scales if name != "p"):
        if other is None or other.same(number(1.0)):
            continue
        if name.endswith(" offset"):
            said.append(f"its {name.removesuffix(' offset')} is moved by {other}")
        else:
            said.append(f"its {name} is {other} times that of the scheme")


def _step_words(h: Monomial) -> str:
    if h.same(one("h")):
        return "h is the step size"
    if h.same(Monomial(1.0, (Fraction(1, 2), Fraction(0), Fraction(0)))):
        return "h is a learning rate: the step size is sqrt(h)"
    if h.same(Monomial(0.5, (Fraction(1), Fraction(0), Fraction(0)))):
        return "h is epsilon, twice the step size, as in Welling and Teh 2011"
    return f"the step size is {h}"


def _named_factor(found: Monomial, factors: Mapping[str, float]) -> str | None:
    if any(found.exponents):
        return None
    return next((name for name, value in factors.items() if found.is_near(value)), None)


def factors_of(N: int | None, n: int | None) -> dict[str, float]:
    """The factors of a gradient that data and minibatches give, by their text; none without data."""
    if N is None:
        return {}
    n = min(n or N, N)
    found = {"N/n": N / n, "n/N": n / N, "1/N": 1 / N, "N": float(N), "1/n": 1 / n, "n": float(n)}
    return {name: value for name, value in found.items() if value != 1.0}


def _power(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    if power == Fraction(1, 2):
        return f"sqrt({name})"
    return f"{name}**{power}" if power.denominator == 1 else f"{name}**({power})"


def _rounded(value: float, error: float) -> float:
    """The simple number within the relative error of a recovered one, else the number itself."""
    near = float(Fraction(value).limit_denominator(64))
    return near if abs(value - near) <= error * abs(value) else value


def _constant(value: float, error: float) -> tuple[str, str]:
    """The constant as texts above and below a line."""
    if abs(value - round(value)) <= error * abs(value) and round(value):
        return f"{round(value)}", "1"
    if abs(1 / value - round(1 / value)) <= error * abs(1 / value):
        return "1", f"{round(1 / value)}"
    for shown, root in ((("sqrt(2)", "1"), 2**0.5), (("1", "sqrt(2)"), 2**-0.5)):
        if abs(value / root - 1) <= error:
            return shown
    return f"{value:.9g}", "1"
