"""Benchmark: Fokker-Planck decided for every smooth potential, beside plain sympy with a function U of symbols."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import sympy as sp

from benchmarks.measuring import Row, Setting, compare, measure
from sgverify.exact.stationarity.fokker_planck import stationarity_residual
from sgverify.schemes import Dynamics, kinetic, langevin, riemannian_kinetic, riemannian_langevin, thermostat

BAR = 0.1
DYNAMICS = (langevin, kinetic, thermostat, riemannian_langevin, riemannian_kinetic)


def run(setting: Setting) -> Iterator[Row]:
    """Every dynamics of the catalogue in dimension 3, and the thermostat beside sympy."""
    for item in DYNAMICS[: 1 if setting.tiny else None]:
        timing = measure(partial(stationarity_residual, item, None, 3), setting)
        yield Row(f"stationarity of {item.name}, dim 3", timing, BAR)
    dim = 1 if setting.tiny else 3
    yield _beside_sympy(thermostat, dim, setting)


def _beside_sympy(item: Dynamics, dim: int, setting: Setting) -> Row:
    timing, peer = compare(
        lambda: stationarity_residual(item, None, dim).zero,
        lambda: residual_of_thermostat(dim) == 0,
        setting,
        same=lambda ours, theirs: ours == theirs,
    )
    return Row(
        f"stationarity of {item.name}, dim {dim}, beside sympy",
        timing,
        BAR,
        "div(F rho) and the second derivatives of rho by plain sympy, simplified",
        peer,
    )


def residual_of_thermostat(dim: int) -> Any:
    """L* rho / rho of the thermostat for a function U, differentiated and simplified as one would by hand."""
    theta, p = sp.symbols(f"theta1:{dim + 1}"), sp.symbols(f"p1:{dim + 1}")
    xi, friction, temperature = sp.Symbol("xi"), *sp.symbols("D T", positive=True)
    potential = sp.Function("U")(*theta)
    heat = sum(x**2 for x in p)
    rho = sp.exp(-(potential + heat / 2 + sp.Rational(dim, 2) * (xi - friction) ** 2) / temperature)
    total = -sum(sp.diff(x * rho, y) for x, y in zip(p, theta, strict=True))
    for x, y in zip(p, theta, strict=True):
        total -= sp.diff((-sp.diff(potential, y) - xi * x) * rho, x)
        total += friction * temperature * sp.diff(rho, x, 2)
    total -= sp.diff((heat / dim - temperature) * rho, xi)
    return sp.simplify(total / rho)
