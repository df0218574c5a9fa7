"""The densities and equations of appendix A of chen2015, by Fokker-Planck for every smooth U."""

from __future__ import annotations

from sgverify.checks.errata.definitions import (
    langevin_of_equation_10,
    thermostat_of_algorithm_3,
    update_of_algorithm_3,
)
from sgverify.checks.errata.formula import Examination, formula
from sgverify.checks.stationarity import printed_density
from sgverify.exact.series.operators import difference, generator_of, operator_text
from sgverify.exact.series.ring import Ring
from sgverify.exact.series.transition import transition_of_flow
from sgverify.exact.stationarity import Residual, stationarity_residual
from sgverify.schemes import Dynamics, kinetic
from sgverify.schemes.dynamics import thermostat

DIMENSIONS = (1, 2)
AT = {"T": 1}
"""The paper has no temperature."""


def density_of_10() -> Examination:
    """p(theta) = pi(theta), for equation (10) as printed."""
    found = _residuals(langevin_of_equation_10, "-U(theta)")
    return Examination(printed=_left(found), holds="", certificate=_shown("exp(-U)", found))


def density_of_11() -> Examination:
    """exp(-U + p.p/2)."""
    printed, mended = (_residuals(kinetic, f"-U(theta) {sign} dot(p, p)/2") for sign in "+-")
    return Examination(
        printed=_left(printed),
        holds=_left(mended),
        certificate={
            "witness": printed[0].witness,
            "integrable": printed[0].integrable,
            **_shown("exp(-U - p.p/2)", mended),
        },
    )


def density_of_12() -> Examination:
    """exp(-U - p.p/2 + (xi - D)^2/2), then with its sign mended, then with dim."""
    plus, minus, mended = (
        _residuals(thermostat, f"-U(theta) - dot(p, p)/2 {term}*(xi - D)**2/2")
        for term in ("+ 1", "- 1", "- dim")
    )
    return Examination(
        printed=_left(plus),
        holds=_left(mended),
        certificate={
            "witness": plus[0].witness,
            "integrable": plus[0].integrable,
            **_shown("with the sign alone mended, exp(-U - p.p/2 - (xi - D)^2/2)", minus),
            **_shown("exp(-U - p.p/2 - dim/2 (xi - D)^2)", mended),
        },
    )


def clock_of_12() -> Examination:
    """d xi = (p.p/n - 1) without dt, against the powers of h in which the update of Algorithm 3 moves xi."""
    ring = Ring(1, thermostat.shapes, ("D",), depth=4, draws=1, minibatches=1, cap=3)
    update = transition_of_flow(update_of_algorithm_3, ring, 2)
    along = tuple(int(name == "xi") for name, _ in ring.coordinates)
    moved = {j // 2: ring.text(update.at(j)[along]) for j in (0, 2) if along in update.at(j)}
    apart = difference(update.at(2), generator_of(thermostat_of_algorithm_3, ring), ring)
    return Examination(
        printed="" if 0 in moved else f"xi does not move at h^0; it moves by {moved.get(1)} at h^1",
        holds=operator_text(apart, ring) if apart else "",
        certificate={
            "E xi_1 - xi_0 of Algorithm 3, by powers of h": {f"h^{k}": text for k, text in moved.items()}
        },
    )


def _residuals(dynamics: Dynamics, text: str) -> list[Residual]:
    fixed = {name: value for name, value in AT.items() if name in dynamics.parameters}
    return [
        stationarity_residual(dynamics, printed_density(text, dynamics), dim, fixed) for dim in DIMENSIONS
    ]


def _left(found: list[Residual]) -> str:
    """What is left of Fokker-Planck over rho, "" where it is zero in every dimension."""
    return "; ".join(f"dimension {residual.dim}: {residual.text}" for residual in found if not residual.zero)


def _shown(name: str, found: list[Residual]) -> dict[str, str]:
    return {
        name: _left(found) or f"L* rho = 0 in dimension {', '.join(str(residual.dim) for residual in found)}"
    }


FORMULAS = (
    formula("chen2015/equation-10-density", density_of_10),
    formula("chen2015/equation-11", density_of_11),
    formula("chen2015/equation-12-clock", clock_of_12),
    formula("chen2015/equation-12", density_of_12),
)
