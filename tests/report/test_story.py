"""The first screen: the sentence, the rows and the pictures follow the evidence."""

from __future__ import annotations

import dataclasses

from sgverify.claims.claim import Publication
from sgverify.evidence import Erratum
from sgverify.report.page.story import pictures_of, story_of

BOOK = Publication(title="A title", authors=("A", "B", "C"), year=2000, published="A journal")


def erratum(id, root, severity="consequence", affects="a rate is lost; more"):
    return Erratum(
        id=id, where="there", printed="1", read_as="1", holds="2", severity=severity, root=root, affects=affects,
        because="one", fails=True, method="proof", certificate={"difference": "1"},
    )  # fmt: skip


def test_the_sentence_names_the_chief_claim_and_who_was_asked(evidence):
    story = story_of(evidence, (), BOOK)
    printed = {
        item.claim for item in evidence if item.verdict != "not-applicable" and item.claim[:4] == "chen"
    }
    assert story.sentence == (
        "Theorem 4: the rate is lost where minibatches are drawn afresh and K >= 2. Theorem 4, asked with full gradients and "
        "independent (iid) minibatches of 10, fails for second-a, second-b, second-c and second-d; spared: first-a and first-b."
    )
    assert story.chief == "chen2015/theorem-4" and {row.id for row in story.rows} == printed
    fresh = [item for item in evidence if item.outcome != "fail"]
    assert (
        "Theorem 4, asked with fresh minibatches (iid), fails for second-a, "
        in story_of(fresh, (), BOOK).sentence
    )


def test_no_sentence_speaks_of_schemes_that_were_not_asked_or_are_spared(evidence):
    """A planted thermostat passes and another is undecided where the others fail: neither is in a word for all."""

    def like(scheme, **fields):
        (first,) = (i for i in evidence if i.scheme == "second-a" and i.outcome == "refuted")
        return dataclasses.replace(first, id="", scheme=scheme, refuted=False, **fields)

    fresh = [item for item in evidence if item.outcome != "fail"]
    more = [
        *fresh,
        like("thermostat-a", verdict="conforms"),
        like("thermostat-b", verdict="inconclusive"),
    ]
    said = story_of(more, (), BOOK).sentence
    assert "spared: first-a, first-b and thermostat-a; undecided: thermostat-b" in said
    assert "thermostat" not in story_of(fresh, (), BOOK).sentence
    assert not any(word in said for word in ("every", " all ", "no scheme"))


def test_errors_are_counted_once_each_and_by_what_they_weigh(evidence):
    """Ten statements that show one error are one; misprints and readings are no failing claims."""
    fresh = [item for item in evidence if item.outcome != "fail"]
    rows = [erratum(f"chen2015/theorem-4-{k}", "chen2015/root") for k in range(10)]
    rows += [erratum(f"chen2015/sign-{k}", "chen2015/signs", "typographical") for k in range(2)]
    rows += [erratum("chen2015/equation-9", "chen2015/equation-9", "reading")]
    rows += [
        erratum(
            "chen2015/algorithm-7-variance",
            "chen2015/algorithm-7-variance",
            affects="swaps are not corrected",
        )
    ]
    said = story_of(fresh, rows, BOOK).sentence
    assert said.startswith("Theorem 4: a rate is lost. Theorem 4, asked with ")
    assert said.endswith("Algorithm 7: swaps are not corrected. Besides: 1 misprint and 1 ambiguous reading.")
    light = [erratum("chen2015/sign-1", "chen2015/signs", "typographical")]
    passing = [item for item in fresh if item.outcome == "pass"]
    assert story_of(passing, light, BOOK).sentence.startswith("None of ")


def test_a_claim_that_fails_by_less_than_an_error_of_consequence_is_named_with_its_weight(evidence):
    slip = dataclasses.replace(
        evidence[0], id="", claim="awsgld/lemma-4", verdict="violates", refuted=True, reason="it is off; by 1"
    )
    assert story_of([slip], (), BOOK).sentence == (
        "No error of consequence was found. Lemma 4 fails by a slip: the average over x, which is what the proofs use, has the "
        "printed order."
    )


def test_claims_of_one_error_are_one_and_the_chief_one_comes_first(evidence):
    two = [
        dataclasses.replace(item, id="", verdict="violates", refuted=True)
        if item.claim == "chen2015/theorem-3"
        else item
        for item in evidence
        if item.outcome != "fail"
    ]
    assert story_of(two, (), BOOK).sentence.startswith("Theorem 3, and with it theorem 4: the rate is lost")


def test_the_sentence_follows_the_evidence(evidence):
    right = [
        dataclasses.replace(item, id="", refuted=False, verdict="conforms")
        for item in evidence
        if item.outcome in ("refuted", "pass")
    ]
    said = story_of(right, (), BOOK)
    assert (
        said.sentence.startswith("None of ")
        and said.sentence.endswith(" fails where it was tried.")
        and said.chief == ""
    )
    assert story_of((), (), BOOK).sentence == story_of(()).sentence == ""


def test_of_integrators_of_ones_own_the_sentence_speaks_and_of_no_paper(evidence):
    assert story_of(evidence).sentence == (
        "second-b: fail; second-c: undecided; first-a, first-b, second-a and second-d: pass."
    )


def test_the_error_that_shows_most_often_is_the_chief_one(evidence):
    two = [
        dataclasses.replace(item, id="", verdict="violates", refuted=True)
        if item.claim == "chen2015/theorem-2"
        else item
        for item in evidence
        if item.outcome != "fail"
    ]
    by_number = story_of(two).chief
    other = {"chen2015/theorem-2": "chen2015/theorem-4", "chen2015/theorem-4": "chen2015/theorem-2"}[
        by_number
    ]
    rows = [erratum(f"{other}-{part}", "chen2015/root") for part in ("bias", "mse")]
    assert story_of(two, rows).chief == other
    assert story_of(two, [erratum("chen2015/equation-1", "chen2015/equation-1")]).chief == by_number


def test_of_a_claim_without_a_rate_the_sentence_says_what_the_error_affects(evidence):
    first = dataclasses.replace(
        evidence[0],
        id="",
        claim="chen2015/theorem-14",
        verdict="violates",
        refuted=True,
        reason="it is off; by 1",
    )
    assert story_of([first], (), BOOK).sentence.startswith(
        "Theorem 14: an error of consequence in the formula; that the flows stay apart"
    )
    rows = [erratum("chen2015/theorem-14", "chen2015/theorem-14")]
    assert story_of([first], rows, BOOK).sentence.startswith("Theorem 14: a rate is lost. ")


def test_the_pictures_are_where_the_chief_claim_holds_and_where_it_fails(evidence):
    fresh = [item for item in evidence if item.outcome != "fail"]
    holds, fails = pictures_of(story_of(fresh), fresh)
    assert holds.quantity == fails.quantity == "stationary-bias"
    assert holds.group.startswith("Full gradients") and fails.group.startswith("Independent (iid)")
    assert {point.kind for curve in (*holds.curves, *fails.curves) for point in curve.points} == {"exact"}


def test_a_publication_is_cited_in_a_line():
    assert str(BOOK) == "A, B and C (2000). A title. A journal."
    assert str(dataclasses.replace(BOOK, authors=("A",), published="")) == "A (2000). A title."
