"""A question is asked once: facts, configurations and applicability are derived once for all checks of a subject."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import pytest

import sgverify
from sgverify.checks import facts
from sgverify.checks.question import STATED, Question
from sgverify.checks.rates.sampled import rates
from sgverify.checks.registry import find_check
from sgverify.claims import claims, find_claim
from sgverify.configuration import Configuration, load_configuration
from sgverify.errors import UnknownNameError, Unreached
from sgverify.subject.binding import make_subject
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject


@pytest.mark.power  # 2.0 s
def test_facts_are_derived_once_a_pair_is_judged_once_and_a_configuration_validated_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    derived: Counter[str] = Counter()
    applied: Counter[tuple[str, str]] = Counter()
    validated: list[object] = []
    for name, derive in facts.DERIVATIONS.items():

        def counted(subject, name=name, derive=derive):
            derived[name] += 1
            return derive(subject)

        monkeypatch.setitem(facts.DERIVATIONS, name, counted)
    judged = Question.__dict__["applicability"].func

    def applies(question: Question) -> tuple[bool, str]:
        applied[question.claim.id, question.quantity] += 1
        return judged(question)

    once = cached_property(applies)
    once.__set_name__(Question, "applicability")
    monkeypatch.setattr(Question, "applicability", once)
    plain = Configuration.model_validate
    monkeypatch.setattr(Configuration, "model_validate", lambda tree: validated.append(tree) or plain(tree))
    # A theorem on each kind of schedule, and its corrected card.
    sgverify.verify("sghmc-aboba", gradient={"kind": "iid"}, checks=["bias", "local-order"])
    assert derived and set(derived.values()) == {1}
    assert len(applied) > 10 and set(applied.values()) == {1}
    assert len(validated) == 1


def test_a_question_is_asked_on_the_schedule_of_its_claim_and_of_none_that_only_steps_have() -> None:
    subject = make_subject("sghmc-aboba", load_configuration())
    kinds = {
        (id, quantity): Question(subject, find_claim(f"chen2015/{id}"), quantity).schedule.kind
        for id, quantity in (("theorem-2", "bias"), ("theorem-5", "mse"), ("theorem-4", "stationary-bias"))
    }
    assert list(kinds.values()) == ["horizon", "power", "fixed"]
    chosen = make_subject("sghmc-aboba", load_configuration(schedule={"kind": "power"}))
    theorem = find_claim("chen2015/theorem-2")
    assert Question(chosen, theorem, "bias", kind="horizon").schedule.kind == "power"
    assert not Question(chosen, theorem, "bias").applicability[0]
    assert subject.configuration.schedule.kind == "fixed"


def test_every_quantity_of_a_card_has_a_check_and_another_is_refused_by_name() -> None:
    subject = make_subject("sghmc-aboba", load_configuration())
    for claim in claims().values():
        for quantity in claim.quantities:
            assert Question(subject, claim, quantity).check.name == quantity
    with pytest.raises(UnknownNameError, match="biass.*bias"):
        _ = Question(subject, find_claim(STATED), "biass").check


def test_chains_along_a_schedule_are_seeded_by_it_so_that_their_evidence_is_replayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Evidence holds the schedule of its question, and a replay knows no other configuration."""
    seeds = []

    def plan(subject: Subject, *_: object) -> None:
        seeds.append(run_seed(subject, "lengths"))
        raise Unreached("seen")

    monkeypatch.setattr(rates, "plan_lengths", plan)
    subject = make_subject("sgld-euler", load_configuration(), method="monte-carlo")
    asked = Question(subject, find_claim("chen2015/theorem-5"), "bias")
    stored = load_configuration(asked.check.sampler(asked).configuration)
    again = make_subject("sgld-euler", stored, method="monte-carlo")
    replayed = Question(again, asked.claim, "bias")
    replayed.check.sampler(replayed)
    assert seeds[0] == seeds[1] == run_seed(again, "lengths")
    assert asked.subject.under(asked.configuration).memory is subject.memory


def test_every_quantity_of_a_card_is_a_check() -> None:
    """Cards name what they predict by the names in the registry, which asks for them."""
    for claim in claims().values():
        for quantity in claim.quantities:
            assert find_check(quantity).name == quantity
