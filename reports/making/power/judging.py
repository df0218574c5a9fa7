"""Every check on every planted bug, compared with the same check on the correct scheme."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from reports.making.power.kill_matrix import JudgedMutant, JudgedScheme, KillMatrix, Trial
from sgverify.checks.applicable_claims import judge_pair, pairs_of
from sgverify.checks.registry import CHECKS
from sgverify.claims import find_claim
from sgverify.errors import UnknownNameError, UserError
from sgverify.evidence import METHODS, Evidence
from sgverify.subject.subject import Subject
from sgverify.testing.planting import PlantError
from tests.mutants.mutant import CONFIGURATION, Mutant
from tests.mutants.planting import planted, right
from tests.mutants.registry import find_mutant, mutants
from tests.self_checks.finding import Finding
from tests.self_checks.registry import SELF_CHECKS

Pair = tuple[str, str]
"""A claim and a check, by name."""

DEFINED: Pair = ("a definition is proved well-formed when it is made", "definition")
SELF = "tests/self_checks"
"""In the place of a claim: the check is one of our tests of sgverify's own sampler, and no check of `verify`."""

CONFIGURED: Pair = ("a step that does not contract is refused", "configuration")


def chosen(names: Sequence[str] = (), family: str | None = None) -> tuple[Mutant, ...]:
    """The mutants of these names, or of a family, or all of them; raises `UnknownNameError`.

    A family is named in full or by a part of its name, in either case; of a part that several share, all are meant.
    """
    found = [find_mutant(name) for name in dict.fromkeys(names)] if names else list(mutants().values())
    if family is None:
        return tuple(found)
    families = _families(family)
    return tuple(mutant for mutant in found if mutant.family in families)


def _families(asked: str) -> list[str]:
    known = list(dict.fromkeys(mutant.family for mutant in mutants().values()))
    wanted = asked.strip().casefold()
    whole = [family for family in known if family.casefold() == wanted]
    found = whole or [family for family in known if wanted and wanted in family.casefold()]
    if not found:
        raise UnknownNameError("family", asked, known)
    return found


def groups(found: Iterable[Mutant]) -> list[tuple[str, ...]]:
    """The mutants' names in groups of equal scheme and settings, so that the correct scheme is judged once; largest first."""
    shared: dict[str, list[str]] = {}
    for mutant in found:
        shared.setdefault(repr((mutant.scheme, sorted(mutant.settings.items()))), []).append(mutant.name)
    return [tuple(names) for names in sorted(shared.values(), key=len, reverse=True)]


def judge_group(names: Sequence[str], first: bool = False) -> KillMatrix:
    """The mutants of one scheme under one configuration, and the correct scheme.

    With `first` a mutant is judged in the order of the methods until a check refutes it.
    """
    found = [find_mutant(name) for name in names]
    correct = Correct(found[0])
    correct.judged()
    return KillMatrix(
        configuration=dict(CONFIGURATION),
        mutants=tuple(_judge(mutant, correct, first) for mutant in found),
        correct=(correct.judged(),),
    )


def joined(parts: Iterable[KillMatrix]) -> KillMatrix:
    """One matrix of several, the mutants in the order of the catalogue."""
    parts = list(parts)
    places = {name: place for place, name in enumerate(mutants())}
    found = sorted((item for part in parts for item in part.mutants), key=lambda item: places[item.name])
    order = [(item.scheme, item.settings) for item in found]
    correct = sorted(
        (item for part in parts for item in part.correct),
        key=lambda item: order.index((item.scheme, item.settings)),
    )
    return KillMatrix(configuration=dict(CONFIGURATION), mutants=tuple(found), correct=tuple(correct))


def judge_one(mutant: Mutant, pair: Pair, correct: Correct) -> Trial:
    """The trial of a mutant by one pair of claim and check, compared with the correct scheme."""
    correct.trial(pair)
    with planted(mutant) as subject:
        return correct.compared(_trial(subject, pair))


class Correct:
    """The correct scheme of a mutant; its trials are computed when they are first needed.

    A trial must not be computed for the first time while a bug of the running code is planted.
    """

    def __init__(self, mutant: Mutant) -> None:
        self._mutant, self._subject = mutant, right(mutant)
        self._known: dict[Pair, Trial] = {}

    @property
    def pairs(self) -> list[Pair]:
        """The pairs of claims and checks that apply to the scheme."""
        return _pairs(self._subject)

    def trial(self, pair: Pair) -> Trial:
        """The trial of the correct scheme by one pair of claim and check."""
        if pair not in self._known:
            self._known[pair] = _trial(self._subject, pair)
        return self._known[pair]

    def compared(self, trial: Trial) -> Trial:
        """The trial of a mutant, a kill where it counts against it and not against the correct scheme."""
        kill = trial.against and trial.outcome != "crashed"
        return replace(trial, kill=kill and not self.trial((trial.claim, trial.check)).against)

    def judged(self) -> JudgedScheme:
        """The verdicts of all checks on the correct scheme."""
        for pair in [CONFIGURED, *self.pairs]:
            self.trial(pair)
        return JudgedScheme(
            scheme=self._mutant.scheme,
            settings=dict(self._mutant.settings),
            trials=tuple(self._known[pair] for pair in _in_order(self._known)),
        )


