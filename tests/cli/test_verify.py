"""`sgverify verify`: the example file of the contract, its options, and what goes to which stream."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from sgverify.errors import UserError
from sgverify.evidence import canonical, schema, validate
from tests.cli.conftest import Call

# The agreement check samples and power schedules are followed step by step; short runs keep both in the test.
SHORT = ("--set", "steps=300", "--set", "chains=64", "--set", "sweep.lengths=[100,1000]")
# Two checks that are settled in milliseconds.
QUICK = ("--checks", "local-order,stationary-bias")


@pytest.mark.usefixtures("undiagnosed")
@pytest.mark.by_default("heun-0", "wrong-1")
@pytest.mark.parametrize(("scheme", "code"), [("heun", 0), ("aboba", 0), ("wrong", 1)])
def test_the_example_file_of_the_contract(call: Call, scheme: str, code: int) -> None:
    answer = call("verify", f"mine.py:{scheme}", *SHORT, "--json", "-")
    assert (answer.code, answer.err) == (code, "")
    document = answer.document
    validate(document)
    assert document["schema"] == "sgverify/evidence/1"
    kinds = [item["configuration"]["gradient"]["kind"] for item in document["evidence"]]
    pairs = [
        (item["claim"], item["check"], kind) for item, kind in zip(document["evidence"], kinds, strict=True)
    ]
    assert set(kinds) == {"full", "iid"}
    assert len(set(pairs)) == len(pairs)
    assert {item["scheme"] for item in document["evidence"]} == {f"mine.py:{scheme}"}
    counted = [item for item in document["evidence"] if not item["refuted"]]
    assert {"violates"} <= {item["verdict"] for item in counted} or code == 0
    assert {"stationary-bias", "bias", "mse", "local-order"} <= {item["check"] for item in counted}


@pytest.mark.usefixtures("undiagnosed")
def test_what_the_example_schemes_turn_out_to_be(call: Call) -> None:
    found = {}
    for scheme in ("heun", "aboba", "wrong"):
        for item in call("verify", f"mine.py:{scheme}", *QUICK, "--json", "-").evidence:
            found[scheme, item["check"]] = (item["found"]["exponent"], item["verdict"], item["method"])
    assert found == {
        ("heun", "local-order"): (2, "conforms", "proof"),
        ("heun", "stationary-bias"): (2, "conforms", "exact"),
        ("aboba", "local-order"): (2, "conforms", "proof"),
        ("aboba", "stationary-bias"): (2, "conforms", "exact"),
        ("wrong", "local-order"): (0, "violates", "proof"),
        ("wrong", "stationary-bias"): (0, "violates", "exact"),
    }


def test_an_unstated_order_is_only_measured(call: Call, tmp_path: Path) -> None:
    text = (tmp_path / "mine.py").read_text().replace("@scheme(langevin, order=1)", "@scheme(langevin)")
    (tmp_path / "bare.py").write_text(text)
    answer = call("verify", "bare.py:heun", "--checks", "local-order", "--json", "-")
    assert answer.code == 0
    assert answer.evidence[0]["found"]["exponent"] == 2


def test_a_module_attribute_is_a_scheme_too(call: Call) -> None:
    reference = "sgverify.schemes.catalogue.plain:sgld_euler"
    answer = call("verify", reference, "--checks", "local-order", "--json", "-")
    assert (answer.code, answer.evidence[0]["scheme"]) == (0, reference)


def test_the_result_is_on_stdout_and_nothing_else_is(call: Call) -> None:
    answer = call("verify", "mine.py:aboba", *QUICK)
    assert answer.code == 0
    assert answer.err == ""
    lines = answer.out.splitlines()
    assert lines[:2] == ["mine.py:aboba: a step of kinetic, stated order 2", "Is the method right?"]
    assert [line.split()[:3] for line in lines[2:4]] == [
        ["✓", "pass", "local-order"],
        ["✓", "pass", "stationary-bias"],
    ]
    assert lines[4] == "" and lines[5].startswith("PASS  mine.py:aboba: order 2 proved; bias of theta**2 ~ ")


@pytest.mark.by_default("80")
@pytest.mark.parametrize("columns", [70, 80, 200])
def test_lines_are_as_wide_as_the_terminal_and_no_wider_than_80(
    call: Call, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    widths = [len(line) for line in call("verify", "mine.py:wrong", *QUICK).out.splitlines()]
    assert 60 < max(widths) <= min(columns, 80)


def test_json_alone_on_stdout_and_in_a_file(call: Call, tmp_path: Path) -> None:
    alone = call("verify", "mine.py:aboba", *QUICK, "--json", "-")
    place = tmp_path / "answer.json"
    both = call("verify", "mine.py:aboba", *QUICK, "--json", str(place))
    assert "✓ pass" in both.out
    written = json.loads(place.read_text())
    assert canonical(written) == canonical(alone.document)
    assert (
        written["provenance"]["command"] == f"sgverify verify mine.py:aboba {' '.join(QUICK)} --json {place}"
    )


@pytest.mark.usefixtures("undiagnosed")
def test_every_document_follows_the_published_schema(call: Call) -> None:
    document = call("verify", "mine.py:wrong", *QUICK, "--json", "-").document
    validate(document)
    assert set(schema()["properties"]) >= {"schema", "provenance", "evidence"}
    keys = {
        "id",
        "scheme",
        "claim",
        "check",
        "refuted",
        "configuration",
        "method",
        "predicted",
        "found",
        "points",
    }
    keys |= {"verdict", "outcome", "sharp", "scope", "reason", "certificate", "replay", "seconds"}
    assert all(set(item) == keys for item in document["evidence"])
    item = next(item for item in document["evidence"] if item["check"] == "local-order")
    assert item["points"] == []
    assert {"given_minibatch", "averaged"} <= set(item["certificate"])


def test_explain_shows_statement_formula_and_replay_and_no_json(call: Call) -> None:
    short = call("verify", "mine.py:aboba", *QUICK)
    long = call("verify", "mine.py:aboba", *QUICK, "--explain")
    assert len(long.out) > 2 * len(short.out)
    for word in ("invariant law", "replay      sgverify verify mine.py:aboba", "stationary bias"):
        assert word in long.out
    assert "theta1 = theta + h/2*p\n" in long.out and '{"' not in long.out and '": ' not in long.out


@pytest.mark.power  # 0.7 s
def test_explain_ends_with_what_fails(call: Call) -> None:
    asked = ("--checks", "local-order,stationary-bias,stationarity")
    heads = [
        line
        for line in call("verify", "mine.py:wrong", *asked, "--explain").out.splitlines()
        if line[:2] in ("✓ ", "✗ ")
    ]
    failed = ["✗ fail" in line for line in heads]
    assert failed == sorted(failed) and len(set(failed)) == 2


def test_a_failure_comes_with_its_cause_and_the_edit_that_mends_it(call: Call) -> None:
    answer = call("verify", "mine.py:wrong", "--quiet")
    lines = answer.out.splitlines()
    # Both lines of the edit are longer than 80 columns, and whole.
    assert answer.code == 1 and len(lines) <= 12
    assert lines[0].startswith("FAIL  mine.py:wrong: local-order: found 0, required >= 2; ")
    told = " ".join(answer.out.split())
    assert "the noise is too small by sqrt(2)" in told
    assert "mine.py, line 13: sqrt(D*T*t) -> sqrt(2*D*T*t) makes it order 2" in told
    assert "- def weak_kick(" in told and "+ sqrt(D*T*t)*noise() + def weak_kick(" in told
    assert "+ sqrt(2*D*T*t)*noise() settings" in told and "…" not in told
    assert "not tested" in answer.out


def test_consequences_are_folded_under_their_cause_and_shown_with_all(call: Call) -> None:
    asked = ("mine.py:wrong", "--checks", "sgverify/stated-order,chen2015/theorem-4")
    short, every = call("verify", *asked), call("verify", *asked, "--all")
    assert "      3 consequences; --all shows them\n" in short.out
    assert short.out.count("✗ fail") == 1 and every.out.count("✗ fail") == 4


def test_the_refuted_claims_stand_under_the_paper(call: Call) -> None:
    lines = call(
        "verify", "sghmc-aboba", "--checks", "stationary-bias,local-order", "--set", "gradient.kind=iid"
    ).out.splitlines()
    paper = lines.index("Is the paper right?")
    assert "⚑ refuted" in lines[paper + 1] and "found h^1, printed h^2  " in lines[paper + 1]
    assert lines.index("Is the method right?") < paper and "PASS" in "".join(lines[paper:])


def test_configuration_file_and_settings_over_it(call: Call, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('friction = 3.0\ntemperature = 0.5\n[target]\nname = "gaussian"\n')
    (tmp_path / "c.json").write_text('{"friction": 3, "temperature": 0.5, "target": {"name": "gaussian"}}')
    words = ("verify", "mine.py:aboba", "--checks", "stationary-bias", "--json", "-")
    plain = call(*words, "--config", "c.toml")
    same = call(*words, "--config", "c.json")
    assert canonical(plain.document) == canonical(same.document)
    assert plain.evidence[0]["configuration"]["friction"] == 3
    over = call(*words, "--set", "friction=5", "--config", "c.toml", "--set", "friction=4")
    assert over.evidence[0]["configuration"]["friction"] == 4
    assert over.evidence[0]["configuration"]["temperature"] == 0.5


def test_settings_are_toml_values_or_bare_strings(call: Call) -> None:
    answer = call(
        "verify",
        "mine.py:aboba",
        "--checks",
        "stationary-bias",
        "--json",
        "-",
        "--set",
        "sweep.steps=[0.01,0.02]",
        "--set",
        "gradient.kind=iid",
        "--set",
        'start_momentum="stationary"',
    )
    configuration = answer.evidence[0]["configuration"]
    assert configuration["sweep"]["steps"] == [0.01, 0.02]
    assert (configuration["gradient"]["kind"], configuration["start_momentum"]) == ("iid", "stationary")
    assert [point["step"] for point in answer.evidence[0]["points"]] == [0.01, 0.02]


def test_checks_takes_checks_and_claims(call: Call) -> None:
    # Which claims are asked is what matters here: two lengths for the points of each.
    short = ("--set", "sweep.lengths=[10,100]", "--json", "-")
    by_check = call("verify", "mine.py:aboba", "--checks", "bias", *short).evidence
    assert {item["check"] for item in by_check} == {"bias"}
    assert {"chen2015/theorem-2", "chen2015/theorem-5", "chen2015/remark-9"} <= {
        item["claim"] for item in by_check
    }
    by_claim = call("verify", "mine.py:aboba", "--checks", "chen2015/theorem-5", *short).evidence
    assert {(item["claim"], item["check"]) for item in by_claim} == {
        ("chen2015/theorem-5", "bias"),
        ("chen2015/theorem-5", "mse"),
    }


def test_a_claim_of_others_is_not_applicable_and_neutral(call: Call) -> None:
    answer = call("verify", "mine.py:heun", "--checks", "chen2015/lemma-8,local-order", "--json", "-")
    assert answer.code == 0
    assert {item["verdict"] for item in answer.evidence} == {"not-applicable", "conforms"}


def test_where_nothing_that_was_asked_applies_nothing_is_answered(call: Call) -> None:
    answer = call("verify", "mine.py:heun", "--checks", "chen2015/lemma-8", "--json", "-")
    assert answer.code == 3
    assert [item["verdict"] for item in answer.evidence] == ["not-applicable"]
    assert answer.evidence[0]["reason"]


def test_a_refuted_printed_claim_does_not_count(call: Call) -> None:
    answer = call(
        "verify", "mine.py:aboba", "--checks", "stationary-bias", "--set", "gradient.kind=iid", "--json", "-"
    )
    printed, corrected = answer.evidence
    assert answer.code == 0
    assert (printed["claim"], printed["verdict"], printed["refuted"]) == (
        "chen2015/theorem-4",
        "violates",
        True,
    )
    assert (corrected["claim"], corrected["verdict"], corrected["refuted"]) == (
        "corrected/theorem-4",
        "conforms",
        False,
    )
    assert (printed["predicted"]["exponent"], printed["found"]["exponent"]) == (2, 1)


@pytest.mark.power  # 2.6 s
def test_an_unsettled_scheme_exits_with_three(call: Call, tmp_path: Path) -> None:
    (tmp_path / "waves.py").write_text(
        "from sgverify import scheme, sqrt\nfrom sgverify.schemes import langevin\n@scheme(langevin, order=1)\n"
        "def bent(theta, *, h, grad, noise, T):\n"
        "    return theta - h*grad(theta) + sqrt(2*T*h)*noise() + h*h*theta*theta\n"
    )
    # Two step sizes leave a sampled rate open, whatever is drawn.
    few = (
        "--set",
        "chains=2",
        "--set",
        "steps=10",
        "--set",
        "sweep.lengths=[2,3,4,5]",
        "--set",
        "sweep.steps=[0.2,0.1]",
    )
    some = ("--checks", "local-order,stationary-bias,agreement,averaging")
    answer = call("verify", "waves.py:bent", *few, *some, "--json", "-")
    found = {item["check"]: item for item in answer.evidence if item["verdict"] == "inconclusive"}
    assert answer.code == 3
    assert not [item for item in answer.evidence if item["verdict"] == "violates"]
    assert "product of two" in found["stationary-bias"]["certificate"]["why_sampled"]
    # What violates outranks what is unsettled.
    (tmp_path / "waves.py").write_text((tmp_path / "waves.py").read_text().replace("order=1", "order=2"))
    asked = ("--checks", "local-order,stationary-bias")
    assert call("verify", "waves.py:bent", *few, *asked).code == 1


@pytest.mark.power  # two processes are held to the same bits in test_main.py
def test_two_runs_give_the_same_bits(call: Call) -> None:
    words = ("verify", "mine.py:aboba", *SHORT, "--set", "gradient.kind=iid", "--json", "-")
    first, second = call(*words), call(*words)
    assert canonical(first.document) == canonical(second.document)
    other = call(*words[:-2], "--set", "seed=1", "--json", "-")
    assert canonical(other.document) != canonical(first.document)


def test_no_colour_off_a_terminal_nor_against_no_color(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = call("verify", "mine.py:aboba", *QUICK).out
    assert "\x1b[" not in plain
    # Where stdout is a terminal click keeps colours; the test makes it believe so.
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda stream=None, color=None: color is False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = call("verify", "mine.py:aboba", *QUICK).out
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert call("verify", "mine.py:aboba", *QUICK).out == plain


@pytest.mark.power  # 8.3 s
def test_a_second_process_changes_neither_lines_nor_evidence(call: Call, tmp_path: Path) -> None:
    runs = {
        workers: call(
            "verify", "mine.py:wrong", *SHORT, "--workers", workers, "--json", f"{workers}.json", "--all"
        )
        for workers in ("1", "2")
    }
    assert (runs["2"].code, runs["2"].err) == (1, "")
    assert runs["1"].out.splitlines() == runs["2"].out.splitlines()
    one, two = (canonical(json.loads((tmp_path / f"{workers}.json").read_text())) for workers in runs)
    assert one == two


@pytest.mark.power  # 3.8 s
def test_questions_are_answered_here_where_another_process_ends(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = call("verify", "mine.py:heun", *SHORT)
    monkeypatch.setattr("sgverify.cli.shared.workers._answers", _killed)
    answer = call("verify", "mine.py:heun", *SHORT, "--workers", "2")
    assert (answer.code, answer.out) == (0, alone.out)
    assert answer.err.count("ended without an answer") == len(answer.err.splitlines()) == 1


@pytest.mark.power  # the process that ends takes the same way back in the test above
def test_what_a_question_raises_elsewhere_it_raises_here_in_its_turn(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = call("verify", "mine.py:heun", *SHORT)
    monkeypatch.setattr("sgverify.cli.shared.workers._answers", _refused)
    answer = call("verify", "mine.py:heun", *SHORT, "--workers", "2")
    assert (answer.code, answer.out, answer.err) == (0, alone.out, "")


@pytest.mark.power  # with one process in test_main.py
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_shows_what_was_answered_whatever_the_number_of_processes(
    call: Call, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    from sgverify.checks.rates import finite_time

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(finite_time, "_check", interrupted)
    answer = call("verify", "mine.py:heun", *SHORT, "--workers", workers)
    assert answer.code == 130
    assert "local-order" in answer.out and "bias " not in answer.out.replace("stationary-bias ", "")


def _killed(*arguments: object) -> None:
    signal.raise_signal(signal.SIGKILL)


def _refused(*arguments: object) -> None:
    raise UserError("not here")
