from __future__ import annotations

import dataclasses

from sgverify.claims import claims
from sgverify.report.matrix import PROOFS, groups, settings_in_common


def test_every_piece_of_evidence_is_in_exactly_one_cell(evidence):
    placed = [
        item
        for group in groups(evidence)
        for claim in group.claims
        for scheme in group.schemes
        for item in group.cell(scheme, claim)
    ]
    assert len(placed) == len(evidence) and {item.id for item in placed} == {item.id for item in evidence}


def test_gradients_and_test_functions_make_groups_and_proofs_stand_first(evidence):
    titles = [group.title for group in groups(evidence)]
    assert titles == [
        PROOFS,
        "Full gradients, test function theta squared",
        "Independent (iid) minibatches of 10, test function theta squared",
        "Full gradients, test function theta",
        "Full gradients, test function p squared",
    ]


def test_what_is_the_same_everywhere_is_not_repeated_and_what_differs_is(evidence):
    assert not any("friction" in group.title for group in groups(evidence))
    last = evidence[-2]
    other = dataclasses.replace(last, id="", configuration={**last.configuration, "friction": 7.5})
    titles = [group.title for group in groups([*evidence, other])]
    assert "Full gradients, test function p squared, friction 7.5" in titles
    assert len(titles) == len(set(titles)) == 6


def test_a_title_has_no_key_that_tells_nothing_apart_and_always_names_the_target(evidence):
    item = evidence[1]
    table = {"correction": 2.0, "momentum": "rescaled"}
    mean = {"name": "gaussian-mean", "size": 1000}
    well = {"name": "double-well"}
    asked = [
        dataclasses.replace(item, id="", configuration={**item.configuration, **changes})
        for changes in (
            {"target": mean},
            {"target": well, "exchange": {"ladder": [1, 4], **table}},
            {"target": well, "exchange": {"ladder": [1, 20], **table}},
            {"target": well, "exchange": {"ladder": [1, 20], "refresh": 2, **table}},
        )
    ]
    assert [group.title for group in groups(asked)] == [
        "Full gradients, target gaussian-mean",
        "Full gradients, target double-well, exchange.ladder [1, 4]",
        "Full gradients, target double-well, exchange.ladder [1, 20]",
        "Full gradients, target double-well, exchange.ladder [1, 20], exchange.refresh 2",
    ]
    assert "exchange.correction 2.0" in settings_in_common(asked)


def test_a_setting_that_only_some_have_changed_is_not_common(evidence):
    item = next(item for item in evidence if item.method == "exact")
    asked = [
        dataclasses.replace(
            item, configuration={**item.configuration, "gradient": {"kind": "full", "scale": scale}}
        )
        for scale in (1.0, 1.1)
    ]
    told = [
        [text for text in settings_in_common(some) if "gradients times" in text]
        for some in (asked, asked[:1], asked[1:])
    ]
    assert told == [[], [], ["gradients times 1.1"]]


def test_a_claim_that_does_not_apply_is_no_proof(evidence):
    spoken, silent = evidence[0], dataclasses.replace(evidence[0], id="", verdict="not-applicable")
    assert [group.judged for group in groups([spoken, silent])] == [(spoken.claim,), ()]


def test_schedule_sweep_and_seed_are_no_part_of_the_question(evidence):
    item = evidence[1]
    moved = dataclasses.replace(
        item,
        id="",
        configuration={**item.configuration, "seed": 7, "schedule": {"kind": "power"}, "steps": 5},
    )
    assert len(groups([item, moved])) == 1


def test_claims_stand_in_the_cards_order_and_unknown_ones_last(evidence):
    other = dataclasses.replace(evidence[1], id="", claim="aaa/own")
    group = groups([*evidence, other])[1]
    known = [claim for claim in claims() if claim in group.claims]
    assert list(group.claims) == [*known, "aaa/own"]


def test_equal_answers_are_shown_once_and_different_ones_each(evidence):
    proof = evidence[0]
    again = dataclasses.replace(proof, id="", configuration={"gradient": {"kind": "iid", "batch": 10}})
    cell = groups([proof, again])[0]
    assert len(cell.cell(proof.scheme, proof.claim)) == 2
    assert cell.answers(proof.scheme, proof.claim) == (proof,)
    other = dataclasses.replace(again, verdict="inconclusive")
    assert groups([proof, other])[0].answers(proof.scheme, proof.claim) == (proof, other)


def test_no_evidence_makes_no_group():
    assert groups([]) == []
