"""Check: at which rate do the bounds of vr-resgld Theorems 2 and 3 fall with the step size, at fixed time and at fixed k?"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from sgverify.checks.question import Question
from sgverify.evidence import Evidence
from sgverify.exact.exchange.first_swap import FirstSwap
from sgverify.rates.verdict import Judgement

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
