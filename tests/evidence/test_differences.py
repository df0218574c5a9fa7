"""Differences between two sets of answers: each planted one is seen and told as what it is, and stated errors are allowed."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy
import pytest

from sgverify.configuration import load_configuration
from sgverify.errors import UserError
from sgverify.evidence import (
    Erratum,
    Evidence,
    Found,
    Point,
    Predicted,
    Provenance,
    encode_evidence,
    write_errata,
    write_evidence,
)
from sgverify.evidence.answers import AnswersAt, AskedAnswer, read_answers
from sgverify.evidence.differences import AnswersDifference, difference
from sgverify.evidence.erratum import RefutingFamily
from sgverify.evidence.numbers import LEVEL, masked, quantile
from sgverify.evidence.storage import WholeAnswer
from sgverify.keeping import identity
from sgverify.keeping.identity import key_of
from sgverify.keeping.store import Store


@pytest.fixture
def passing(evidence: Evidence) -> Evidence:
    return replace(
        evidence,
        id="",
        configuration=load_configuration(friction=3.0).as_dict(),
        found=Found(2, 2, 2),
        verdict="conforms",
        reason="of order h^2; as predicted",
        certificate={
            "leading": {"h^2": "1/24", "h^4": "[0.125 +/- 1e-9]"},
            "posterior": {"value": 0.5, "error_bound": 1e-6},
            "powers": [1.0, 2.0],
            "error_bounds": [1e-3, 1e-12],
            "proved": True,
            "defect": "h^3 ( [-(1/12) p U''] d_theta )",
            "size": 7.25,
        },
    )


def compared(old: Any, new: Any, **options: Any) -> AnswersDifference:
    sides = [answers if isinstance(answers, list) else [answers] for answers in (old, new)]
    found = difference(
        *(AnswersAt("x", tuple(map(AskedAnswer.of_evidence, side))) for side in sides), **options
    )
    found.document()
    return found


def only(found: AnswersDifference) -> tuple[str, str, str]:
    """Direction, what changed and where, of the one change."""
    (change,) = found.changes
    (field,) = change.changes
    return change.direction, field.what, field.where


def with_certificate(item: Evidence, **entries: Any) -> Evidence:
    return replace(item, certificate={**item.certificate, **entries})


def test_equal_answers_do_not_differ_whenever_and_wherever_they_were_computed(passing: Evidence) -> None:
    found = compared(passing, replace(passing, seconds=77.0, replay="sgverify verify x"))
    assert found.same and not found.within and found.matched == 1
    assert [line for _, line in found.told()] == ["SAME: 1 question is answered on both sides, alike"]


def test_answers_are_matched_by_what_was_asked_and_not_by_place(passing: Evidence) -> None:
    others = [replace(passing, id="", claim=f"chen2015/theorem-{number}") for number in (2, 3)]
    assert compared([passing, *others], [*others, passing]).same
    found = compared([passing, others[0]], [others[0], others[1]])
    assert [
        (item.direction, item.asked.claim, item.old_outcome, item.new_outcome) for item in found.changes
    ] == [
        ("removed", "chen2015/theorem-4", "pass", None),
        ("added", "chen2015/theorem-3", None, "pass"),
    ]
    # A key that one version lacks is at its default; 3 and 3.0 are one setting.
    lacking = {key: value for key, value in passing.configuration.items() if key != "temperature"}
    assert compared(passing, replace(passing, id="", configuration={**lacking, "friction": 3})).same


@pytest.mark.parametrize(
    ("verdict", "refuted", "direction"),
    [
        ("violates", False, "worse"),
        ("inconclusive", False, "worse"),
        ("not-applicable", False, "worse"),
        ("violates", True, "worse"),
    ],
)
def test_a_pass_that_is_none_any_more_is_worse(
    passing: Evidence, verdict: Any, refuted: bool, direction: str
) -> None:
    other = replace(passing, verdict=verdict, refuted=refuted)
    assert only(compared(passing, other)) == (direction, "outcome", "outcome")
    assert only(compared(other, passing)) == ("better", "outcome", "outcome")


def test_a_rate_beyond_the_intervals_is_a_change_and_one_within_is_none(passing: Evidence) -> None:
    assert only(compared(passing, replace(passing, found=Found(1, 1, 1)))) == (
        "worse",
        "exponent",
        "found/exponent",
    )
    assert only(compared(replace(passing, found=Found(1, 1, 1)), passing))[0] == "better"
    assert only(compared(passing, replace(passing, found=Found())))[:2] == ("changed", "exponent")
    sampled = replace(passing, method="monte-carlo", found=Found(1.9, 1.7, 2.1))
    found = compared(sampled, replace(sampled, found=Found(2.2, 2.05, 2.35)))
    assert found.same and found.within[0].where == "found/exponent"
    assert "share a number" in found.within[0].decided and 0 < (found.within[0].largest or 0) < 1
    assert only(compared(sampled, replace(sampled, found=Found(1.5, 1.4, 1.6))))[0] == "worse"
    # In L exponents are negative: the larger one is the lower rate.
    long = replace(passing, predicted=Predicted(-1), found=Found(-1, -1, -1))
    assert only(compared(long, replace(long, found=Found(Fraction(-1, 2), -0.5, -0.5))))[0] == "worse"


def test_an_exact_value_changes_beyond_its_error_bounds_alone(passing: Evidence) -> None:
    def point(value: float | None, **more: Any) -> Evidence:
        note = {"note": "diverged"} if value is None else {}
        return replace(passing, points=(Point(step=0.01, value=value, error_bound=1e-6, **note, **more),))

    found = compared(point(1.0), point(1.0 + 1.9e-6))
    assert found.same and found.within[0].largest == pytest.approx(0.95, rel=1e-6)
    assert only(compared(point(1.0), point(1.0 + 2.1e-6))) == ("changed", "point", "points/exact at h = 0.01")
    assert only(compared(point(1.0), point(None, diverged=True)))[1] == "point"
    other = replace(passing, points=(Point(step=0.02, value=1.0),))
    assert len(compared(point(1.0), other).changes[0].changes) == 2


def test_sampled_values_change_beyond_a_quantile_of_all_that_are_compared(passing: Evidence) -> None:
    def points(values: list[float]) -> Evidence:
        rows = tuple(
            Point(step=0.01, length=length + 1, value=value, standard_error=0.1, kind="sampled")
            for length, value in enumerate(values)
        )
        return replace(passing, method="monte-carlo", certificate={}, points=rows)

    one, hundred = (quantile(count, 256) * 0.1 * math.sqrt(2) for count in (1, 100))
    assert one < hundred
    assert compared(points([0.0]), points([0.99 * one])).same
    assert not compared(points([0.0]), points([1.01 * one])).same
    # The same distance is none among a hundred.
    assert compared(points([0.0] * 100), points([1.01 * one] + [0.0] * 99)).same
    assert not compared(points([0.0] * 100), points([1.01 * hundred] + [0.0] * 99)).same


def test_equal_laws_seem_to_differ_as_seldom_as_is_stated(passing: Evidence) -> None:
    """400 comparisons of 20 averages of 4 chains each: no more than LEVEL of them, at a chance of 1e-4."""
    generator = numpy.random.default_rng(0)
    limit = quantile(20, 4)
    old, new = generator.standard_normal((2, 400, 20, 4))
    means = old.mean(-1) - new.mean(-1)
    errors = numpy.hypot(old.std(-1, ddof=1), new.std(-1, ddof=1)) / 2
    alarms = int((abs(means) > limit * errors).any(1).sum())
    assert alarms <= 400 * LEVEL + 4 * math.sqrt(400 * LEVEL)


@pytest.mark.parametrize(
    ("entries", "differs"),
    [
        ({"leading": {"h^2": "1/12", "h^4": "[0.125 +/- 1e-9]"}}, True),
        ({"leading": {"h^2": "1/24", "h^4": "[0.1250000015 +/- 1e-9]"}}, False),
        ({"leading": {"h^2": "1/24", "h^4": "[0.1250000021 +/- 1e-9]"}}, True),
        ({"leading": {"h^2": "1/24"}}, True),
        ({"posterior": {"value": 0.5 + 1.9e-6, "error_bound": 1e-6}}, False),
        ({"posterior": {"value": 0.5 + 2.1e-6, "error_bound": 1e-6}}, True),
        # A tighter bound is no change of the answer.
        ({"posterior": {"value": 0.5, "error_bound": 1e-9}}, False),
        ({"powers": [1.0019, 2.0]}, False),
        ({"powers": [1.0, 2.0019]}, True),
        ({"powers": [1.0, 2.0, 3.0]}, True),
        ({"proved": False}, True),
        ({"defect": "h^3 ( [-(1/24) p U''] d_theta )"}, True),
        ({"defect": "h^3 ( [-(1/12) p U'''] d_theta )"}, True),
        ({"size": 7.25 * (1 + 1e-12)}, False),
        ({"size": 7.25 * (1 + 1e-6)}, True),
    ],
)
def test_a_constant_changes_beyond_what_is_stated_of_it(
    passing: Evidence, entries: dict[str, Any], differs: bool
) -> None:
    found = compared(passing, with_certificate(passing, **entries))
    assert found.same is not differs
    if differs:
        assert only(found)[:2] == ("changed", "constant")


def test_numbers_of_samples_without_a_stated_error_are_named_and_not_judged(passing: Evidence) -> None:
    old = replace(passing, method="monte-carlo")
    found = compared(old, with_certificate(old, size=9.0))
    assert found.same and [(item.numbers, item.unjudged) for item in found.within] == [(0, 1)]
    assert "nothing is said of them" in list(found.told())[-1][1]


def test_a_weaker_method_is_worse_and_another_prediction_is_told(passing: Evidence) -> None:
    weaker = replace(passing, method="monte-carlo", certificate={"looks": 3})
    assert only(compared(passing, weaker)) == ("worse", "method", "method")
    assert only(compared(weaker, passing))[0] == "better"
    assert only(compared(passing, replace(passing, predicted=Predicted(1))))[1] == "prediction"
    assert only(compared(passing, replace(passing, sharp=True))) == ("better", "sharpness", "sharp")


def test_reasons_are_compared_by_their_first_clause_numbers_aside(passing: Evidence) -> None:
    assert compared(passing, replace(passing, reason="of order h^3; and something else")).same
    assert only(compared(passing, replace(passing, reason="nothing was measured; as predicted"))) == (
        "changed",
        "reason",
        "reason",
    )
    assert masked("96 chains at h = -1.5e-3: [0.5 +/- 1e-9], 1/2 of x_1") == "# chains at h = #: #, # of x_1"


def test_the_worst_comes_first(passing: Evidence) -> None:
    old = [replace(passing, id="", claim=f"x/{number}") for number in range(6)]
    new = [
        replace(old[0], id="", claim="x/new"),
        replace(old[1], reason="another; reason"),
        replace(old[2], verdict="inconclusive"),
        replace(old[3], verdict="violates"),
        replace(old[4], verdict="conforms", sharp=True),
        replace(old[5], id="", claim="x/failing", verdict="violates"),
    ]
    found = compared(old, new)
    assert [(item.direction, item.asked.claim) for item in found.changes] == [
        ("worse", "x/3"),
        ("added", "x/failing"),
        ("worse", "x/2"),
        ("removed", "x/0"),
        ("removed", "x/5"),
        ("changed", "x/1"),
        ("better", "x/4"),
        ("added", "x/new"),
    ]
    lines = [line for _, line in found.told()]
    assert lines[0] == "worse: pass -> fail, sghmc-aboba x/3 (stationary-bias) friction=3.0 (of order h^2)"
    assert lines[-1] == (
        "DIFFERENT: 4 questions are answered on both sides; 2 worse, 1 changed, 1 better, 2 removed, 2 added"
    )


def test_another_seed_matches_when_it_is_left_out(passing: Evidence) -> None:
    other = replace(passing, id="", configuration={**passing.configuration, "seed": 1})
    assert [item.direction for item in compared(passing, other).changes] == ["removed", "added"]
    assert compared(passing, other, apart=("seed",)).same
    nested = replace(
        passing, id="", configuration={**passing.configuration, "schedule": {"kind": "fixed", "step": 0.1}}
    )
    assert (
        not compared(passing, nested).same
        and compared(passing, nested, apart=("schedule.step", "dim.x")).same
    )
    with pytest.raises(UserError, match="one question twice"):
        compared([passing, other], passing, apart=("seed",))


def test_the_whole_answer_is_compared_too(passing: Evidence) -> None:
    def side(**fields: Any) -> AnswersAt:
        answer = WholeAnswer(
            **{"outcome": "pass", "not_tested": ("a",), "how_large": ({"bias": 0.25},), **fields}
        )
        return AnswersAt("x", (AskedAnswer.of_evidence(passing), AskedAnswer.of_whole(answer, passing)))

    assert difference(side(), side()).same
    assert only(difference(side(), side(outcome="fail"))) == ("worse", "outcome", "answer/outcome")
    assert only(difference(side(), side(cause_name="noise"))) == ("changed", "cause", "answer/cause_name")
    assert only(difference(side(), side(not_tested=("a", "b"))))[1] == "not tested"
    assert only(difference(side(), side(how_large=({"bias": 0.26},)))) == (
        "changed",
        "constant",
        "answer/how_large/0/bias",
    )


def erratum(**fields: Any) -> Erratum:
    given = {
        "id": "paper/equation-1", "where": "(1)", "printed": "x", "read_as": "x", "holds": "y", "severity": "local",
        "root": "paper/equation-1", "affects": "nothing", "because": "a sign", "fails": True, "method": "proof",
        "certificate": {"difference": "1/2"},
    }  # fmt: skip
    return Erratum(**{**given, **fields})


def test_errata_are_compared_in_what_falls_and_what_it_weighs() -> None:
    def side(**fields: Any) -> AnswersAt:
        return AnswersAt("x", (AskedAnswer.of_erratum(erratum(**fields)),))

    assert difference(side(), side(seconds=3.0)).same
    assert only(difference(side(), side(severity="consequence"))) == ("changed", "severity", "severity")
    assert only(difference(side(), side(certificate={"difference": "1/3"})))[1] == "constant"
    assert only(difference(side(), side(fails=False))) == ("better", "outcome", "errata")
    assert only(difference(side(), side(finite="the constant"))) == ("changed", "constant", "finite")
    family = RefutingFamily(
        along="m -> infinity",
        hypotheses="every p_i = o(p_1)",
        ratios=(1.5, 1.6, 1.6),
        gaps=(0.1, 0.01, 0.001),
        printed=1,
    )
    other = replace(family, ratios=(1.4, 1.5, 1.5))
    (change,) = difference(side(family=family), side(family=other)).changes
    assert {field.where.partition("[")[0] for field in change.changes} == {"family/ratios"}
    assert difference(side(fails=False), side()).changes[0].direction == "worse"


def test_files_and_folders_are_read_and_all_else_is_refused_by_name(
    passing: Evidence, provenance: Provenance, tmp_path: Path
) -> None:
    file, folder = tmp_path / "one.json", tmp_path / "report"
    folder.mkdir()
    write_evidence(file, [passing], provenance)
    write_evidence(folder / "report.json", [passing], provenance)
    write_errata(folder / "errata.json", [erratum()], provenance)
    (folder / "studies.json").write_text("{}")
    read = read_answers(str(folder))
    assert (len(read.answers), read.provenance) == (2, provenance) and "studies.json" in read.not_compared[0]
    assert difference(read_answers(str(file)), read_answers(str(file))).same
    assert [item.direction for item in difference(read_answers(str(file)), read).changes] == ["added"]
    refused = {
        "none.json": ("", "does not exist"),
        "empty": ("", "has no report.json"),
        "text.json": ("{", "is not JSON"),
        "other.json": ('{"schema": "sgverify/evidence/99"}', "evidence of another version"),
        "kind.json": ('{"schema": "sgverify/calibration/1"}', "not evidence"),
        "errata.json": ('{"schema": "sgverify/errata/1"}', "errata of another version"),
    }
    (tmp_path / "empty").mkdir()
    for name, (text, says) in refused.items():
        if text:
            (tmp_path / name).write_text(text)
        with pytest.raises(UserError, match=says):
            read_answers(str(tmp_path / name))
    empty = AnswersAt("x")
    with pytest.raises(UserError, match="has an answer"):
        difference(empty, empty)


def test_of_a_store_the_newest_answer_to_each_question_counts(
    passing: Evidence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A file of the package that somebody edits meanwhile is no matter here.
    monkeypatch.setattr(identity, "changed_since_start", lambda state: False)
    identity._KEPT.clear()

    def stored(name: str, *rows: tuple[str, Any, Any]) -> AnswersAt:
        with Store(tmp_path / name) as store:
            assert store.keep_all((key_of(kind, asked), value, 1.0) for kind, asked, value in rows) == len(
                rows
            )
        return read_answers(str(tmp_path / name))

    def row(item: Evidence, number: int = 0) -> tuple[str, Any, Any]:
        return "verify-case", {"scheme": item.scheme, "number": number}, {"evidence": [encode_evidence(item)]}

    failing = replace(passing, verdict="violates")
    counts = ("calibration", {"cell": 1}, {"wrong": 3, "seconds": 1.0})
    old = stored("old", row(failing), row(passing, 1), counts, ("errata", {}, asdict(erratum())))
    assert [answer.asked.kind for answer in old.answers] == ["evidence", "stored", "erratum"]
    later = ("calibration", {"cell": 1}, {"wrong": 3, "seconds": 2.0})
    errata = ("errata", {"number": 2}, [asdict(erratum())])
    assert difference(old, stored("new", row(passing), later, errata)).same
    worse = ("calibration", {"cell": 1.0}, {"wrong": 4, "seconds": 1.0})
    found = difference(old, stored("newer", row(passing), row(failing, 1), worse, errata))
    found.document()
    assert [(item.direction, item.asked.kind) for item in found.changes] == [
        ("worse", "evidence"),
        ("changed", "stored"),
    ]
    assert list(found.told())[1][1].startswith(
        "changed: calibration cell=1: constant at value/wrong 3 -> 4 [exact numbers]"
    )


def test_the_document_is_plain_json(passing: Evidence) -> None:
    found = compared(passing, with_certificate(passing, proved=False, size=7.25 * (1 + 1e-12)))
    document = json.loads(json.dumps(found.document()))
    assert document["schema"] == "sgverify/diff/1" and document["changes"][0]["changes"][0]["old"] == "true"
