"""Check: does replica exchange Langevin diffusion converge exponentially, and how much do swaps add (vr-resgld Theorem 1)?

And at which rate do the bounds of Theorems 2 and 3 fall with the step size, at fixed time and at fixed k?
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from flint import Ordering

from sgverify.checks.exchange.noisy_gaps import noisy_gaps
from sgverify.checks.question import Question
from sgverify.errors import ConfigurationError, Unreached
from sgverify.evidence import Evidence
from sgverify.exact.exchange.acceptance import mean_chance
from sgverify.exact.exchange.first_swap import FirstSwap
from sgverify.exact.exchange.generator import Cells, Energy, Replicas, graded_edges, wasserstein_bounds
from sgverify.exact.rings.polynomials import polynomials_in
from sgverify.exact.transfer.line.operator import Mass
from sgverify.rates.verdict import Judgement
from sgverify.schemes.composites.composite import inverse_gap, log_swap_rate
from sgverify.subject.composite import Ladder
from sgverify.subject.subject import Subject
from sgverify.targets import Target

LEVEL = 18.0
"""The line ends where the density is exp(-LEVEL) times that of the mode."""

RARE = 8.0
"""No initial law is placed where the density is below exp(-RARE) times that of the mode."""

GRIDS = ((32, 48), (64, 96))
"""The cells of a line for the gap and for its refinement; the second pair is used if the first is too coarse."""

OF_LAWS = 24
"""The cells of a line for laws at all times, which need every eigenvector."""

OF_ONE = 1500
"""The cells of a line for a single replica."""

INTENSITIES = (0.0, 0.1, 1.0, 10.0)
"""The intensities r of swaps, in units of the curvature of U (1/time)."""

SHOWN = 2
"""The index in INTENSITIES of the intensity whose transient law is followed."""

TIMES = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0])
"""The times at which W2 is bounded, in units of 1/gap."""

REFINED = 0.05
"""The largest relative difference of two grids' gaps; beyond it the check is inconclusive."""

ROUNDING = 1e-9
"""Balance and Dirichlet form are sums of 10^4 float64 terms of one size: their rounding is below 1e-12."""

GAIN = 1e-3


@dataclass(frozen=True)
class Gaps:
    """Spectral gaps over INTENSITIES on two grids, and the largest residuals of detailed balance and Dirichlet form."""

    coarse: tuple[float, ...]
    fine: tuple[float, ...]
    unbalanced: float
    form: float
    alone: float = 0.0

    @property
    def refinement(self) -> float:
        """The largest relative difference of the grids' gaps; without swaps, also to single replicas on `OF_ONE` cells."""
        apart = [abs(a - b) / b for a, b in zip(self.coarse, self.fine, strict=True)]
        return max(*apart, abs(self.fine[0] - self.alone) / self.alone)


def check_exchange_rate(question: Question) -> Evidence:
    """The Dirichlet form of (2), the spectral gap over the swapping rate, and W2 along the exact transient law on a grid.

    Cannot see: the errors of an algorithm: the diffusion is examined, for the two coldest replicas, in one dimension.
    """
    subject = question.subject
    identity = acceleration_left()
    line = ReplicaPair.of(subject)
    try:
        gaps = line.gaps()
        laws, late = line.distances(gaps.fine[SHOWN]) if gaps.fine else ([], (0.0, 0.0))
        noisy = noisy_gaps(subject, line) if gaps.fine else None
    except (Unreached, ConfigurationError) as error:
        return question.unanswered(f"no grid on the line; {error}")
    judgement = _judgement(identity, gaps, late)
    if judgement is not None and judgement.verdict == "conforms" and noisy is not None:
        judgement = noisy.judged(judgement)
    if judgement is None:
        reason = f"the grids are too coarse; the gaps of {GRIDS[1]} cells differ by {gaps.refinement:.2g} of their size"
        return question.unanswered(reason)
    return question.answered(
        judgement,
        certificate={
            "Gamma_S - vanilla - (r S/2)(f(x2, x1) - f(x1, x2))^2, for every smooth f and U": identity
            or "0 (proof: in one dimension, and each side is a sum over coordinates)",
            "unit of rates, the curvature of U": line.curvature,
            "spectral gap by r": {f"r = {r:g}": gap for r, gap in zip(INTENSITIES, gaps.fine, strict=False)},
            **(noisy.certificate if noisy else {}),
            "without swaps, each replica alone on a fine line": gaps.alone,
            "relative difference of grids": gaps.refinement if gaps.fine else None,
            "detailed balance left on the grid": gaps.unbalanced,
            "Dirichlet form left on the grid": gaps.form,
            f"W2 to the joint Gibbs law at r = {INTENSITIES[SHOWN]:g}, times in 1/gap: from below, from above": {
                f"t = {t:g}": list(bounds) for t, bounds in zip(TIMES, laws, strict=False)
            },
            "late rates of the two bounds, over the gap": list(late),
            "start": f"at {line.starts[0]:.6g} and {line.starts[1]:.6g}, or the nearest places where the replica's density is "
            f"above exp(-{RARE:g}) of its mode",
            "temperatures": [str(T) for T in line.ladder.pairs[0]],
        },
    )


