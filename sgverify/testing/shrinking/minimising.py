"""What is the simplest configuration under which a violation remains: the fewest keys off their defaults, in simple values?

Hypothesis shrinks the draws of a strategy, so that every key that the strategy draws stays in its example. This pass works on the
configuration itself: it removes keys, which then take their defaults.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sgverify.checks.applicable_claims import judge_pair
from sgverify.checks.registry import CHECKS
from sgverify.claims import Claim, find_claim
from sgverify.configuration import Configuration, load_configuration, tree_of
from sgverify.errors import SgverifyError, UserError
from sgverify.evidence import Evidence
from sgverify.schemes import Scheme, TorchStep
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from sgverify.testing.shrinking.simpler import (
    Tree,
    halves,
    jumps,
    lower,
    paths,
    simpler,
    value_at,
    with_value,
    without,
)
from sgverify.user_code import own_code

MOST_JUDGEMENTS = 200
"""The most configurations that a minimisation judges; it then ends with the simplest violation so far."""

MOST_SAMPLED = 24
"""The most configurations that a minimisation judges by sampled verdicts, which take seconds each and may err."""

Judge = Callable[[Configuration], Evidence | None]
"""The evidence that violates under a configuration, None where nothing does."""


@dataclass(frozen=True)
class Minimal:
    """The result of a minimisation; `judgements` counts the judged configurations."""

    configuration: Configuration
    evidence: Evidence
    judgements: int


def minimise(
    scheme: Scheme | TorchStep | str,
    configuration: Configuration,
    claim: str,
    *,
    quantity: str | None = None,
    most: int | None = None,
) -> Minimal:
    """The simplest configuration under which `scheme` violates `claim`, by greedy steps from `configuration`.

    The defaults are tried first, alone and with a single key or table of `configuration`. Then keys are removed one by one, and
    the remaining values are simplified. A change is kept if the same claim is still violated by the same method and, for a
    sampled verdict, another seed confirms the violation.
    `quantity` selects the check if the claim has several. The result depends on the arguments alone.
    Raises `UserError` if nothing is violated under `configuration`.

    >>> from sgverify.exact.readings.formula import plant
    >>> from sgverify.schemes import find_scheme
    >>> cold = plant(find_scheme("sgld-euler"), "sqrt(2*T*h)", "sqrt(2*h)")
    >>> given = load_configuration(temperature=2.5, start=1.7, gradient={"kind": "iid", "batch": 7})
    >>> found = minimise(cold, given, "chen2015/theorem-4", quantity="stationary-bias")
    >>> found.configuration.model_dump(exclude_unset=True)
    {'temperature': 2.0}
    """
    asked = find_claim(claim)
    names = [name for name in asked.quantities if name in CHECKS and quantity in (None, name)]
    if not names:
        raise UserError(
            f"quantity={quantity!r}: {claim} does not speak of it; expected one of {', '.join(asked.quantities)}"
        )
    subject = make_subject(scheme, configuration)

    def judge(configuration: Configuration) -> Evidence | None:
        return next(
            filter(None, (violation(ask(subject, configuration, asked, name)) for name in names)), None
        )

    evidence = judge(configuration)
    if evidence is None:
        raise UserError(
            f"claim={claim!r}: nothing violates under this configuration of {scheme!r}; expected one that violates the "
            "claim; see `sgverify verify`"
        )
    return descend(configuration, evidence, judge, most=most)


def minimise_violation(subject: Subject, evidence: Evidence, *, most: int | None = None) -> Minimal:
    """The minimal violation from violating evidence about a subject."""
    claim = find_claim(evidence.claim)

    def judge(configuration: Configuration) -> Evidence | None:
        return violation(ask(subject, configuration, claim, evidence.check))

    return descend(subject.configuration, evidence, judge, most=most)


def descend(
    configuration: Configuration, evidence: Evidence, judge: Judge, *, most: int | None = None
) -> Minimal:
    """Greedy steps from a configuration whose violation is known; `judge` says what still violates.

    A configuration that it refuses (`UserError`) is no step. `most` judgements are made, by default 200, and 24 where
    the verdict is sampled.
    """
    sampled = evidence.method == "monte-carlo"
    limit = MOST_SAMPLED if sampled else MOST_JUDGEMENTS
    search = _Search(judge, Minimal(configuration, evidence, 0), limit if most is None else most)
    # Most bugs show under one key; where a judgement is dear, halving goes down faster.
    search.first([{}] if sampled else jumps(search.tree))
    while search.first(halves(search.tree)):
        pass
    while True:
        before = search.tree
        for path in paths(before):
            if value_at(search.tree, path) is not None:
                search.first([without(search.tree, path)])
        search.first(lower(search.tree))
        for path in paths(search.tree):
            search.first(
                with_value(search.tree, path, value) for value in simpler(value_at(search.tree, path))
            )
        if search.tree == before:
            return search.found


@own_code()
def ask(subject: Subject, configuration: Configuration, claim: Claim, quantity: str) -> list[Evidence]:
    """The claim judged for the subject's scheme under another configuration.

    A sampled violation counts where another seed confirms it; else it is inconclusive, as the reason says.
    """
    other = subject_under(subject, configuration)
    other.validate()
    found = judge_pair(other, claim, quantity)
    first = violation(found)
    if first is None or first.method != "monte-carlo":
        return found
    seed = (configuration.seed + 1) % 2**63
    again = judge_pair(subject_under(subject, load_configuration(configuration, seed=seed)), claim, quantity)
    if violation(again) is not None:
        return found
    reason = f"seed={seed} does not confirm it: {first.reason}"
    return [replace(first, verdict="inconclusive", reason=reason)]


def violation(found: Sequence[Evidence]) -> Evidence | None:
    """The evidence that violates, without printed claims that fail for every scheme."""
    return next((item for item in found if item.verdict == "violates" and not item.refuted), None)


def subject_under(subject: Subject, configuration: Configuration) -> Subject:
    """The scheme under another configuration; its local order and its alphabet's proof are taken over."""
    other = replace(subject, configuration=configuration)
    if other.proof_dimension == subject.proof_dimension:
        # They depend on the scheme and the dimension alone; a proof may take longer than all the rest.
        vars(other).update(order=subject.order, alphabet=subject.alphabet)
        if "proved_order" in vars(subject):
            vars(other).update(proved_order=subject.proved_order)
    return other


