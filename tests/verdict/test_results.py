"""The object that `sgverify.verify` returns, and the block that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import sgverify
from sgverify import torch_step
from sgverify.errors import UserError
from sgverify.evidence import read_evidence
from sgverify.schemes import langevin
from sgverify.verdict import block
from sgverify.verdict.asking import enquire
from sgverify.verdict.results import Results

CHECKS = ["sgverify/stated-order", "local-order", "stationary-bias"]
NAMED = "tests.mutants.schemes:sgld-noise-without-2"


@pytest.fixture(scope="module")
def right() -> Results:
    return sgverify.verify("sghmc-aboba", checks=CHECKS)


@pytest.fixture(scope="module")
def wrong() -> Results:
    return sgverify.verify(NAMED, checks=CHECKS)


def test_results_are_a_sequence_with_an_outcome(right: Results, wrong: Results) -> None:
    assert right.passed and right.outcome == "pass" and len(right) == len(list(right)) > 1
    assert not wrong.passed and wrong.outcome == "fail" and wrong[0] in wrong
    assert isinstance(right[:1], Results) and right[:1][0] == right[0]


def test_what_a_right_sampler_samples_is_told_with_its_step() -> None:
    """Half of the step size in the drift and in the variance of the noise: another unit of time, or another convention."""

    @torch_step(langevin)
    def epsilon(theta, *, h, grad, T):
        return theta - h / 2 * grad(theta) + (h * T) ** 0.5 * torch.randn_like(theta)

    found = sgverify.verify(epsilon, checks=["local-order"])
    assert found.outcome == "pass"
    said = " ".join(repr(found).split())
    assert "samples exp(-U/T): SGLD with step h/2; order 1 measured" in said


def test_the_repr_is_a_screen_at_most(right: Results, wrong: Results) -> None:
    for results in (right, wrong):
        lines = repr(results).splitlines()
        assert len(lines) <= block.MOST_LINES + 1 and max(map(len, lines)) <= 80
        assert lines[0].startswith(results.outcome.upper())


def test_html_escapes_and_names_every_group(wrong: Results) -> None:
    text = wrong._repr_html_()
    assert "FAIL" in text and "required &gt;= 1" in text and "Is the method right?" in text


def test_the_table_has_a_row_for_each_answer(right: Results) -> None:
    table = right.to_dataframe()
    assert list(table["check"]) == [item.check for item in right]
    assert set(table["outcome"]) == {item.outcome for item in right}


def test_a_picture_and_a_file(right: Results, tmp_path: Path) -> None:
    right.plot(tmp_path / "rate.svg")
    assert (tmp_path / "rate.svg").stat().st_size > 1000
    right.save(tmp_path / "found.json")
    assert tuple(read_evidence(tmp_path / "found.json").evidence) == tuple(right)
    with pytest.raises(UserError, match="is a rate"):
        sgverify.verify("sghmc-aboba", checks=["local-order"]).plot()


def test_an_order_that_minibatches_lower_is_told_beside_the_proved_one() -> None:
    for scheme, said in (
        ("sghmc-aboba", "order 2 proved, 1 over random minibatches"),
        ("sgld-euler", "order 1 proved"),
    ):
        found = sgverify.verify(scheme, checks=["local-order"], gradient={"kind": "iid", "batch": 10})
        assert found.verdict.lines(200)[0] == f"PASS  {scheme}: {said}"


def test_the_block_names_what_was_found_and_what_was_not_tried(right: Results) -> None:
    text = " ".join(right.verdict.text().split())
    assert text.startswith("PASS sghmc-aboba: order 2 proved; bias of theta**2 ~ ")
    for part in (
        "gaussian-mean (N = 1000)",
        "(default)",
        "not tested",
        "--set target.name=double-well",
        "how large",
    ):
        assert part in text


@pytest.mark.parametrize("width", [80, 100])
def test_the_block_has_few_lines_none_of_them_cut(right: Results, wrong: Results, width: int) -> None:
    for results in (right, wrong):
        lines = results.verdict.lines(width)
        assert len(lines) <= block.MOST_LINES and max(map(len, lines)) <= width and "…" not in "".join(lines)
        rows = [(label, text) for label, text in results.verdict.rows() if label in block.WHOLE]
        for narrow in (40, 60):
            assert "…" not in "".join(results.verdict.lines(narrow))
        said = " ".join(" ".join(lines).split())
        assert rows and all(" ".join(text.split()) in said for _, text in rows)


def test_a_size_stands_under_its_own_gradient_where_the_other_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from sgverify.advice.size import finding
    from sgverify.configuration import load_configuration

    real = finding.how_large
    monkeypatch.setattr(
        finding,
        "how_large",
        lambda subject, **given: (
            None if subject.configuration.gradient.kind == "full" else real(subject, **given)
        ),
    )
    enquiry = enquire("sgld-euler", load_configuration())
    ((kind, _),) = Results(sgverify.verify("sgld-euler", checks=["local-order"]), enquiry).verdict.sizes
    assert kind == "iid"


def test_a_diagnosis_that_ends_with_an_exception_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("a planted error")

    results = sgverify.verify(NAMED, checks=CHECKS)
    monkeypatch.setattr("sgverify.advice.diagnosis.diagnosing.diagnose", broken)
    with pytest.raises(ZeroDivisionError):
        _ = results.verdict
    monkeypatch.delenv("SGVERIFY_RAISE")
    assert results.diagnosis is None
    assert any(
        "cause" in line and "ZeroDivisionError: a planted error" in line for line in results.verdict.lines()
    )
    assert len(results.verdict.lines()) <= block.MOST_LINES


def test_nothing_that_applies_is_undecided() -> None:
    results = sgverify.verify("sgld-euler", checks=["chen2015/lemma-8"])
    assert results.outcome == "undecided" and "nothing that was asked applies" in repr(results)


def test_what_holds_is_named_where_no_order_is_claimed() -> None:
    results = sgverify.verify("sgld-euler", checks=["stationarity"])
    assert "PASS  sgld-euler: stationarity holds" in "\n".join(results.verdict.lines())


def test_full_gradients_and_minibatches_are_asked_by_default() -> None:
    from sgverify.configuration import load_configuration

    both = enquire("sgld-euler", load_configuration())
    kinds = [subject.configuration.gradient.kind for subject in both.subjects]
    assert kinds == ["full", "iid"]
    asked = [(item.quantity, item.subject.configuration.gradient.kind) for item in both.questions]
    assert ("stationary-bias", "iid") in asked and ("local-order", "iid") not in asked
    for given in ({"gradient": {"kind": "full"}}, {"target": {"name": "double-well"}}):
        alone = enquire("sgld-euler", load_configuration(given))
        assert len(alone.subjects) == 1 and alone.without_minibatches
    assert len(enquire("sgld-euler", load_configuration(), ["bias"]).subjects) == 1


def test_a_mistake_that_minibatches_alone_meet_leaves_them_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from sgverify.configuration import load_configuration
    from sgverify.verdict import asking

    enquiry = enquire("sgld-euler", load_configuration())
    real = asking.stable_questions

    def refused(subject, selected=()):  # type: ignore[no-untyped-def]
        if subject is enquiry.minibatches:
            raise UserError("no step is stable")
        return real(subject, selected)

    monkeypatch.setattr(asking, "stable_questions", refused)
    kinds = {item.subject.configuration.gradient.kind for item in enquiry.questions}
    assert kinds == {"full"} and enquiry.without_minibatches == "no step is stable"


@pytest.mark.power  # 0.9 s
def test_rate_and_verify_give_one_finding_one_outcome() -> None:
    for scheme in ("sghmc-aboba", "sgld-euler", NAMED):
        for kind in ("full", "iid"):
            given = {"gradient": {"kind": kind}}
            judged = sgverify.verify(scheme, given, checks=["stationary-bias"])
            found = sgverify.rate(scheme, quantity="stationary-bias", config=given)
            assert [item.outcome for item in judged if item.claim == found.claim] == [found.outcome]


def test_the_text_is_what_the_command_line_prints_at_any_width(
    wrong: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    from sgverify.cli import main

    assert main(["verify", NAMED, "--checks", ",".join(CHECKS)]) == 1
    assert str(wrong).splitlines() == capsys.readouterr().out.splitlines()
    assert max(map(len, wrong.text(80).splitlines()[1:])) <= 80
    assert "--all shows it" in wrong.text() and "--all shows it" not in wrong.text(everything=True)


def test_the_answer_is_stored_beside_the_evidence(right: Results, wrong: Results, tmp_path: Path) -> None:
    for results in (right, wrong):
        results.save(tmp_path / "found.json")
        document = read_evidence(tmp_path / "found.json")
        assert document.answer is not None and document.answer.outcome == results.outcome
        assert document.answer.not_tested == results.answer.not_tested != ()
    assert right.answer.cause is None and right.answer.how_large[0]["levels"][0]["error"] == 0.01
    assert wrong.answer.cause_name == "diffusion-scaled" and wrong.answer.how_large == ()
    assert wrong.answer.mend is None or wrong.answer.mend.now != wrong.answer.mend.was


def test_how_large_the_bias_is_stands_in_the_full_text(right: Results) -> None:
    size = right.how_large["full"]
    lines = right.details()
    assert lines[0] == "How large is the bias?" and max(map(len, lines)) <= 80
    told = " ".join(lines)
    assert f"sd {size.sd_bias[0]:+.2%}" in told and "asymptotic variance" in told and "exactly" in told
    assert lines[1] in right.text(everything=True) and lines[1] not in right.text()
    untested = lines[lines.index("What was not tested?") + 1 :]
    assert " ".join(map(str.strip, untested)) == " ".join(map(str, right.verdict.untested))
