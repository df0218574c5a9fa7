"""What a user can get wrong: exit code 2, one line that names what was given and how to mend it, no traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.tables import each_row

HEAD = """\
import math
import numpy
import torch
from sgverify import Alphabet, dot, exp, scheme, sqrt
from sgverify.schemes import kinetic, langevin
"""

LETTERS = """
def drift(theta, p, *, t):                          return theta + t*p, p
def friction(theta, p, *, t, D):                    return theta, exp(-D*t)*p
def kick(theta, p, *, t, grad, noise, D, T):        return theta, p - t*grad(theta) + sqrt(2*D*T*t)*noise()
ALPHABET = Alphabet("mine", kinetic, A=drift, B=friction, O=kick)
"""


def refused(call: Call, *words: str, says: tuple[str, ...]) -> str:
    """The message, after making sure that it is one line alone on stderr, and at most four more to paste."""
    answer = call(*words)
    assert answer.code == 2, answer
    assert answer.out == ""
    assert answer.err.startswith("error: "), answer.err
    assert answer.err.count("\n") <= (5 if "paste this" in answer.err else 1), answer.err
    assert "Traceback" not in answer.err
    for part in says:
        assert part in answer.err
    return answer.err


def step(body: str, signature: str = "theta, *, h, grad, noise, T", dynamics: str = "langevin") -> str:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{HEAD}\n@scheme({dynamics})\ndef s({signature}):\n{lines}"


@each_row(
    ("words", "says"),
    [
        (("verify", "shgmc-aboba"), ("unknown scheme 'shgmc-aboba'", "did you mean 'sghmc-aboba'?")),
        (("rate", "sgld", "--quantity", "bias"), ("unknown scheme 'sgld'", "'sgld-euler'")),
        (
            ("verify", "sghmc-aboba", "--checks", "theorem-4"),
            ("'theorem-4'", "did you mean 'chen2015/theorem-4'?"),
        ),
        (
            ("verify", "sghmc-aboba", "--checks", "chen2015/theorm-4"),
            ("claim 'chen2015/theorm-4'", "'chen2015/theorem-4'"),
        ),
        (
            ("verify", "sghmc-aboba", "--checks", "mse,stationary-bais"),
            ("check", "'stationary-bais'", "'stationary-bias'"),
        ),
        (("verify", "sghmc-aboba", "--checks", " , "), ("--checks", "names nothing", "sgverify list checks")),
        (("verify", "sghmc-aboba", "--set", "frction=1"), ("key 'frction'", "did you mean 'friction'?")),
        (("verify", "sghmc-aboba", "--set", "gradient.bacth=1"), ("'gradient.bacth'", "'gradient.batch'")),
        (("verify", "sghmc-aboba", "--set", "batch=1"), ("'batch'", "'gradient.batch'")),
        (("verify", "sghmc-aboba", "--set", "friction"), ("'friction'", "key=value")),
        (("verify", "sghmc-aboba", "--set", "=3"), ("'=3'", "key=value")),
        (("verify", "sghmc-aboba", "--set", "gradient=iid"), ("gradient='iid'", "kind, batch, covariance")),
        (("verify", "sghmc-aboba", "--set", "gradient.kind=idd"), ("gradient.kind='idd'", "'iid'")),
        (("verify", "sghmc-aboba", "--set", "target.name=gausian"), ("target 'gausian'", "'gaussian'")),
        (("rate", "sghmc-aboba", "--quantity", "mze"), ("quantity 'mze'", "did you mean 'mse'?")),
        (("rate", "sghmc-aboba", "--quantity", "mse", "--method", "exect"), ("method 'exect'", "'exact'")),
        (("rate", "sghmc-aboba"), ("--quantity", "sgverify rate --help")),
        (("verify",), ("SCHEME", "sgverify verify --help")),
        (("verfy", "sghmc-aboba"), ("verfy", "sgverify --help")),
        (("verify", "sghmc-aboba", "--sett", "a=1"), ("--sett", "sgverify verify --help")),
        (("verify", "sghmc-aboba", "--json", ""), ("--json", "stdout")),
        (("report", "--suite", "chen"), ("suite 'chen'", "'chen2015'")),
        (("report", "--out", ""), ("--out", "folder")),
        (("verify", "sghmc-chen-ABX"), ("word='ABX'", "'X'", "A, B, O")),
        (("verify", "sghmc-chen-AB"), ("word='AB'", "O does not occur", "add it")),
        (("verify", "sghmc-md-"), ("sghmc-md-", "word is empty")),
        (("verify", "sghmc-chen-A BO"), ("word='A BO'", "' '")),
    ],
)
def test_names(call: Call, words: tuple[str, ...], says: tuple[str, ...]) -> None:
    refused(call, *words, says=says)


@each_row("key", ["schedule.step", "schedule.scale", "friction", "temperature"])
@each_row("value", ["0", "-1", "nan", "inf", "-inf", "true", "fast", "[1]"])
def test_numbers_that_must_be_positive(call: Call, key: str, value: str) -> None:
    message = refused(
        call, "verify", "sghmc-aboba", "--set", f"{key}={value}", says=(f"{key}=", "expected", "mend")
    )
    assert value.strip("[]").lower() in message.lower()


@each_row(
    ("settings", "says"),
    [
        (("target.name=gaussian", "target.precision=-1"), ("target.precision=-1", "positive")),
        (("target.name=gaussian", "target.precision=0"), ("target.precision=0", "positive")),
        (("target.name=gaussian", "target.precision=[1,-2]"), ("target.precision[1]=-2", "positive")),
        (
            ("target.name=gaussian", "target.precision=[[1,2],[2,1]]"),
            ("not positive definite", "enlarge the diagonal"),
        ),
        (("target.name=gaussian", "target.precision=[[1,2],[0,9]]"), ("not symmetric", "make the two equal")),
        (
            ("target.name=gaussian", "target.precision=[[1,2],[2]]"),
            ("target.precision[1]", "expected 2 numbers"),
        ),
        (
            ("gradient.kind=iid", "gradient.batch=1001"),
            ("gradient.batch=1001", "1000 data", "expected 1 to 1000"),
        ),
        (("gradient.kind=without-replacement", "target.size=5"), ("gradient.batch=10", "5 data")),
        (("gradient.kind=reshuffle", "gradient.batch=7"), ("gradient.batch=7", "divide", "choose a divisor")),
        (("gradient.kind=iid", "gradient.batch=0"), ("gradient.batch=0", "1")),
        (
            ("gradient.kind=iid", "target.name=gaussian"),
            ("gradient.kind='iid'", "no data", "'gaussian-mean'"),
        ),
        (("gradient.kind=reshuffle", "target.name=gaussian"), ("gradient.kind='reshuffle'", "no data")),
        (("gradient.kind=additive", "gradient.covariance=-1"), ("gradient.covariance=-1", "semidefinite")),
        (
            ("gradient.kind=additive", "target.dim=2", "gradient.covariance=[[1,2],[0,9]]"),
            ("gradient.covariance", "symmetric"),
        ),
        (("target.name=gaussian", "target.size=5"), ("target.size=5", "'gaussian-mean'")),
        (("target.data=[1,nan]",), ("target.data", "NaN")),
        (("steps=0",), ("steps=0",)),
        (("steps=2e12",), ("steps=2", "1000000000000")),
        (("chains=1",), ("chains=1", "2")),
        (("dtype=float16",), ("dtype='float16'", "'float64'")),
        (("device=warp", "steps=10"), ("device='warp'", "'cpu'")),
        (("sweep.steps=[]",), ("sweep.steps=[]",)),
        (("sweep.lengths=[0]",), ("sweep.lengths",)),
        (("schedule.kind=power", "schedule.alpha=1"), ("schedule.alpha=1", "less than 1")),
        (("seed=-1",), ("seed=-1", "0")),
        (("start=nan",), ("start=nan", "finite")),
    ],
)
def test_configurations(call: Call, settings: tuple[str, ...], says: tuple[str, ...]) -> None:
    options = [word for setting in settings for word in ("--set", setting)]
    refused(call, "verify", "sghmc-aboba", *options, says=says)


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (("verify", "sghmc-aboba", "--set", "schedule.step=10"), "schedule.step=10"),
        (
            ("rate", "sghmc-aboba", "--quantity", "stationary-bias", "--set", "schedule.step=10"),
            "schedule.step=10",
        ),
        (
            ("rate", "sghmc-aboba", "--quantity", "stationary-bias", "--set", "sweep.steps=[0.01,10]"),
            "sweep.steps=10",
        ),
        (
            (
                "rate",
                "sghmc-aboba",
                "--quantity",
                "mse",
                "--set",
                "schedule.kind=horizon",
                "--set",
                "schedule.scale=100",
            ),
            "schedule.scale",
        ),
        (
            ("verify", "sgld-euler", "--set", "schedule.step=1", "--set", "gradient.kind=iid"),
            "schedule.step=1",
        ),
    ],
)
def test_unstable_steps_name_the_spectral_radius(call: Call, words: tuple[str, ...], key: str) -> None:
    message = refused(call, *words, says=(key, "unstable", "spectral radius", "take a step below"))
    radius = float(message.split("spectral radius ")[1].split()[0])
    assert radius > 1


def test_the_radius_that_is_named_is_the_radius(call: Call) -> None:
    """SGLD on a precision of 4 multiplies theta by 1 - 4h, so that h = 0.75 gives |1 - 3| = 2 and the limit is 1/2."""
    options = ("--set", "target.name=gaussian", "--set", "target.precision=4", "--set", "schedule.step=0.75")
    message = refused(call, "verify", "sgld-euler", *options, says=("has the spectral radius 2 ",))
    assert "take a step below 0.5\n" in message


def test_a_scheme_that_no_step_makes_stable(call: Call, tmp_path: Path) -> None:
    (tmp_path / "grow.py").write_text(step("return theta + h*grad(theta) + sqrt(2*T*h)*noise()"))
    refused(call, "verify", "grow.py:s", says=("'grow.py:s'", "no step size is stable", "signs"))


@each_row(
    ("text", "says"),
    [
        ("", ("test_function=''", "empty")),
        ("   ", ("test_function", "empty")),
        ("__import__('os')", ("test_function", "__import__", "polynomial")),
        ("theta.__class__", ("test_function='theta.__class__'", "attribute")),
        ("(lambda: theta)()", ("test_function", "polynomial")),
        ("theta if theta else p", ("test_function", "polynomial")),
        ("[theta for theta in p]", ("test_function", "polynomial")),
        ("open(theta)", ("test_function", "polynomial")),
        ("exp(theta)", ("test_function='exp(theta)'", "polynomial")),
        ("theta**2 +", ("test_function='theta**2 +'", "complete")),
        ("theta**0.5", ("test_function='theta**0.5'", "whole number")),
        ("theta**-1", ("test_function='theta**-1'", "whole number")),
        ("theta**99999999", ("99999999", "degree")),
        ("9**9**9**9*theta", ("test_function", "exponent")),
        ("theta/0", ("test_function='theta/0'", "non-zero")),
        ("theta/p", ("test_function='theta/p'", "non-zero")),
        ("q**2", ("names 'q'", "theta")),
        ("p[3]", ("p[3]", "dim=1")),
        ("1e999*theta", ("test_function",)),
    ],
)
def test_test_functions(call: Call, text: str, says: tuple[str, ...]) -> None:
    refused(call, "verify", "sghmc-aboba", "--set", f"test_function={text}", says=says)


def test_a_momentum_that_the_scheme_does_not_have(call: Call) -> None:
    refused(
        call,
        "verify",
        "sgld-euler",
        "--set",
        "test_function=p**2",
        says=("test_function='p**2'", "momentum p", "leave p out"),
    )


def test_a_coordinate_without_its_index(call: Call) -> None:
    options = ("--set", "target.dim=2", "--set", "test_function=theta**2")
    refused(call, "verify", "sghmc-aboba", *options, says=("test_function='theta**2'", "dim=2", "theta[0]"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\n1/0\n", ("user.py:2", "ZeroDivisionError: division by zero")),
        ("def f(:\n", ("user.py:1", "SyntaxError")),
        ("import nosuchmodule\n", ("user.py:1", "No module named 'nosuchmodule'")),
        ("import sys\nsys.exit(0)\n", ("user.py:2", "SystemExit")),
        ("raise BaseException('odd')\n", ("user.py:1", "odd")),
        ("", ("no scheme at all", "define one")),
        ("s = 3\n", ("'user.py:s'", "int", "expected a scheme")),
        ("def s(theta, *, h): return theta\n", ("'user.py:s'", "function", "expected a scheme")),
        (
            step("theta += -h*grad(theta) + sqrt(2*T*h)*noise()\nreturn theta"),
            ("user.py:9", "in-place", "x = x + y"),
        ),
        (step("theta[0] = 1\nreturn theta + sqrt(2*T*h)*noise()"), ("user.py:9", "in-place")),
        (
            step("return theta*torch.digamma(-h) + sqrt(2*T*h)*noise()"),
            ("user.py:9", "torch.digamma"),
        ),
        (
            step("return theta*numpy.sinc(-h) + sqrt(2*T*h)*noise()"),
            ("user.py:9", "numpy.sinc"),
        ),
        (
            step("return theta*math.gamma(-h) + sqrt(2*T*h)*noise()"),
            ("user.py:9", "foreign function"),
        ),
        (step("return theta - h*grad(theta) + numpy.floor(2*T*h)*noise()"), ("user.py:9", "numpy.floor")),
        (
            step("return theta - h*float('nan')*grad(theta) + sqrt(2*T*h)*noise()"),
            ("user.py:9", "the number nan"),
        ),
        (
            step("return theta - h*float('inf')*grad(theta) + sqrt(2*T*h)*noise()"),
            ("user.py:9", "the number inf"),
        ),
        (
            step("return theta - h*1e308*grad(theta) + sqrt(2*T*h)*noise()"),
            ("user.py:9", "1e+308", "up to 1e100"),
        ),
        (step("return theta - h*10**5000*grad(theta) + sqrt(2*T*h)*noise()"), ("user.py:9", "up to 1e100")),
        (step("return theta**(10**9) + sqrt(2*T*h)*noise()"), ("user.py:9", "powers up to 64")),
        (step("while True: noise()"), ("user.py:9", "more than 200 draws")),
        (step("while True: grad(theta)"), ("user.py:9", "more than 200 gradients")),
        (step("return sum((noise() for _ in range(300)), theta)"), ("user.py:9", "more than 200 draws")),
        (step("def f(x): return f(x)\nreturn f(theta)"), ("RecursionError",)),
        (step("import sys; sys.exit(0)"), ("user.py:9", "SystemExit")),
        (step("import os; os._exit(0)"), ("user.py:9", "_exit(0) would have ended the interpreter")),
        (step("if theta > 0: return theta\nreturn theta + sqrt(2*T*h)*noise()"), ("user.py:9", "branch")),
        (step("return dot(theta, noise())"), ("user.py", "scalar for `theta`", "expected a vector")),
        (
            step(
                "return theta + h*p + sqrt(2*D*T*h)*noise()", "theta, p, *, h, grad, noise, D, T", "kinetic"
            ),
            ("user.py", "returned 1 value", "expected 2"),
        ),
        (
            step("return theta - h*grad(theta)", "theta, *, h, grad, T"),
            ("user.py", "draws no noise", "noise()"),
        ),
        (
            step("return theta - h*grad(theta) + sqrt(2*T*h)*noise()", "theta, *, h, gard, noise, T"),
            ("`gard`", "did you mean `grad`?"),
        ),
        (
            step("return theta - grad(theta) + noise()", "theta, *, grad, noise"),
            ("does not take `h`", "add it"),
        ),
        (
            step("return theta - h*grad(theta) + sqrt(2*T*h)*noise()/(h - h)"),
            ("not finite", "division by zero"),
        ),
        (step("return nothing"), ("user.py:9", "nothing")),
        (
            HEAD + LETTERS + "s = ALPHABET.word('ABOBA', coefficients=['1/2', '1/2', 1, '1/2', '1/3'])\n",
            ("word='ABOBA'", "shares of A sum to 5/6", "expected 1"),
        ),
        (
            HEAD + LETTERS + "s = ALPHABET.word('ABOBA', coefficients=[1])\n",
            ("word='ABOBA'", "1 coefficients for 5 letters"),
        ),
        (HEAD + LETTERS + "s = ALPHABET.word('ABQ')\n", ("word='ABQ'", "'Q'", "A, B, O")),
        (HEAD + LETTERS + "s = ALPHABET.word('ABO', order=0)\n", ("order=0", "at least 1")),
    ],
)
def test_scheme_files(call: Call, tmp_path: Path, text: str, says: tuple[str, ...]) -> None:
    (tmp_path / "user.py").write_text(text)
    refused(call, "verify", "user.py:s", says=says)


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("nosuch.py:s", ("'nosuch.py:s'", "no file", "check the path")),
        ("nosuch/mine.py:heun", ("no file",)),
        ("mine.py:huen", ("'huen'", "did you mean 'heun'?")),
        ("mine.py", ("which scheme", "mine.py:attribute")),
        ("mine.py:", ("'mine.py:'", "attribute")),
        (":heun", ("':heun'", "path/to/file.py:attribute")),
        ("nosuch.module:s", ("no module 'nosuch'", "sgverify list schemes")),
        ("json:dumps", ("'json:dumps'", "function", "expected a scheme")),
        ("mine.py:drift", ("'mine.py:drift'", "function", "word")),
        ("", ("unknown scheme ''",)),
        ("..:x", ("'..:x'",)),
        (".json:x", ("'.json:x'",)),
        ("leaves:x", ("importing leaves raised SystemExit",)),
    ],
)
def test_scheme_references(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str, says: tuple[str, ...]
) -> None:
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    refused(call, "verify", reference, says=says)


def test_a_scheme_file_that_is_not_text(call: Call, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_bytes(b"\x00\xff\xfe")
    refused(call, "verify", "user.py:s", says=("'user.py:s'",))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("c.toml", None, ("config='c.toml'", "No such file")),
        ("c.toml", "= = =", ("config='c.toml'", "not valid TOML")),
        ("c.json", "{", ("config='c.json'", "not valid JSON")),
        ("c.json", "[1]", ("config='c.json'", "list", "table")),
        ("c.toml", "frction = 1", ("'frction'", "'friction'")),
        ("c.toml", "[sweep]\nstep = [1]", ("'sweep.step'", "did you mean")),
        ("c.json", '{"friction": NaN}', ("friction=nan", "finite")),
        ("c.toml", "[schedule]\nstep = 10", ("schedule.step=10", "spectral radius")),
    ],
)
def test_configuration_files(
    call: Call, tmp_path: Path, name: str, text: str | None, says: tuple[str, ...]
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    refused(call, "verify", "sghmc-aboba", "--config", name, says=says)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, ("'e.json'", "does not exist")),
        ("hello", ("'e.json'", "not JSON")),
        ("[1, 2]", ("'e.json'", "holds no evidence")),
        (
            '{"schema": "sgverify/evidence/7", "evidence": []}',
            ("another version", "'sgverify/evidence/7'", "'sgverify/evidence/1'"),
        ),
        ('{"schema": "sgverify/bch/1"}', ("not evidence", "'sgverify/bch/1'")),
        ('{"schema": "sgverify/evidence/1", "evidence": 3}', ("does not follow",)),
    ],
)
def test_evidence_files(call: Call, tmp_path: Path, text: str | None, says: tuple[str, ...]) -> None:
    if text is not None:
        (tmp_path / "e.json").write_text(text)
    refused(call, "replay", "e.json", says=says)


def test_an_unknown_id(call: Call, tmp_path: Path) -> None:
    call("verify", "sghmc-aboba", "--checks", "local-order", "--json", "e.json")
    (item,) = json.loads((tmp_path / "e.json").read_text())["evidence"]
    refused(call, "replay", f"e.json#{item['id']}x", says=("evidence id", item["id"], "did you mean"))
    refused(call, "replay", "e.json#", says=("evidence id ''",))


def test_evidence_about_what_is_not_there(call: Call, tmp_path: Path) -> None:
    call("verify", "mine.py:heun", "--checks", "local-order", "--json", "e.json")
    text = (tmp_path / "e.json").read_text()
    (tmp_path / "e.json").write_text(text.replace("mine.py:heun", "mine.py:gone"))
    refused(call, "replay", "e.json", "--run-code", says=("'gone'", "mine.py"))
    (tmp_path / "e.json").write_text(
        text.replace('"claim": "sgverify/stated-order"', '"claim": "sgverify/stated"')
    )
    refused(
        call, "replay", "e.json", "--run-code", says=("claim 'sgverify/stated'", "'sgverify/stated-order'")
    )
    (tmp_path / "e.json").write_text(text.replace('"check": "local-order"', '"check": "locl-order"'))
    refused(call, "replay", "e.json", "--run-code", says=("check 'locl-order'", "'local-order'"))


@pytest.mark.parametrize("folder", ["regular", "regular/below"])
def test_an_unwritable_report_folder_is_met_before_the_work(
    call: Call, tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "regular").write_text("a file")
    monkeypatch.setattr(
        "sgverify.papers.suites.SuiteCase.run", lambda self: pytest.fail("worked for nothing")
    )
    refused(call, "report", "--out", folder, says=(f"out={folder!r}", "file", "--out DIR"))


def test_an_unwritable_answer(call: Call) -> None:
    answer = call("list", "schemes", "--json", "nosuch/folder/a.json")
    assert (answer.code, answer.out) == (2, "")
    assert "cannot be written" in answer.err and "expected a file in a folder that exists" in answer.err


def test_what_is_proved_is_not_sampled(call: Call) -> None:
    words = ("rate", "sghmc-aboba", "--quantity", "local-order", "--method", "monte-carlo")
    refused(call, *words, says=("method='monte-carlo'", "leave --method out"))


def test_half_a_character_is_refused(call: Call) -> None:
    refused(call, "new", "target", "theirs", "--in=\ud800", says=("half a character",))


def test_a_message_steers_no_terminal(call: Call) -> None:
    said = refused(call, "bch", "ABA", "a\u202eb\x1b[31m\nc", says=("a\\u202eb\\x1b[31m c",))
    assert "\u202e" not in said


def test_a_composite_is_refused_before_anything_is_found(call: Call) -> None:
    refused(call, "verify", "csgld", "--set", "partition.edges=[3.0, 1.0, 2.0]", says=("partition.edges",))
    refused(call, "verify", "resgld", "--set", "exchange.ladder=[1, 0.5]", says=("exchange.ladder",))
    refused(call, "verify", "resgld", "--set", "exchange.energies=minibatch", says=("no minibatches",))


def test_a_file_with_another_target_than_the_argument_is_refused(call: Call, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('target.name = "gaussian"\n')
    refused(call, "advise", "gaussian-mean", "--config", "c.toml", says=("one target", "'gaussian'"))


def test_a_step_far_beyond_the_law_is_brought_back(call: Call) -> None:
    # At the default step the chain's law is so narrow that the first proposal is a step below rounding.
    words = (
        "sample",
        "sghmc-aboba",
        "--set",
        "steps=64",
        "--set",
        "chains=4",
        "--set",
        "target.data=[0.75, 2.25]",
    )
    answer = call(*words)
    assert answer.code == 0 and "1.6e-08" not in answer.err, answer.err