@dataclass(frozen=True)
class ReplicaPair:
    """The two coldest replicas of a ladder on the line of a target."""

    ladder: Ladder
    energy: Energy
    hint: tuple[float, float]
    curvature: float
    starts: tuple[float, float]

    @staticmethod
    def of(subject: Subject) -> ReplicaPair:
        """The two coldest replicas of the subject's ladder on its target."""
        ladder, target = Ladder.of(subject), subject.target
        T = float(ladder.temperatures[0])
        centre, spread = float(target.location_float64(T)[0]), float(target.spread_float64(T)[0])
        cold, warm = (centre + subject.configuration.start_of(replica) * spread for replica in (0, 1))
        return ReplicaPair(
            ladder, _energy_of(target), target.hint(0), target.curvature_float64(T), (cold, warm)
        )

    def replicas(self, count: int, r: float, deviation: float = 0.0) -> Replicas:
        """The two replicas on `count` cells at intensity r, in units of the curvature; `deviation` is that of log S~'s noise."""
        cold, warm = self.temperatures
        variance = (deviation / inverse_gap(cold, warm)) ** 2

        def chance(first: np.ndarray, second: np.ndarray) -> np.ndarray:
            log_rate = log_swap_rate(first, second, tau_1=cold, tau_2=warm, variance=variance, F=2.0)
            if deviation:
                return mean_chance(log_rate, deviation**2)
            return np.asarray(np.exp(np.minimum(0.0, log_rate)))

        cells = Cells(graded_edges(*self._spans, count), self.energy)
        return Replicas(cells, cold, warm, r * self.curvature, chance)

    def gaps(self) -> Gaps:
        """The gaps over INTENSITIES, in units of the curvature, on the first grids that are fine enough."""
        found = self._gaps(GRIDS[0])
        too_coarse = bool(found.fine) and found.refinement > REFINED
        return self._gaps(GRIDS[1]) if too_coarse else found

    def _gaps(self, counts: tuple[int, int]) -> Gaps:
        found: list[tuple[float, ...]] = []
        unbalanced = form = 0.0
        for count in counts:
            made = [self.replicas(count, r) for r in INTENSITIES]
            f = np.sin(1.0 + np.arange(count * count, dtype=np.float64))
            for replicas in made:
                left, right = replicas.dirichlet(f)
                unbalanced, form = (
                    max(unbalanced, replicas.unbalanced),
                    max(form, abs(left - right) / abs(right)),
                )
            if max(unbalanced, form) > ROUNDING:
                # The gap is only defined for a reversible process.
                return Gaps((), (), unbalanced, form)
            found.append(tuple(replicas.gap() / self.curvature for replicas in made))
        alone = min(
            Cells(np.linspace(*span, OF_ONE + 1), self.energy).gap(T)
            for span, T in zip(self._spans, self.temperatures, strict=True)
        )
        return Gaps(found[0], found[1], unbalanced, form, alone / self.curvature)

    def distances(self, gap: float) -> tuple[list[tuple[float, float]], tuple[float, float]]:
        """Lower and upper bounds of W2 at TIMES, and the decay rates of both between the last two times, over the gap."""
        replicas = self.replicas(OF_LAWS, INTENSITIES[SHOWN])
        middles = replicas.cells.middles
        law = np.zeros((OF_LAWS, OF_LAWS))
        # A law cannot start where the stationary density is lost in rounding: the nearest cell with some density is used.
        places = []
        for start, temperature in zip(self.starts, self.temperatures, strict=True):
            rare = replicas.cells.heights / temperature > RARE
            places.append(int(np.argmin(np.where(rare, np.inf, abs(middles - start)))))
        law[places[0], places[1]] = 1.0
        laws = replicas.transient(law.ravel(), TIMES / (gap * self.curvature))
        bounds = [wasserstein_bounds(replicas, found) for found in laws]
        rates = np.log(np.array(bounds[-2]) / np.array(bounds[-1])) / (TIMES[-1] - TIMES[-2])
        return bounds, (float(rates[0]), float(rates[1]))

    @property
    def temperatures(self) -> tuple[float, float]:
        """The temperatures of the two replicas, the colder one first."""
        cold, warm = self.ladder.pairs[0]
        return float(cold), float(warm)

    @cached_property
    def _spans(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The intervals that contain the mass of the two replicas' laws."""

        def span(temperature: float) -> tuple[float, float]:
            return Mass.of(lambda x: self.energy(x) / temperature, *self.hint).interval(LEVEL)

        cold, warm = self.temperatures
        return span(cold), span(warm)


def acceleration_left() -> str:
    """Gamma_S(f) - tau (f')^2 - (r S/2) (g - f)^2 with g = f(x2, x1), as a polynomial in jets; "" where it is 0.

    Gamma(f) = L(f^2)/2 - f L f, with L f = -U' f' + tau f'' + r S (g - f). The values and derivatives of f, g and U are free
    variables, so that a vanishing polynomial proves the identity for every smooth f and U.
    """
    names = ("f", "f1", "f2", "g", "U1", "tau", "rS")
    context = polynomials_in(names, Ordering.lex)
    f, f1, f2, g, U1, tau, rate = context.gens()

    def generator(value, first, second, swapped):  # type: ignore[no-untyped-def]
        return -U1 * first + tau * second + rate * (swapped - value)

    of_square = generator(f**2, 2 * f * f1, 2 * f1**2 + 2 * f * f2, g**2)
    twice = of_square - 2 * f * generator(f, f1, f2, g)
    left = twice - 2 * tau * f1**2 - rate * (g - f) ** 2
    return "" if left == 0 else str(left)


def _judgement(identity: str, gaps: Gaps, late: tuple[float, float]) -> Judgement | None:
    if identity:
        return Judgement("violates", False, f"equation (2) leaves {identity}/2 of the carre du champ")
    if gaps.unbalanced > ROUNDING:
        reason = (
            f"swaps do not balance the joint Gibbs law; flows differ by {gaps.unbalanced:.3g} of the largest"
        )
        return Judgement("violates", False, reason)
    if gaps.form > ROUNDING:
        return Judgement("violates", False, f"-<f, L_S f> and equation (2) differ by {gaps.form:.3g}")
    if gaps.refinement > REFINED:
        return None
    first, *others = gaps.fine
    rises = all(b >= a * (1 - gaps.refinement) for a, b in pairwise(gaps.fine))
    if not rises:
        return Judgement("violates", False, f"the spectral gap falls with the swapping rate; {gaps.fine}")
    if min(late) <= 0:
        return Judgement("violates", False, "W2 to the joint Gibbs law does not fall at late times")
    gain = others[-1] / first
    told = (
        f"swaps raise the spectral gap {gain:.3g} times; from {first:.4g} to {others[-1]:.4g}"
        if gain > 1 + max(GAIN, gaps.refinement)
        else f"swaps leave the spectral gap at {first:.4g}; as far as the grids tell, the slowest function gains nothing"
    )
    return Judgement(
        "conforms",
        False,
        f"{told}; W2 to the joint Gibbs law falls exponentially, at {late[0]:.2f} of the gap at late times; the Dirichlet "
        "form gains (r/2) int S (f(x2, x1) - f(x1, x2))^2 d pi, proved",
    )


def _energy_of(target: Target) -> Energy:
    """U on the line; a quadratic U is evaluated by its exact mean and curvature, without a sum over the data."""
    if not target.quadratic:
        return target.energy_of_coordinate(0)
    centre, curvature = float(target.mean[0]), float(target.precision[0][0])
    return lambda x: np.asarray(curvature * (x - centre) ** 2 / 2)


PREFACTOR = {"k": Fraction(3, 2), "eta": Fraction(1)}
"""The powers of k and eta before the brackets in (9): d k^(3/2) eta (eta^(1/4) + delta^(1/4) + (m^2 eta/n)^(1/8))."""

TERMS = {"eta^(1/4)": Fraction(1, 4), "delta^(1/4)": Fraction(0), "(m^2 eta/n)^(1/8)": Fraction(1, 8)}
"""The power of eta in each term inside the brackets."""

FALLING = tuple(2.0**-k for k in range(12, 31, 3))
"""The step sizes along which the first swap is followed."""

CLOSE = 0.01
"""The tolerance within which a slope between the last two steps counts as a multiple of 1/8; its error, sqrt(eta), is 1e-4."""


def check_exchange_bound(question: Question) -> Evidence:
    """The printed bound of W2 at a fixed time k eta, where it is trivial, and at a fixed k, where it is a claim.

    Cannot see: numbers of steps between 1 and 1/eta, and settings other than the one that the certificate names.
    """
    powers = {name: PREFACTOR["eta"] - PREFACTOR["k"] + power for name, power in TERMS.items()}
    at_fixed_k = {name: PREFACTOR["eta"] + power for name, power in TERMS.items()}
    certificate: dict[str, Any] = {
        "vacuous": question.claim.vacuous,
        "powers of eta at a fixed time": {name: str(power) for name, power in powers.items()},
        "powers of eta at a fixed k": {name: str(power) for name, power in at_fixed_k.items()},
    }
    long = (
        f"at a fixed time k eta = T it grows without limit as eta -> 0, as eta^({min(powers.values())}), and even without gradient "
        f"noise as eta^({powers['(m^2 eta/n)^(1/8)']})"
    )
    if question.claim.vacuous:
        reason = (
            f"the bound says nothing; {long}, and at a fixed k its second term stays as large as the distance from which the "
            "chains start: no two laws are further apart"
        )
        judgement = Judgement("not-applicable" if min(powers.values()) < 0 else "inconclusive", False, reason)
        found = min(powers.values())
        return question.answered(judgement, method="proof", found=found, certificate=certificate)
    steps = [FirstSwap(eta) for eta in FALLING]
    below, above, tied = (
        _slope([getattr(step, name) for step in steps])
        for name in ("below", "above", "above_where_temperatures_swap")
    )
    certificate["W2 after one step, from replicas of equal energies: from below, from above"] = {
        f"eta = {step.eta:.3g}": [step.below, step.above] for step in steps
    }
    certificate["after two where temperatures are swapped in place of replicas, as in (34): from above"] = {
        f"eta = {step.eta:.3g}": step.above_where_temperatures_swap for step in steps
    }
    certificate["mean chance of a swap that noise takes, over sqrt(eta)"] = (
        steps[-1].missing / steps[-1].eta ** 0.5
    )
    certificate["setting"] = (
        "U = beta^2 of the data -1 and 1, full gradients, energies of one datum with their control, r = 1, F = 2"
    )
    predicted = question.prediction.exponent
    if below is None or below != above:
        reason = "the first swap determines no power of eta; its bounds from below and above fall at different ones"
        return question.answered(Judgement("inconclusive", False, reason), certificate=certificate)
    low, high = (getattr(steps[-1], side) / steps[-1].eta ** float(below) for side in ("below", "above"))
    told = (
        f"at a fixed k, after one step from replicas of equal energies, W2 is {low:.3g} eta^({below}) at least and "
        f"{high:.3g} eta^({below}) at most: noisy energies "
        "lose swaps in proportion to sqrt(eta), each of which moves mass from one replica's place to the other's"
    )
    if below < predicted:
        told += (
            f"; the bound is eta^({predicted}), and eta^({at_fixed_k['delta^(1/4)']}) with gradient noise. Where temperatures are "
            f"swapped in place of replicas, as (34) has it, W2 is at most of the order eta^({tied}), and the bound holds; where "
            f"k eta > 1, as the proof takes it, the bound holds of everything: {long}. Between the two, at k = eta^(-a) with "
            f"0 < a < 1, nothing was computed: if the lost swaps of k steps add up, W2 is k^(1/2) eta^({below}), more than the "
            f"bound where a < {_crossing(below, predicted)} and less beyond"
        )
        certificate["not computed"] = "k between 1 and 1/eta"
    return question.answered(
        Judgement("violates" if below < predicted else "conforms", below == predicted, told),
        found=below,
        certificate=certificate,
    )


def _crossing(below: Fraction, predicted: Fraction) -> Fraction:
    """The a at which k^(1/2) eta^below, W2 of as many lost swaps as steps, meets k^(3/2) eta^predicted, for k = eta^(-a)."""
    return (predicted - below) / (PREFACTOR["k"] - Fraction(1, 2))


def _slope(values: list[float]) -> Fraction | None:
    """The power of eta between the last two steps; None if it is not a multiple of 1/8 within `CLOSE`."""
    slope = math.log(values[-2] / values[-1]) / math.log(FALLING[-2] / FALLING[-1])
    near = Fraction(round(8 * slope), 8)
    return near if abs(slope - near) < CLOSE else None
