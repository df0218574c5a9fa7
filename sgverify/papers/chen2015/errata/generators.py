"""The generators that chen2015 prints, against those of its own stochastic differential equations and updates.

A printed generator F . grad + a : (second derivatives) is written down as the dynamics that has it, and read by the
engine that reads every dynamics; an equation dX = F dt + sigma dW has a = sigma^2/2 (below equation (1)). The paper
has T = 1 throughout.

The densities and equations of appendix A of chen2015, by Fokker-Planck for every smooth U.
"""

from __future__ import annotations

from sgverify.checks.order.stationarity import printed_density
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.letters import prove_alphabet
from sgverify.exact.series.operators import (
    Operator,
    difference,
    generator_of,
    operator_text,
    ring_of,
    transition_of_flow,
)
from sgverify.exact.stationarity.fokker_planck import Residual, stationarity_residual
from sgverify.papers.chen2015.errata.definitions import (
    friction_with_a_step,
    kick_of_equation_9,
    kick_with_2d,
    kick_with_d,
    langevin_of_algorithm_1,
    langevin_of_equation_10,
    langevin_with_1,
    langevin_with_2,
    momentum_of_equation_11,
    momentum_with_2d,
    momentum_with_d,
    noise_of_kinetic,
    noise_with_minus,
    noise_with_plus,
    thermostat_of_algorithm_3,
    update_of_algorithm_1,
    update_of_algorithm_3,
)
from sgverify.papers.formula import Examination, formula
from sgverify.schemes import Dynamics, kinetic, langevin
from sgverify.schemes.catalogue.kinetic import CHEN
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
    """The residual of the Fokker-Planck equation over rho, "" where it is zero in every dimension."""
    return "; ".join(f"dimension {residual.dim}: {residual.text}" for residual in found if not residual.zero)


def _shown(name: str, found: list[Residual]) -> dict[str, str]:
    return {
        name: _left(found) or f"L* rho = 0 in dimension {', '.join(str(residual.dim) for residual in found)}"
    }


OF_DENSITIES = (
    formula("chen2015/equation-10-density", density_of_10),
    formula("chen2015/equation-11", density_of_11),
    formula("chen2015/equation-12-clock", clock_of_12),
    formula("chen2015/equation-12", density_of_12),
)


DIMENSION = 2


def compare(printed: Dynamics, equation: Dynamics, mended: Dynamics, **certificate: str) -> Examination:
    """The generator that is printed, and the one that is to hold, against that of the equation, for every smooth U."""
    ring = _ring(equation)
    derived = generator_of(equation, ring)
    return Examination(
        printed=_text(difference(generator_of(printed, ring), derived, ring), ring),
        holds=_text(difference(generator_of(mended, ring), derived, ring), ring),
        certificate={
            "generator of the equation": _text(derived, ring),
            **certificate,
            "dimension": f"{DIMENSION}; a term of a generator holds two coordinates at most, so that it shows every kind of term",
        },
    )


def kicks() -> Examination:
    """The generator of the letter O, also as the letter that runs has it."""
    runs = prove_alphabet(CHEN, DIMENSION, degree=2).generators["O"]
    return compare(
        kick_with_2d, kick_of_equation_9, kick_with_d, **{"generator of the letter O as it runs": runs}
    )


def momenta() -> Examination:
    """The generator of the momentum's equation."""
    return compare(momentum_with_2d, momentum_of_equation_11, momentum_with_d)


def positions() -> Examination:
    """The generator of the overdamped equation."""
    return compare(langevin_with_2, langevin_of_algorithm_1, langevin_with_1)


def friction() -> Examination:
    """The part L~_3 of the proof of Lemma 12, which with L~_2 is to be the true generator."""
    ring = _ring(friction_with_a_step)
    derived = generator_of(momentum_of_equation_11, ring)
    return Examination(
        printed=_text(difference(generator_of(friction_with_a_step, ring), derived, ring), ring),
        holds=_text(difference(generator_of(momentum_with_d, ring), derived, ring), ring),
        certificate={
            "generator of the momentum's equation": _text(derived, ring),
            "step": "stands for the printed h",
        },
    )


def equation_of_algorithm_1() -> Examination:
    """The generator that the update of Algorithm 1 approximates, read off from E f(X_1) at h^1, against (10)'s."""
    ring = Ring(DIMENSION, langevin.shapes, (), depth=4, draws=1, minibatches=1, cap=3)
    read = difference(transition_of_flow(update_of_algorithm_1, ring, 2).at(2), {}, ring)
    of_10 = generator_of(langevin_of_equation_10, ring)
    # With h for half of the time step, a unit of h is two units of the time of (10).
    doubled = {index: value + value for index, value in of_10.items()}
    slowed = _text(difference(doubled, read, ring), ring)
    return Examination(
        printed=_text(difference(of_10, read, ring), ring),
        holds=_text(difference(generator_of(langevin_of_algorithm_1, ring), read, ring), ring) + slowed,
        certificate={
            "(E f(X_1) - f)/h at h = 0, of the update as it runs": _text(read, ring),
            "twice the generator of (10) less that, as for an h of half the time step": slowed or "0",
        },
    )


def gradient_noise() -> Examination:
    """Delta V_l = L_l - L, of the kinetic dynamics with the gradient of a minibatch and with the full one."""

    ring = Ring(DIMENSION, noise_of_kinetic.shapes, ("D",), depth=4, draws=0, minibatches=2, cap=3)
    truth = generator_of(noise_of_kinetic, ring)
    return Examination(
        printed=_text(difference(generator_of(noise_with_plus, ring), truth, ring), ring),
        holds=_text(difference(generator_of(noise_with_minus, ring), truth, ring), ring),
        certificate={
            "L_l - L": _text(truth, ring),
            "minibatches": "U[0] is U, U[1] the minibatch's U~_l",
            "dimension": str(DIMENSION),
        },
    )


def _ring(equation: Dynamics) -> Ring:
    return ring_of(equation, DIMENSION, depth=4, cap=3)


def _text(operator: Operator, ring: Ring) -> str:
    kept = difference(operator, {}, ring)
    return operator_text(kept, ring) if kept else ""


OF_GENERATORS = (
    formula("chen2015/equation-8", kicks),
    formula("chen2015/equation-41", positions),
    formula("chen2015/equation-42-generator", momenta),
    formula("chen2015/equation-44", positions),
    formula("chen2015/lemma-12-friction", friction),
    formula("chen2015/appendix-i2-generator", kicks),
    formula("chen2015/appendix-j-generator", kicks),
    formula("chen2015/equation-10", equation_of_algorithm_1),
    formula("chen2015/delta-v", gradient_noise),
)

FORMULAS = (*OF_DENSITIES, *OF_GENERATORS)
