"""Check: an adaptively weighted run bends gradients, adapts weights and weighs draws as its rules are meant."""

from __future__ import annotations

from typing import cast

from sgverify.checks.adaptation_rules import rule_defects
from sgverify.checks.adaptation_run import CHAINS, STEPS, Escaped, run_defects
from sgverify.checks.composite_subject import CompositeSubject
from sgverify.checks.question import Question
from sgverify.checks.sampled_rung import run_seed
from sgverify.evidence import Evidence
from sgverify.rates import Judgement
from sgverify.samplers import Settings
from sgverify.schemes.composites import AdaptivelyWeighted
from sgverify.schemes.composites.adaptation import make_adaptation

STAGE = "adaptation"


def check_adaptation(question: Question) -> Evidence:
    """The weights, multipliers and averages of an adaptively weighted run are those of its rules, chain by chain.

    Put to given energies, the rules are held to what they are for: gradients and weights of draws undo one another, the
    weights stand still at the fixed point of the exact recursion, step sizes fall. A short run is then gone over again in
    plain numbers: the energies of its data, its gradients, its weights, its averages. Nothing of it is left to chance.
    """
    subject = cast(CompositeSubject, question.subject)
    composite, c = subject.composite, subject.configuration
    if not isinstance(composite, AdaptivelyWeighted):
        reason = f"{composite.name} has no weights that adapt"
        return question.unanswered(reason, "not-applicable")
    adaptation = make_adaptation(c.partition, subject.target, c.temperature, cumulative=not composite.contour)
    found = list(rule_defects(adaptation))
    steps = [subject.step, subject.step / 2]
    settings = Settings.of(c, seed=run_seed(subject, STAGE), chains=CHAINS, burn_in=0, thinning=1)
    try:
        found += run_defects(composite, subject.target, steps, settings)
    except Escaped as how:
        if not found:
            return question.unanswered(f"{how}, so that nothing was seen of the run; lower the step")
    partition = adaptation.partition
    certificate = {
        "regions": partition.bins,
        "low": partition.edges[0],
        "high": partition.edges[-1],
        "zeta": adaptation.zeta,
        "tau": adaptation.tau,
        "reweighted to": adaptation.temperature,
        "defects": found,
    }
    if found:
        judgement = Judgement("violates", False, "; ".join(found))
    else:
        judgement = Judgement(
            "conforms",
            False,
            f"at every edge of {partition.bins} regions gradients and weights undo one another, weights stand still at the exact "
            f"fixed point, and {STEPS} steps of {CHAINS} chains at 2 step sizes are those of the rules in plain numbers",
        )
    return question.evidence(judgement, certificate=certificate)