class _Search:
    """The state of a minimisation: the configuration that violates, and the configurations judged before."""

    def __init__(self, judge: Judge, start: Minimal, most: int) -> None:
        self.found, self._judge, self._most = start, judge, most
        self._seen = {_key(self.tree)}

    @property
    def tree(self) -> Tree:
        return tree_of(self.found.configuration)

    def first(self, trees: Iterable[Tree]) -> bool:
        """Continue with the first of the trees that has the same violation; False if none has."""
        return any(self._goes(tree) for tree in trees)

    def _goes(self, tree: Tree) -> bool:
        count = self.found.judgements
        if count >= self._most or _key(tree) in self._seen:
            return False
        self._seen.add(_key(tree))
        try:
            configuration = load_configuration(tree)
        except UserError:
            return False
        try:
            evidence = self._judge(configuration)
        except SgverifyError:
            evidence = None
        here = self.found.evidence
        same = evidence is not None and (evidence.check, evidence.method) == (here.check, here.method)
        if evidence is not None and same:
            self.found = Minimal(configuration, evidence, count + 1)
        else:
            self.found = Minimal(self.found.configuration, here, count + 1)
        return same


def _key(tree: Tree) -> str:
    return json.dumps(tree, sort_keys=True)


__all__ = ["Minimal", "ask", "descend", "minimise", "minimise_violation", "violation"]
