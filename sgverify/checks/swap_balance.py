"""Check: swaps leave the joint law of the replicas invariant, in the rule and in the code that runs it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Any, cast

import flint
from flint import arb

from sgverify.checks.composite_subject import CompositeSubject
from sgverify.checks.driven_energies import energy_faults, stream_faults
from sgverify.checks.driven_swaps import chance_faults, law_faults
from sgverify.checks.making import make_evidence
from sgverify.checks.subject import Subject
from sgverify.claims import Claim
from sgverify.evidence import Evidence
from sgverify.exact.ball import number
from sgverify.exact.exchange.acceptance import swap_chance
from sgverify.rates import Judgement
from sgverify.samplers.exchange import ExchangeChoice

CHECK = "swap-balance"

BITS = 128
DIFFERENCES = (Fraction(1, 2), Fraction(2))
"""Energy differences U1 - U2, in units of 1/(1/T1 - 1/T2)."""

VARIANCES = (Fraction(0), Fraction(1, 4), Fraction(4))
"""Variances of normal noise in the difference of two energies, in the same units squared."""


def check_swap_balance(subject: Subject, claim: Claim) -> Evidence:
    """Detailed balance of swaps with exp(-U1/T1 - U2/T2): of the rule under normal noise, and of the running code."""
    subject = cast(CompositeSubject, subject)
    flows = imbalances(subject)
    certificate: dict[str, Any] = {
        "log of flow over reverse flow": {name: value.str(6) for name, value in flows.items()},
        "noise": "normal, of the variance that the rule is told; that of a minibatch is normal only as its size grows",
    }
    faults = [
        f"under {name} the flow between two states and its reverse differ by the factor exp({value.str(4, radius=False)}): "
        f"F = {_choice(subject).correction:g} does not balance"
        for name, value in flows.items()
        if not value.overlaps(arb(0))
    ][:1]
    for faults_of in (chance_faults, law_faults, energy_faults, stream_faults):
        faults += faults_of(subject)
    if faults:
        judgement = Judgement("violates", False, "; ".join(faults[:2]))
    else:
        judgement = Judgement(
            "conforms",
            False,
            f"at {len(flows)} pairs of energies and noises the flows balance; the running code swaps with the rule's chance, "
            "changes the joint density as S says, and estimates energies and their variance on minibatches of their own",
        )
    return make_evidence(subject, claim, CHECK, method="exact", judgement=judgement, certificate=certificate)


def imbalances(subject: CompositeSubject) -> dict[str, arb]:
    """log of E min(1, S) exp(-U1/T1 - U2/T2) over its reverse, for each pair of neighbours, difference and noise; 0 balances.

    Without minibatches there is no noise. Read off the rule that runs, in balls.
    """
    choice, c, found = _choice(subject), subject.configuration, {}
    T = [Fraction(repr(c.temperature)) * Fraction(repr(float(value))) for value in choice.ladder]
    F = Fraction(repr(float(choice.correction)))
    noisy = c.gradient.kind not in ("full", "additive") and choice.energies != "exact"
    with flint.ctx.workprec(BITS):
        for k, (cold, hot) in enumerate(pairwise(T)):
            for u, s in product(DIFFERENCES, VARIANCES if noisy else VARIANCES[:1]):
                there, back = (swap_chance(sign * u, s, F=F, tau_1=cold, tau_2=hot) for sign in (1, -1))
                name = f"U1 - U2 = {u}/g, noise of variance {s}/g^2, T{k + 1} and T{k + 2}"
                found[name] = (there / back).log() - number(u)
    return found


def _choice(subject: CompositeSubject) -> Any:
    return subject.configuration.exchange or ExchangeChoice()


__all__ = ["check_swap_balance", "imbalances"]