def _judge(mutant: Mutant, correct: Correct, first: bool) -> JudgedMutant:
    with ExitStack() as stack:
        try:
            subject = stack.enter_context(planted(mutant))
        except PlantError:
            raise
        except UserError as error:
            trials = [_ill_formed(error)]
        else:
            trials = list(_trials(subject, mutant, correct, first))
    return JudgedMutant(
        name=mutant.name,
        family=mutant.family,
        scheme=mutant.scheme,
        place=mutant.place,
        edits=mutant.edits,
        settings=dict(mutant.settings),
        reason=mutant.reason,
        source=mutant.source,
        trials=tuple(trials),
    )


def _trials(subject: Subject, mutant: Mutant, correct: Correct, first: bool) -> Iterator[Trial]:
    own = _pairs(subject) if mutant.in_definition else ()
    pairs = _in_order(dict.fromkeys([CONFIGURED, *correct.pairs, *own]))
    if first:
        pairs.sort(key=lambda pair: METHODS.index(correct.trial(pair).method))
    for pair in pairs:
        trial = correct.compared(_trial(subject, pair))
        yield trial
        if first and trial.kill:
            return


def _ill_formed(error: UserError) -> Trial:
    claim, check = DEFINED
    return Trial(claim=claim, check=check, method="proof", outcome="refused", kill=True, reason=str(error))


def _pairs(subject: Subject) -> list[Pair]:
    """The pairs that `verify` asks, and the self-checks that apply: bugs in sgverify's own sampler are theirs to find."""
    asked = [(claim.id, check) for claim, check in pairs_of(subject)]
    return asked + [(SELF, name) for name, check in SELF_CHECKS.items() if check.applies(subject)]


def _in_order(pairs: Iterable[Pair]) -> list[Pair]:
    """By the check's place in the registry; whether the configuration is taken at all comes first."""
    places: Mapping[str, int] = {
        name: place for place, name in enumerate((CONFIGURED[1], *CHECKS, *SELF_CHECKS))
    }
    return sorted(pairs, key=lambda pair: places[pair[1]])


def _trial(subject: Subject, pair: Pair) -> Trial:
    claim, check = pair
    if check == CONFIGURED[1]:
        return _timed(pair, lambda: _validated(subject))
    if claim == SELF:
        return _timed(pair, lambda: _of_finding(SELF_CHECKS[check].function(subject)))
    return _timed(pair, lambda: _of_evidence(pair, judge_pair(subject, find_claim(claim), check)))


def _timed(pair: Pair, ask: Callable[[], dict[str, Any]]) -> Trial:
    claim, check = pair
    started = time.process_time()
    try:
        found = ask()
    except UserError as error:
        found = {"method": "exact", "outcome": "refused", "reason": str(error)}
    except Exception as error:
        found = {"method": "exact", "outcome": "crashed", "reason": f"{type(error).__name__}: {error}"}
    spent = round(1000 * (time.process_time() - started), 1)
    return Trial(claim=claim, check=check, milliseconds=spent, **found)


def _validated(subject: Subject) -> dict[str, Any]:
    subject.validate()
    return {"method": "exact", "outcome": "conforms"}


def _of_finding(found: Finding) -> dict[str, Any]:
    telling = found.verdict in ("violates", "inconclusive")
    return {"method": found.method, "outcome": found.verdict, "reason": found.reason if telling else ""}


def _of_evidence(pair: Pair, evidence: list[Evidence]) -> dict[str, Any]:
    """A printed claim that fails by the paper's own error is judged by its corrected card, as `verify` does."""
    crashed = next((item for item in evidence if item.exception), None)
    if crashed is not None:
        return {"method": "exact", "outcome": "crashed", "reason": crashed.exception}
    last = evidence[-1]
    telling = last.verdict in ("violates", "inconclusive")
    return {
        "method": last.method,
        "outcome": last.verdict,
        "refuted": last.refuted,
        "reason": last.reason if telling else "",
    }
