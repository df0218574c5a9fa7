from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.making.claims import limits_of_refutations
from sgverify.evidence import Document, Found, Predicted
from sgverify.report.markdown import render_markdown
from sgverify.report.page.pages import render_page
from sgverify.report.text import counts, explain, sampled_together, summarise
from sgverify.report.wording import (
    SYMBOLS,
    claim_order,
    compared_text,
    error_name,
    exponent_text,
    found_text,
    predicted_text,
    rate_text,
)
from tests.report.conftest import PROVENANCE


@given(st.fractions(-9, 9, max_denominator=40))
def test_an_exponent_is_written_as_the_fraction_that_it_is(exponent):
    assert exponent_text(float(exponent)) == exponent_text(exponent) == str(exponent)


def test_an_exponent_that_is_no_small_fraction_is_rounded_and_not_taken_for_one():
    assert exponent_text(0.6666) == "0.667"
    assert exponent_text(None) == "—"


@pytest.mark.parametrize(
    "exponent, variable, text",
    [(2, "h", "h^2"), (Fraction(-2, 3), "L", "L^(-2/3)"), (None, "h", "—"), (2, "order", "order 2")],
)
def test_rates_read_as_formulas(exponent, variable, text):
    assert rate_text(exponent, variable) == text


def test_predictions_and_findings_read_as_sentences(evidence):
    by_check = {item.check: item for item in evidence if item.verdict == "conforms" and item.found.exponent}
    assert predicted_text(by_check["stationary-bias"]).startswith("h^")
    assert predicted_text(by_check["bias"]).startswith("L^(")
    assert predicted_text(by_check["local-order"]).startswith("order ")
    wide = dataclasses.replace(
        by_check["bias"], found=Found(-0.6, -0.7, -0.5), predicted=Predicted(-1, "sharp")
    )
    assert found_text(wide) == "L^(-3/5) [-7/10, -1/2]"
    assert predicted_text(wide) == "L^(-1) exactly"


def test_the_counts_name_every_outcome_and_add_up(evidence):
    counted = counts(evidence)
    assert set(counted) == set(SYMBOLS) and sum(counted.values()) == len(evidence)
    assert counted["fail"] == sum(item.verdict == "violates" and not item.refuted for item in evidence) == 1
    assert counted["refuted"] == sum(item.refuted for item in evidence) == 4
    assert counts([]) == dict.fromkeys(SYMBOLS, 0)


def test_a_summary_is_one_line_with_all_that_matters(evidence):
    for item in evidence:
        line = summarise(item)
        assert "\n" not in line
        for part in (item.scheme, item.claim, item.method, item.reason, compared_text(item)):
            assert part in line
        assert item.outcome in line


def test_the_long_form_has_statement_source_certificate_and_replay(evidence):
    item = next(item for item in evidence if item.refuted)
    text = explain(item)
    for part in ("rho_h", "(34)", "leading: 1/24", item.replay, item.id, item.reason, "refuted"):
        assert part in text


def test_a_huge_certificate_is_cut_with_a_note(evidence):
    text = explain(dataclasses.replace(evidence[0], certificate={"numbers": list(range(5000))}))
    assert len(text) < 8000 and "11, and 4988 more" in text


def test_a_claim_without_a_card_is_explained_too(evidence):
    assert "own/claim" in explain(dataclasses.replace(evidence[0], claim="own/claim"))


def test_a_quantity_that_vanishes_is_zero_and_not_a_gap(evidence):
    item = next(item for item in evidence if item.scheme == "second-a" and item.found.exponent is None)
    assert found_text(item) == "zero"
    assert found_text(dataclasses.replace(item, verdict="inconclusive")) == "—"
    assert found_text(dataclasses.replace(item, check="agreement")) == "—"


def test_a_logarithm_is_part_of_the_rate(evidence):
    item = next(item for item in evidence if item.check == "bias")
    item = dataclasses.replace(item, certificate={"logarithm": {"found": 1, "predicted": 0}})
    assert found_text(item).endswith(" log L") and "log" not in predicted_text(item)
    item = dataclasses.replace(item, certificate={"logarithm": {"found": 0, "predicted": 2}})
    assert " log^2 L or faster" in predicted_text(item) and "log" not in found_text(item)


def test_sampled_answers_say_how_sure_they_are_together(evidence):
    item = next(item for item in evidence if item.verdict == "conforms")
    assert sampled_together([item]) == ""
    sampled = [
        dataclasses.replace(item, method="monte-carlo", certificate={"level": level})
        for level in (1e-3, 4e-4, 1e-6)
    ]
    said = sampled_together([item, *sampled])
    assert said.startswith("3 sampled answers: the chance that any of them violates though nothing is wrong")
    assert "at most 0.0014" in said and "is false" not in said

    document = Document(tuple(sampled), PROVENANCE)
    assert "3 sampled answers" in render_markdown(document) and "3 sampled answers" in render_page(document)


def test_a_refuted_claim_is_told_with_where_it_conforms(evidence):
    lines = limits_of_refutations(evidence)
    refuted = {item.claim for item in evidence if item.refuted}
    assert len(lines) == len(refuted) and refuted
    for claim, line in zip(sorted(refuted, key=claim_order), lines, strict=True):
        conforming = [item for item in evidence if item.claim == claim and item.verdict == "conforms"]
        assert line.startswith(f"{claim}: refuted in ") and f"conforms in {len(conforming)}" in line
        assert all(item.scheme in line or " more" in line for item in conforming)
        assert "full gradients" in line or all(
            item.configuration.get("gradient", {}).get("kind", "full") != "full" for item in conforming
        )


def test_errors_of_grids_are_called_estimates(evidence):
    assert error_name(evidence[0]) == "error bound"
    on_a_grid = dataclasses.replace(
        evidence[0],
        certificate={**evidence[0].certificate, "error_bounds_are": "estimates, and no enclosures"},
    )
    assert error_name(on_a_grid) == "error estimate"
    exact = dataclasses.replace(on_a_grid, method="exact")
    assert "[exact, errors estimated]" in summarise(exact) and "by exact, errors estimated" in explain(exact)
    assert "[exact]" in summarise(dataclasses.replace(exact, certificate={"terms": 1}))
    assert error_name(dataclasses.replace(evidence[0], method="quadrature")) == "error estimate"


def test_what_conforms_says_what_would_have_been_found(evidence):
    item = next(item for item in evidence if item.verdict == "conforms")

    def said(verdict: str, *certificates: dict) -> str:
        return sampled_together(
            [
                dataclasses.replace(item, method="monte-carlo", verdict=verdict, certificate=certificate)
                for certificate in certificates
            ]
        )

    rate = {"level": 4e-4, "margin": 0.15}
    assert "1 conforms by the share of slower terms, of which up to 15%" in said("conforms", rate)
    assert "2 conform by" in said("conforms", rate, rate)
    assert "conform" not in said("violates", rate) and "conform" not in said("inconclusive", rate)
