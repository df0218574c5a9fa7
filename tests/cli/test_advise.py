"""`sgverify advise`: its exit codes, its document, and the command that it names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from sgverify.cli.listing import find_schema
from sgverify.configuration import load_configuration
from sgverify.targets import build_target
from tests.cli.conftest import Call
from tests.tables import each_row


def test_the_command_of_the_advice_runs_and_knows_the_target(call: Call) -> None:
    pytest.importorskip("arviz")
    answer = call("advise", "gaussian", "sghmc-ubu", "--json", "advice.json")
    assert answer.code == 0
    assert answer.out.startswith("for an error of 5 % on gaussian: run sghmc-ubu with full gradients")
    (command,) = re.findall(r"^  (sgverify sample (?:.*\\\n)*.*)$", answer.out, re.MULTILINE)
    command = command.replace("\\\n", "")
    ran = call(*shlex.split(command)[1:], "--json", "-")
    assert ran.code == 0
    (summary,) = ran.document["summary"].values()
    # The plan promises bias plus one standard error; a seed is fixed, three of them are a fault.
    assert abs(summary["mean"]) < 3 * 0.05
    assert abs(summary["sd"] - 1) < 3 * 0.05


def test_the_document_follows_its_schema(call: Call) -> None:
    answer = call("advise", "gaussian", "--error", "0.1", "--set", "friction=2.0", "--json", "-")
    assert answer.code == 0
    find_schema("advice").check(answer.document, "the answer")
    assert answer.document["error"] == 0.1
    assert {plan["friction"] for plan in answer.document["plans"]} == {None, 2.0}


def test_a_posterior_that_is_no_gaussian_is_not_to_be_trusted(call: Call) -> None:
    answer = call("advise", "mixture", "sgld-euler", "--json", "-")
    assert answer.code == 3
    find_schema("advice").check(answer.document, "the answer")
    drawn = call("advise", "mixture", "sgld-euler", "--plot", "advice.svg")
    assert drawn.out.startswith("not to be trusted here: ")
    assert "no plot: nothing of this answer can be drawn" in drawn.err and not Path("advice.svg").exists()


def test_the_picture_has_errors_and_costs_of_each_scheme(call: Call) -> None:
    answer = call("advise", "gaussian", "sghmc-ubu", "sgld-euler", "--plot", "advice.svg")
    assert answer.code == 0 and "plot: advice.svg" in answer.err
    text = Path("advice.svg").read_text(encoding="utf-8")
    for said in (
        "sghmc-ubu, full",
        "sgld-euler, full",
        "Monte Carlo error",
        "large: advised",
        "run sghmc-ubu",
    ):
        assert said in text


def test_what_was_tried_stands_beside_the_advised_step(call: Call) -> None:
    document = call("advise", "gaussian", "sgld-euler", "--json", "-").document
    (plan,) = document["plans"]
    steps = [tried["step"] for tried in plan["tried"]]
    assert steps == sorted(steps) and steps[0] < plan["step"] < steps[-1]
    at = next(tried for tried in plan["tried"] if tried["step"] == plan["step"])
    # Exact laws: what was tried at the advised step is the plan. Euler's average of theta: (2 - h)/h (1 - h/2)^-1.
    assert at["sd_bias"] == plan["bias"] and at["gradients"] == plan["gradients"]
    h = plan["step"]
    assert at["variance"] >= (2 - h) / h / (1 - h / 2) * (1 - 1e-9)
    assert min(tried["gradients"] for tried in plan["tried"]) == plan["gradients"]


@each_row(
    ("words", "says"),
    [
        (("gausian",), "did you mean 'gaussian'"),
        (("gaussian", "sgld-oiler"), "did you mean"),
        (("gaussian", "--error", "2"), "expected a share of a standard deviation"),
        (("gaussian", "--json", "nowhere/advice.json"), "cannot be written"),
        (("gaussian", "--plot", "advice.gif"), "expected a file that ends in .svg or .png"),
        (
            ("gaussian", "--set", "target.name=mixture"),
            "the argument 'gaussian' is given; leave the setting out",
        ),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(call: Call, words: tuple[str, ...], says: str) -> None:
    answer = call("advise", *words)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert says in answer.err


def test_widths_are_told_without_drawing(call: Call) -> None:
    words = ("gaussian-mean", "sgld-euler", "--step", "1e-4", "--batch", "10", "--set", "target.size=1000")
    answer = call("width", *words, "--json", "-")
    assert answer.code == 0
    find_schema("width").check(answer.document, "the answer")
    data = build_target(load_configuration(target={"size": 1000}).target).data
    assert data is not None
    # Euler: (2 h + h^2 V)/(1 - (1 - h P)^2), V the variance of the estimate, and P = 1001.
    h, v = 1e-4, 1000**2 / 10 * float(data.var())
    sd = ((2 * h + h * h * v) / (1 - (1 - 1001 * h) ** 2)) ** 0.5
    (told,) = answer.document["factors"]
    assert told == pytest.approx(sd * 1001**0.5, rel=1e-9)
    assert answer.document["limit"] == pytest.approx(2 / 1001) and answer.document[
        "forgetting"
    ] == pytest.approx(1 / (1001 * h))
    beyond = call("width", "gaussian-mean", "sgld-euler", "--step", "1")
    assert beyond.code == 3 and "beyond the stability limit" in beyond.out
