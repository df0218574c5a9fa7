"""The average of a test function under exp(-(U + p.p/2)/T), with a bound of its error."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from flint import arb

from sgverify.errors import ConfigurationError, Unreached
from sgverify.exact.posterior.conjugate import conjugate_law
from sgverify.exact.posterior.polynomials import posterior_average
from sgverify.exact.posterior.tails import enclosed_average
from sgverify.schemes import exact
from sgverify.targets import Observable, Target, parse_observable
from sgverify.targets.line import LineAverages, average_on_peaks
from sgverify.targets.observable import Exponents

Method = Literal["exact", "certified", "quadrature", "stated", "importance sampling"]

_LOWEST_FIRST: tuple[Method, ...] = ("importance sampling", "stated", "quadrature", "certified", "exact")

Estimate = Callable[[Mapping[Exponents, Fraction]], tuple[float, float]]
"""A polynomial in theta, as {exponents: coefficient}, to an estimate of its average and the standard error of that.

Raises `Unreached` where it has none.
"""

STATED = 1e-3
"""The relative difference at which a stated average is refused; people state three digits."""


@dataclass(frozen=True)
class Reference:
    """E[phi] = value, within `error_bound`, and the method by which it was found.

    An average that is estimated from draws has a `standard_error` besides.
    """

    value: Fraction | float
    error_bound: float
    method: Method
    standard_error: float = 0.0

    def __float__(self) -> float:
        return float(self.value)


def reference_average(
    target: Target, observable: Observable, temperature: Any, estimate: Estimate | None = None
) -> Reference:
    """E[phi(theta, p)] under exp(-(U(theta) + p.p/2)/T), by the strongest method that applies.

    `exact` where U is quadratic, for the conjugate families and for a mixture of Gaussians at T = 1; as `stated` in the
    target's averages; in one dimension and for independent coordinates `certified`, an enclosure in ball arithmetic,
    and by `quadrature` where the potential is a black box or has very many data; p is N(0, T I), its moments exact. A
    stated average is taken at its word for the temperature at hand, error_bound 0. What none of these reaches is left to
    `estimate`, and raises `ConfigurationError` without one.
    """
    T = exact(temperature)
    if target.quadratic:
        return Reference(posterior_average(target, observable, temperature), 0.0, "exact")
    assert isinstance(T, Fraction)
    if target.components and T == 1:
        parts = (share * posterior_average(part, observable, T) for share, part in target.components)
        return Reference(sum(parts, Fraction(0)), 0.0, "exact")
    stated = _stated(target, observable)
    if observable.terms in stated.values():
        value = next(target.averages[text] for text, terms in stated.items() if terms == observable.terms)
        if target.dim == 1:
            _check_stated(observable, value, _of_groups(target, observable, T, {}, None))
        return Reference(value, 0.0, "stated")
    return _of_groups(target, observable, T, stated, estimate)


def _check_stated(observable: Observable, value: float, found: Reference) -> None:
    """Raise `ConfigurationError` for a stated average that quadrature contradicts: it would be counted as a scheme's bias."""
    if abs(value - float(found)) > STATED * abs(float(found)) + found.error_bound:
        raise ConfigurationError(
            f"target.averages: {str(observable)!r} is stated as {value:g}, and quadrature gives {float(found):.10g}; expected "
            "the average at this temperature; mend it or leave it out, as it is computed in one dimension"
        )


def _stated(target: Target, observable: Observable) -> dict[str, Any]:
    """The stated averages of test functions of the observable's state, as polynomials."""
    found = {}
    for text in target.averages:
        try:
            found[text] = parse_observable(text, target.dim, observable.state).terms
        except ConfigurationError:
            # An average of the momentum, for schemes that have one; its text was checked when the target was made.
            continue
    return found


def _of_groups(
    target: Target, observable: Observable, T: Fraction, stated: dict[str, Any], estimate: Estimate | None
) -> Reference:
    """sum over powers of p of E[p^b] E[f_b(theta)]: the momentum is independent of theta."""
    total: Fraction | float = Fraction(0)
    bound, error, methods = 0.0, 0.0, {"exact"}
    for powers, terms in _by_momentum(observable).items():
        factor = math.prod((_gaussian_moment(power, T) for power in powers), start=Fraction(1))
        if not factor:
            continue
        found = _of_theta(target, observable, terms, T, stated, estimate)
        total += factor * found.value if isinstance(found.value, Fraction) else float(factor) * found.value
        bound += float(factor) * found.error_bound
        # The groups share their draws: errors add up at most.
        error += float(factor) * found.standard_error
        methods.add(found.method)
    method: Method = next(name for name in _LOWEST_FIRST if name in methods)
    return Reference(total, bound, method, error)


