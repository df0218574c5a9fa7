"""Check: what the bounds of vr-resgld Theorems 2 and 3 say at a fixed time as the step size falls."""

from __future__ import annotations

from fractions import Fraction

from sgverify.checks.making import settled
from sgverify.checks.subject import Subject
from sgverify.claims import Claim
from sgverify.evidence import Evidence
from sgverify.rates import Judgement

CHECK = "exchange-bound"

PREFACTOR = {"k": Fraction(3, 2), "eta": Fraction(1)}
"""(9): d k^(3/2) eta (eta^(1/4) + delta^(1/4) + (m^2 eta/n)^(1/8))."""

TERMS = {"eta^(1/4)": Fraction(1, 4), "delta^(1/4)": Fraction(0), "(m^2 eta/n)^(1/8)": Fraction(1, 8)}
"""The powers of eta inside the brackets."""

TIME = 1.0
STEPS = tuple(10.0**-k for k in range(1, 9))


def check_exchange_bound(subject: Subject, claim: Claim) -> Evidence:
    """The printed bound of W2 at the time k eta = T: its power of eta, and its values along eta -> 0."""
    powers = {name: PREFACTOR["eta"] - PREFACTOR["k"] + power for name, power in TERMS.items()}
    grows = [name for name, power in powers.items() if power < 0]
    vacuous = bool(grows)
    values = {
        f"eta = {eta:g}": (TIME / eta) ** float(PREFACTOR["k"])
        * eta ** float(PREFACTOR["eta"])
        * sum(eta ** float(power) for name, power in TERMS.items() if name != "delta^(1/4)")
        for eta in STEPS
    }
    at_best = powers["(m^2 eta/n)^(1/8)"]
    reason = (
        "says nothing: at a fixed time k eta = T the printed bound grows without limit as eta -> 0, as "
        f"eta^({min(powers.values())}), and even without gradient noise as eta^({at_best}): any two laws are closer than that; at "
        f"fixed eta it grows as T^({PREFACTOR['k']})"
        if vacuous
        else "the printed bound stays finite at a fixed time: hold the laws against it, which is not done here"
    )
    return settled(
        subject,
        claim,
        CHECK,
        Judgement("not-applicable" if vacuous else "inconclusive", False, reason),
        method="proof",
        found=min(powers.values()),
        certificate={
            "vacuous": vacuous,
            "stated as vacuous on the card": claim.vacuous,
            "powers of eta at a fixed time": {name: str(power) for name, power in powers.items()},
            "k^(3/2) eta (eta^(1/4) + eta^(1/8)) at k eta = 1, no gradient noise, m^2 = n": values,
        },
    )
