from __future__ import annotations

import dataclasses
import itertools

import pytest

from sgverify.evidence import VERDICTS, exit_code


def test_nothing_at_all_is_no_pass():
    assert exit_code([]) == 3


@pytest.mark.parametrize("verdicts", list(itertools.combinations_with_replacement(VERDICTS, 2)))
def test_the_exit_code_is_that_of_the_contract(evidence, verdicts):
    passed = "conforms" in verdicts and "inconclusive" not in verdicts
    expected = 1 if "violates" in verdicts else 0 if passed else 3
    given = [dataclasses.replace(evidence, verdict=verdict) for verdict in verdicts]
    assert exit_code(given) == exit_code(reversed(given)) == expected


def test_a_claim_refuted_as_printed_does_not_count(evidence):
    refuted = dataclasses.replace(evidence, refuted=True)
    assert exit_code([refuted]) == 3
    assert exit_code([refuted, dataclasses.replace(evidence, verdict="conforms")]) == 0
    assert exit_code([refuted, dataclasses.replace(evidence, verdict="inconclusive")]) == 3
    assert exit_code([refuted, evidence]) == 1
