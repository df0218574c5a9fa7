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


def test_the_sentence_counts_the_claims_and_names_the_chief_one(evidence):
    story = story_of(evidence, (), BOOK)
    failing = {item.claim for item in evidence if item.outcome in ("refuted", "fail")}
    printed = {
        item.claim for item in evidence if item.verdict != "not-applicable" and item.claim[:4] == "chen"
    }
    assert story.sentence.startswith(
        f"{len(failing)} of {len(printed)} printed claims fails somewhere, chiefly theorem 4: "
    )
    assert story.sentence.endswith(
        "with independent (iid) minibatches of 10 and full gradients 4 of 6 schemes are slower."
    )
    assert story.chief == "chen2015/theorem-4" and {row.id for row in story.rows} == printed
    fresh = [item for item in evidence if item.outcome != "fail"]
    assert story_of(fresh).sentence.endswith(
        "chiefly theorem 4: with fresh minibatches every scheme is of first order."
    )


def test_the_sentence_follows_the_evidence(evidence):
    right = [
        dataclasses.replace(item, id="", refuted=False, verdict="conforms")
        for item in evidence
        if item.outcome in ("refuted", "pass")
    ]
    said = story_of(right)
    assert (
        said.sentence.startswith("None of ")
        and said.sentence.endswith(" fails where it was tried.")
        and said.chief == ""
    )
    second = [
        dataclasses.replace(item, id="", found=dataclasses.replace(item.found, exponent=2))
        for item in evidence
        if item.outcome != "fail"
    ]
    assert story_of(second).sentence.endswith("every scheme is of second order.")
    assert story_of(()).sentence == ""


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
    assert (
        story_of([first]).sentence == "1 of 1 printed claim fails somewhere, chiefly theorem 14: it is off."
    )
    rows = [erratum("chen2015/theorem-14", "chen2015/theorem-14")]
    assert story_of([first], rows).sentence.endswith("chiefly theorem 14: a rate is lost.")


def test_the_pictures_are_where_the_chief_claim_holds_and_where_it_fails(evidence):
    fresh = [item for item in evidence if item.outcome != "fail"]
    holds, fails = pictures_of(story_of(fresh), fresh)
    assert holds.quantity == fails.quantity == "stationary-bias"
    assert holds.group.startswith("Full gradients") and fails.group.startswith("Independent (iid)")
    assert {point.kind for curve in (*holds.curves, *fails.curves) for point in curve.points} == {"exact"}


def test_a_publication_is_cited_in_a_line():
    assert str(BOOK) == "A, B and C (2000). A title. A journal."
    assert str(dataclasses.replace(BOOK, authors=("A",), published="")) == "A (2000). A title."
