"""Lines and groups of an answer: what follows from what, and whose matter a finding is."""

from __future__ import annotations

from dataclasses import replace

from sgverify.checks.registry import CHECKS
from sgverify.evidence import Evidence, Found, Predicted
from sgverify.verdict.findings import (
    MATTERS,
    clauses,
    findings_of,
    folded,
    follows,
    matter_of,
    said,
)
from sgverify.verdict.lines import Lines
from tests.tables import each_row


def evidence(
    check: str, verdict: str = "conforms", *, found: float | None = 1, kind: str = "full"
) -> Evidence:
    return Evidence(
        scheme="mine.py:heun",
        claim="sgverify/stated-order" if check == "local-order" else "chen2015/theorem-4",
        check=check,
        configuration={"gradient": {"kind": kind}},
        method="exact",
        predicted=Predicted(None if check == "pure-step" else 1),
        found=Found(None if check == "pure-step" else found),
        verdict=verdict,  # type: ignore[arg-type]
        reason="The reason has one sentence.",
    )


def test_every_check_has_a_matter_and_the_room_of_the_code_is_that_of_the_code() -> None:
    assert {check.matter for check in CHECKS.values()} == set(MATTERS)
    assert all(check.matter == "code" for check in CHECKS.values() if check.place.startswith("code."))
    assert CHECKS["local-order"].matter == "method" and CHECKS["mean-flow"].matter == "paper"


def test_a_refuted_claim_is_the_papers_matter_and_no_failure_of_the_method() -> None:
    refuted = replace(evidence("stationary-bias", "violates"), refuted=True)
    # The paper is named, and what its card says that the error weighs.
    assert (
        matter_of(refuted) == "paper"
        and said(refuted) == f"error in Chen, Ding, Carin 2015: {refuted.reason}"
    )
    assert not follows(refuted, evidence("local-order", "violates", found=0))


@each_row(
    ("cause", "consequence", "expected"),
    [
        (("local-order", 0, "full"), ("mse", "full"), True),
        (("local-order", 0, "full"), ("stationary-bias", "iid"), True),
        # A consistent step of too low an order leaves the rates to be judged by themselves.
        (("local-order", 1, "full"), ("mse", "full"), False),
        (("stationary-bias", 0, "full"), ("bias", "full"), True),
        (("stationary-bias", 0, "iid"), ("bias", "iid"), True),
        # With full gradients the law is right, and the average fails by itself.
        (("stationary-bias", 0, "iid"), ("bias", "full"), False),
        (("stationary-bias", 0, "full"), ("bias", "iid"), False),
        (("own-gradient", 0, "full"), ("pure-step", "full"), False),
    ],
)
def test_what_follows_from_what(
    cause: tuple[str, int, str], consequence: tuple[str, str], expected: bool
) -> None:
    first = evidence(cause[0], "violates", found=cause[1], kind=cause[2])
    second = evidence(consequence[0], "violates", found=0, kind=consequence[1])
    assert follows(second, first) == expected
    assert len(folded(findings_of([first, second]))) == 2 - expected
    # An answer that passes follows from nothing.
    assert not follows(evidence(consequence[0]), first)


def test_answers_that_say_the_same_are_one_line_and_no_line_is_too_wide() -> None:
    items = [evidence("stationary-bias"), replace(evidence("stationary-bias"), claim="own/claim")]
    items += [
        replace(evidence("pure-step", kind=kind), reason=f"under {kind}, " + "long " * 60)
        for kind in ("full", "iid")
    ]
    for width in (80, 100):
        lines = Lines("mine.py:heun", width)
        shown = [*lines.tell(items), *lines.end()]
        assert [line[:2] for line in shown[:4]] == ["Is", "  ", "Do", "  "]
        assert max(map(len, shown)) <= width and "full, iid" in shown[3]
        # A finding without clauses is told to its end, in lines under the first, and the method after it.
        rest = " ".join(shown[3:])
        assert rest.split().count("long") == 60 and rest.endswith("]") and "…" not in rest
        assert width < 100 or "[exact] theorem-4, claim" in shown[1]


def test_claims_that_do_not_apply_have_lines_on_request() -> None:
    item = evidence("local-order", "not-applicable")
    assert [*(lines := Lines("mine.py:heun")).tell([item]), *lines.end()] == []
    shown = [*(lines := Lines("mine.py:heun", everything=True)).tell([item]), *lines.end()]
    assert "○ n/a" in shown[1] and "The reason has one sentence." in shown[1]


@each_row(
    ("item", "expected"),
    [
        (evidence("consistency", found=-0.5), "found L^(-1/2), required to tend to 0"),
        # No failure reads as if it were as required.
        (evidence("consistency", "violates", found=0), "found L^0, required to tend to 0"),
        (evidence("bias", found=-0.5), "found L^(-1/2) at most, as required"),
        (evidence("mse", "violates", found=-0.25), "found L^(-1/4) at most, required L^(-1/2)"),
        (evidence("mse", found=-0.75), "found L^(-3/4) at most, required L^(-1/2)"),
        # An identity has no order, whatever its card holds.
        (evidence("swap-bound", found=None), "The reason has one sentence."),
        (evidence("swap-bound", "violates", found=None), "The reason has one sentence."),
    ],
)
def test_a_finding_names_what_was_found_and_what_is_required(item: Evidence, expected: str) -> None:
    exponent = {"consistency": 0, "bias": -0.5, "mse": -0.5}.get(item.check, 0)
    bound = replace(item.found, low=None, high=item.found.exponent)
    found = item.found if item.check == "consistency" else bound
    assert said(replace(item, predicted=Predicted(exponent), found=found)) == expected


def test_the_rate_of_a_law_before_escape_says_so() -> None:
    item = replace(evidence("stationary-bias"), claim="sgverify/quasi-stationary")
    assert said(item) == "found h^1, required h^1, before escape"


def test_a_line_shows_whole_clauses() -> None:
    text = "12 calls: equal arguments gave equal bits; U(x; t) is not read; no argument was written to"
    assert clauses(text, 100) == text
    assert clauses(text, 70) == "12 calls: equal arguments gave equal bits; U(x; t) is not read"
    assert clauses(text, 50) == "12 calls: equal arguments gave equal bits"
    assert (clauses(text, 20), clauses(text, 20, ":"), clauses(text, 7)) == ("", "", "")
    assert (
        clauses("the chains are not independent: theta[0] is one", 40, ":")
        == "the chains are not independent"
    )
    item = replace(evidence("pure-step"), reason=text)
    line = Lines("mine.py:heun", 100)
    shown = [*line.tell([item, replace(item, claim="own/claim")]), *line.end()][1]
    assert "equal bits  " in shown and shown.endswith("[exact]") and "…" not in shown
