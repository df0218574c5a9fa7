from __future__ import annotations

import dataclasses

from sgverify.report.answer import answers_of, assumed, untested


def test_each_scheme_has_one_answer_and_what_fails_stands_first(evidence):
    one = evidence[1]
    good = dataclasses.replace(one, id="", scheme="good", verdict="conforms", refuted=False)
    open_ = dataclasses.replace(good, id="", scheme="open", verdict="inconclusive", reason="too few")
    bad = dataclasses.replace(good, id="", scheme="bad", verdict="violates", reason="too slow")
    fallen = dataclasses.replace(bad, id="", scheme="good", refuted=True)
    found = {answer.scheme: answer for answer in answers_of([good, open_, bad, fallen])}
    assert list(found) == ["bad", "open", "good"]
    assert [answer.word for answer in found.values()] == ["fails", "undecided", "passes"]
    assert found["bad"].causes == (bad,) and found["open"].causes == (open_,)
    assert found["good"].causes == () and found["good"].refuted == (one.claim,)


def test_claims_that_nothing_settles_are_named_with_their_reason(evidence):
    one = dataclasses.replace(evidence[1], id="", claim="vr-resgld/lemma-1", verdict="conforms")
    silent = dataclasses.replace(one, id="", claim="vr-resgld/theorem-3", verdict="not-applicable")
    named = {item.claim: item.why for item in untested([one, silent])}
    assert "vr-resgld/lemma-1" not in named and "none of these settings" in named["vr-resgld/theorem-3"]
    assert "identity of path measures" in named["vr-resgld/lemma-c1"]
    assert not any(claim.startswith(("chen2015", "awsgld")) for claim in named)


def test_what_is_taken_for_granted_is_told_of_claims_that_were_judged(evidence):
    judged = dataclasses.replace(evidence[1], id="", claim="chen2015/theorem-4", verdict="conforms")
    assert any("Poisson" in text for text in assumed([judged]))
    assert not assumed([dataclasses.replace(judged, id="", verdict="not-applicable")])