def _of_theta(
    target: Target,
    observable: Observable,
    terms: dict[Exponents, Fraction],
    T: Fraction,
    stated: Any,
    estimate: Estimate | None,
) -> Reference:
    dim = target.dim
    if not any(any(exponents) for exponents in terms):
        return Reference(sum(terms.values(), Fraction(0)), 0.0, "exact")
    law = conjugate_law(target, T)
    if law is not None:
        return _within(law.average(terms), "exact")
    if dim == 1 or target.independent:
        certified = _enclosed(target, terms, T)
        if certified is not None:
            return certified
    if dim == 1:
        found = _on_line(target, 0, T, lambda x: _polynomial(terms, x)[None, :])
        return Reference(float(found.values[0]), float(found.error_bounds[0]), "quadrature")
    if target.independent:
        return _of_independent(target, terms, T)
    padding = (0,) * (dim * (len(observable.state) - 1))
    known = {next(iter(t)): text for text, t in stated.items() if len(t) == 1}
    total, unknown = 0.0, {}
    for exponents, coefficient in terms.items():
        text = known.get((*exponents, *padding))
        if any(exponents) and text is None:
            unknown[exponents] = coefficient
            continue
        size = 1.0 if text is None else target.averages[text] / float(stated[text][(*exponents, *padding)])
        total += float(coefficient) * size
    if not unknown:
        return Reference(total, 0.0, "stated")
    why = ""
    if estimate is not None:
        try:
            value, error = estimate(unknown)
            return Reference(total + value, 0.0, "importance sampling", error)
        except Unreached as reason:
            why = f", and importance sampling finds none: {reason}"
    named = str(Observable(dim, ("theta",), {next(iter(unknown)): Fraction(1)}))
    raise ConfigurationError(
        f"test_function={str(observable)!r}: its average under target.name={target.name!r} with dim={dim} is neither "
        f"exact nor within the reach of quadrature{why}; expected it to be stated; give e.g. "
        f"target.averages={{{json.dumps(named)} = 1.3}} with the value that you know, or take target.dim=1"
    )


def _enclosed(target: Target, terms: dict[Exponents, Fraction], T: Fraction) -> Reference | None:
    """The certified average, the float nearest to the middle of its enclosure; None where there is no enclosure."""
    try:
        ball = enclosed_average(target, terms, T)
    except Unreached:
        return None
    return _within(ball, "certified")


def _within(ball: arb, method: Method) -> Reference:
    """The float nearest to the middle of a ball, with the largest distance of a point of the ball as its bound."""
    value = float(ball.mid())
    return Reference(value, float((ball - value).abs_upper()) * (1 + 2**-50), method)


def _of_independent(target: Target, terms: dict[Exponents, Fraction], T: Fraction) -> Reference:
    """E[prod theta_i^a_i] = prod E[theta_i^a_i]; the bounds of the factors are multiplied out."""
    highest = [max(exponents[i] for exponents in terms) for i in range(target.dim)]
    moments = [
        _on_line(target, i, T, lambda x, top=top: np.stack([x**k for k in range(top + 1)]))  # type: ignore[misc]
        if top
        else None
        for i, top in enumerate(highest)
    ]
    total, bound = 0.0, 0.0
    for exponents, coefficient in terms.items():
        value, above = float(coefficient), abs(float(coefficient))
        for line, power in zip(moments, exponents, strict=True):
            if power and line is not None:
                value *= line.values[power]
                above *= abs(line.values[power]) + line.error_bounds[power]
        total += value
        bound += above - abs(value)
    # The products above round by a few units in the last place.
    return Reference(float(total), float(bound) + 1e-15 * abs(float(total)), "quadrature")


def _on_line(
    target: Target, place: int, T: Fraction, functions: Callable[[np.ndarray], np.ndarray]
) -> LineAverages:
    energy, temperature = target.energy_of_coordinate(place), float(T)

    def scaled(x: np.ndarray) -> np.ndarray:
        return energy(x) / temperature

    return average_on_peaks(scaled, functions, *target.hint(place), target.peaks)


def _by_momentum(observable: Observable) -> dict[Exponents, dict[Exponents, Fraction]]:
    groups: dict[Exponents, dict[Exponents, Fraction]] = {}
    for exponents, coefficient in observable.terms.items():
        of_theta, of_p = exponents[: observable.dim], exponents[observable.dim :]
        groups.setdefault(of_p, {})[of_theta] = coefficient
    return groups


def _gaussian_moment(power: int, variance: Fraction) -> Fraction:
    """E p^k for p ~ N(0, T): T^(k/2) (k - 1)!!, 0 for odd k."""
    if power % 2:
        return Fraction(0)
    return variance ** (power // 2) * math.prod(range(1, power, 2))


def _polynomial(terms: dict[Exponents, Fraction], x: np.ndarray) -> np.ndarray:
    return np.asarray(sum(float(coefficient) * x ** exponents[0] for exponents, coefficient in terms.items()))
