from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

import pytest

from sgverify.report.writing import render_junit


@pytest.fixture
def root(document):
    return ElementTree.fromstring(render_junit(document))


def cases(root):
    return {case.get("name").rpartition(" ")[2]: case for case in root.iter("testcase")}


def test_there_is_a_case_for_each_piece_of_evidence(document, root):
    assert set(cases(root)) == {item.id for item in document.evidence}
    for item in document.evidence:
        case = cases(root)[item.id]
        assert case.get("classname") == item.claim and item.scheme in case.get("name")


def test_outcomes_become_what_the_contract_says(document, root):
    for item in document.evidence:
        children = [child.tag for child in cases(root)[item.id]]
        if item.refuted:
            assert children == ["system-out"]
        elif item.verdict == "violates":
            assert children == ["failure"]
        elif item.verdict in ("inconclusive", "not-applicable"):
            assert children == ["skipped"]
        else:
            assert children == []


def test_a_failure_says_why_and_how_to_replay_it(document, root):
    (failure,) = root.iter("failure")
    assert "The coefficient of h is 3/4, not 0." in failure.get("message")
    assert "Replay: sgverify rate second-b" in failure.get("message")
    assert "found" in failure.text


def test_the_totals_are_those_of_the_cases(root):
    for parent in (root, *root.iter("testsuite")):
        own = list(parent.iter("testcase"))
        assert parent.get("tests") == str(len(own))
        assert parent.get("failures") == str(len(list(parent.iter("failure"))))
        assert parent.get("skipped") == str(len(list(parent.iter("skipped"))))
        assert float(parent.get("time")) == pytest.approx(
            sum(float(case.get("time")) for case in own), abs=1e-9
        )


def test_characters_that_xml_has_no_form_for_do_not_break_it(document):
    item = dataclasses.replace(document.evidence[-1], reason="a\x00b\x1b[31m & <c> \ud800 ü")
    root = ElementTree.fromstring(render_junit(dataclasses.replace(document, evidence=(item,))).encode())
    (skipped,) = root.iter("skipped")
    assert "& <c>" in skipped.get("message") and "ü" in skipped.get("message")
