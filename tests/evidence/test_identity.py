from __future__ import annotations

import dataclasses
import json

import pytest

from sgverify.evidence import Document, canonical, encode, evidence_id


def test_the_id_reads_well_and_is_the_same_in_every_process():
    # The digits are a regression value: ids in files that people keep must not change.
    assert evidence_id("sghmc-aboba", "chen2015/theorem-4", "stationary-bias", {"friction": 2.0}) == (
        "theorem-4-sghmc-aboba-7541d2"
    )


def test_the_id_of_a_corrected_claim_says_so():
    assert evidence_id("a", "corrected/theorem-4", "c", {}).startswith("corrected-theorem-4-a-")


def test_a_scheme_in_a_file_has_an_id_without_odd_characters():
    assert evidence_id("my dir/Mine.py:aboba", "scheme/order", "local-order", {}).startswith(
        "order-my-dir-mine-py-aboba-"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"scheme": "other"},
        {"claim": "chen2015/theorem-5"},
        {"check": "bias"},
        {"configuration": {"friction": 2.5}},
    ],
)
def test_the_id_depends_on_each_part_of_the_question(evidence, change):
    assert dataclasses.replace(evidence, id="", **change).id != evidence.id


@pytest.mark.parametrize(
    "change",
    [{"seconds": 9.0}, {"verdict": "conforms"}, {"points": ()}, {"method": "proof"}, {"replay": "x"}],
)
def test_the_id_does_not_depend_on_the_answer(evidence, change):
    assert dataclasses.replace(evidence, id="", **change).id == evidence.id


def test_the_id_does_not_depend_on_the_order_of_keys_or_on_how_a_number_is_written():
    one = evidence_id("a", "b/c", "d", {"x": 2, "y": {"p": 1.5, "q": [1.0]}})
    assert one == evidence_id("a", "b/c", "d", {"y": {"q": (1,), "p": 1.5}, "x": 2.0})


def test_canonical_drops_what_may_differ_between_runs_and_nothing_else(document, evidence):
    slow = dataclasses.replace(document.provenance, seconds=99.0, command="other", platform="there")
    later = Document((dataclasses.replace(evidence, seconds=7.0),), slow)
    assert canonical(encode(document)) == canonical(encode(later))
    other = Document((dataclasses.replace(evidence, reason="Another."),), slow)
    assert canonical(encode(document)) != canonical(encode(other))
    kept = canonical(encode(document))
    assert json.dumps(kept).count("seconds") == 0 and "provenance" not in kept
    assert set(kept["evidence"][0]) == set(encode(document)["evidence"][0]) - {"seconds"}
