"""Check: does the rule of the swaps leave the joint law of the replicas invariant?"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Any, cast

import flint
from flint import arb

from sgverify.checks.question import Question
from sgverify.evidence import Evidence, tried
from sgverify.exact.exchange.acceptance import swap_chance
from sgverify.exact.numbers.ball import number
from sgverify.rates.verdict import Judgement
from sgverify.samplers.composites.exchange import ExchangeChoice
from sgverify.subject.composite import CompositeSubject

BITS = 128
DIFFERENCES = (Fraction(1, 2), Fraction(2))
"""The tested energy differences U1 - U2, in units of 1/(1/T1 - 1/T2)."""

VARIANCES = (Fraction(0), Fraction(1, 4), Fraction(4))
"""The tested variances of normal noise in U1 - U2, in units of 1/(1/T1 - 1/T2)^2."""


def check_swap_balance(question: Question) -> Evidence:
    """Detailed balance of swaps with exp(-U1/T1 - U2/T2): of the rule, under normal noise.

    Cannot see: energy noise that is not normal, pairs of energies other than those that are computed, and how the
    replicas move between swaps.
    """
    subject = cast(CompositeSubject, question.subject)
    flows = imbalances(subject)
    certificate: dict[str, Any] = {
        "log of flow over reverse flow": {name: value.str(6) for name, value in flows.items()},
        "noise": "normal, of the variance that the rule is told; that of a minibatch is normal only as its size grows",
    }
    faults = [
        f"flow and reverse flow differ by exp({value.str(4, radius=False)}); under {name}: F = {_choice(subject).correction:g} "
        "does not balance"
        for name, value in flows.items()
        if not value.overlaps(arb(0))
    ][:1]
    if faults:
        judgement = Judgement("violates", False, faults[0])
    else:
        judgement = Judgement(
            "conforms",
            False,
            f"flows balance at {len(flows)} pairs of energies and noise: E min(1, S) over its reverse is the ratio of densities",
        )
    scope = question.scope(states=tried(f"{len(flows)} pairs of energies and noise"))
    return question.evidence(judgement, certificate=certificate, scope=scope)


def imbalances(subject: CompositeSubject) -> dict[str, arb]:
    """log of the flow E min(1, S) exp(-U1/T1 - U2/T2) over the reverse flow; 0 is detailed balance.

    One entry for each pair of neighbours, energy difference and noise variance; without minibatches there is no noise. The
    running rule is evaluated in ball arithmetic.
    """
    choice, c, found = _choice(subject), subject.configuration, {}
    T = [Fraction(repr(c.temperature)) * Fraction(repr(float(value))) for value in choice.ladder]
    F = Fraction(repr(float(choice.correction)))
    noisy = c.gradient.estimator.draws_data and choice.energies != "exact"
    with flint.ctx.workprec(BITS):
        for k, (cold, hot) in enumerate(pairwise(T)):
            for u, s in product(DIFFERENCES, VARIANCES if noisy else VARIANCES[:1]):
                there, back = (swap_chance(sign * u, s, F=F, tau_1=cold, tau_2=hot) for sign in (1, -1))
                name = f"U1 - U2 = {u}/g, noise of variance {s}/g^2, T{k + 1} and T{k + 2}"
                found[name] = (there / back).log() - number(u)
    return found


def _choice(subject: CompositeSubject) -> Any:
    return subject.configuration.exchange or ExchangeChoice()
