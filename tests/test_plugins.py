"""What other distributions add is found by its name, loaded when it is asked for, and never in the way of what ships."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import sgverify
from sgverify.checks import CHECKS
from sgverify.checks.applicable_claims import pairs_of
from sgverify.claims import claims
from sgverify.cli import main
from sgverify.configuration import load_configuration
from sgverify.errors import PluginError, PluginWarning, UnknownNameError, UserError
from sgverify.papers.formula import check_errata
from sgverify.papers.paper import papers
from sgverify.papers.suites import find_suite
from sgverify.schemes import find_scheme
from sgverify.schemes.loading import INSTALLED, load_step
from sgverify.subject.binding import make_subject
from sgverify.targets import TARGETS, build_target
from sgverify.verdict.asking import enquire
from sgverify.verdict.untested import untested
from tests.zoo.distributions import install

NEW = Path(__file__).parent / "extending" / "new"

SCHEME = """
    from sgverify import scheme, sqrt, torch_step
    from sgverify.schemes import langevin
    import torch

    print("on stdout")

    @scheme(langevin, order=1)
    def euler(theta, *, h, grad, noise, T):
        \"\"\"Their Euler step.\"\"\"
        return theta - h*grad(theta) + sqrt(2*T*h)*noise()

    @torch_step(langevin, order=1)
    def step(theta, *, h, grad, T):
        \"\"\"Their torch step.\"\"\"
        return theta - h*grad(theta) + (2*T*h)**0.5*torch.randn_like(theta)
"""

CHECK = """
    from sgverify.checks import Check
    REST = Check("rest", "their_check.rest:check_rest", "an example", room="")
"""

ADAPTER = """
    import torch
    from sgverify import torch_step
    from sgverify.schemes import langevin
    from sgverify.schemes.adapting import Adapter

    class Walk:
        pass

    def adapt(found, settings, reference):
        @torch_step(langevin, order=1)
        def step(theta, *, h, grad, T):
            return theta - h*grad(theta) + (2*T*h)**0.5*torch.randn_like(theta)
        return step.named("walk", reference=reference)

    WALK = Adapter("walk", "a walk of theirs", lambda found: isinstance(found, Walk), adapt)
    CURIOUS = Adapter("curious", "whatever has a length", lambda found: len(found) > 0, adapt)
"""

FILES = {
    "their_adapter.py": ADAPTER,
    "their_schemes.py": SCHEME,
    "their_target.py": (NEW / "target/sgverify/targets/catalogue/sextic.py").read_text(encoding="utf-8"),
    "their_check/__init__.py": CHECK,
    "their_check/rest.py": (NEW / "check/sgverify/checks/code/rest.py").read_text(encoding="utf-8"),
    "their_check/cards/theirs/rest.toml": (
        NEW / "check/sgverify/papers/own/cards/sgverify/rest.toml"
    ).read_text(encoding="utf-8"),
    **{
        f"their_paper/{place}": (NEW / "paper/sgverify/papers/example" / place).read_text(encoding="utf-8")
        for place in (
            "__init__.py",
            "suite.py",
            "cards/example/theorem-1.toml",
            "errata/__init__.py",
            "errata/variance.py",
            "errata/printed.toml",
        )
    },
}

ENTRIES = {
    "schemes": {"their-euler": "their_schemes:euler", "their-step": "their_schemes:step"},
    "targets": {"their-sextic": "their_target:SEXTIC"},
    "checks": {"rest": "their_check:REST"},
    "papers": {"example": "their_paper:PAPER"},
    "adapters": {"their-walk": "their_adapter:WALK"},
}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder at the head of the path; modules of it are forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or sys.prefix).is_relative_to(tmp_path):
            del sys.modules[name]


@pytest.fixture
def theirs(path: Path) -> Path:
    """A distribution with an item of each kind."""
    return install(path, "their-package", ENTRIES, FILES)


@pytest.mark.usefixtures("theirs")
def test_an_item_of_each_kind_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    euler = find_scheme("their-euler")
    assert (euler.name, euler.reference, euler.order) == ("their-euler", "their-euler", 1)
    assert type(load_step("their-step")).__name__ == "TorchStep"
    with pytest.raises(UserError, match="is of type TorchStep"):
        find_scheme("their-step")
    assert CHECKS["rest"].matter == "method" and "theirs/rest" in claims()
    assert "example" in [paper.id for paper in papers()]
    for kind, entries in ENTRIES.items():
        assert main(["list", kind, "--json", "-"]) == 0
        told = capsys.readouterr()
        rows = {item["name"]: item for item in json.loads(told.out)["items"]}
        assert all(rows[name]["source"] == "their-package 1.0" for name in entries)
        assert "their-package 1.0" not in {row["source"] for name, row in rows.items() if name not in entries}


def test_they_are_judged_as_what_ships_is(theirs: Path) -> None:
    (rest,) = sgverify.verify("their-euler", checks=["rest"])
    assert (rest.scheme, rest.claim, rest.outcome) == ("their-euler", "theirs/rest", "pass")
    assert rest.replay.startswith("sgverify verify their-euler")
    (found,) = sgverify.verify(
        "sgld-euler", target={"name": "their-sextic", "strength": 2.0}, checks=["rest"]
    )
    assert found.outcome == "pass" and found.configuration["target"] == {
        "name": "their-sextic",
        "strength": 2.0,
    }
    assert "--set target.strength=2.0" in found.replay
    sgverify.verify("their-euler", checks=["rest"]).save(theirs / "answer.json")
    document = json.loads((theirs / "answer.json").read_text(encoding="utf-8"))
    assert document["provenance"]["extensions"] == ["their-package 1.0"]
    # A check of theirs is asked with the others, without being named.
    asked = [quantity for _, quantity in pairs_of(make_subject("their-euler", load_configuration()))]
    assert "rest" in asked and "local-order" in asked


@pytest.mark.usefixtures("theirs")
def test_a_paper_has_its_claims_errata_and_suite() -> None:
    (case,) = find_suite("example")("quick")
    assert {item.claim for item in case.run()} >= {"example/theorem-1"}
    (erratum,) = check_errata(["example/variance"])
    assert erratum.fails


@pytest.mark.usefixtures("theirs")
def test_an_object_of_theirs_is_a_step() -> None:
    walk = importlib.import_module("their_adapter").Walk()
    assert type(sgverify.adapt(walk)).__name__ == "TorchStep"


def test_an_adapter_that_fails_on_an_object_is_left_out(path: Path) -> None:
    entries = {"their-walk": "their_adapter:WALK", "curious": "their_adapter:CURIOUS"}
    install(path, "their-package", {"adapters": entries}, FILES)
    walk = importlib.import_module("their_adapter").Walk()
    with pytest.warns(
        PluginWarning,
        match=r"their-package 1\.0: its entry point curious .* object of type 'Walk' has no len",
    ):
        assert type(sgverify.adapt(walk)).__name__ == "TorchStep"


@pytest.mark.usefixtures("theirs")
def test_a_key_that_no_target_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"target\.strenght.*target\.strength"):
        sgverify.verify("sgld-euler", target={"name": "their-sextic", "strenght": 2})


def test_a_kind_of_target_is_taken_from_a_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(FILES["their_target.py"], encoding="utf-8")
    (found,) = sgverify.verify(
        "sgld-euler", target={"name": "mine.py:SEXTIC", "strength": 2.0}, checks=["local-order"]
    )
    assert (
        found.outcome == "pass" and "mine.py:SEXTIC" in found.replay and "target.strength=2.0" in found.replay
    )


BROKEN = {
    "schemes": {
        "missing": "no_such_module:x",
        "raises": "raising:x",
        "leaves": "leaving:x",
        "absent": "their_schemes:heun",
        "other": "their_target:SEXTIC",
        "sgld-euler": "their_schemes:euler",
        "resgld": "their_schemes:euler",
        "sghmc-chen-abo": "their_schemes:euler",
        "good": "their_schemes:euler",
    },
    "targets": {"gaussian": "their_target:SEXTIC", "other": "their_schemes:euler"},
    "checks": {"local-order": "their_check:REST", "unrest": "their_check:REST", "gone": "raising:x"},
    "papers": {"chen2015": "their_paper:PAPER", "wrong": "their_paper:PAPER"},
}


@pytest.fixture
def broken(path: Path) -> Path:
    more = {"raising.py": "raise RuntimeError('planted')\n", "leaving.py": "import os; os._exit(0)\n"}
    return install(path, "broken-package", BROKEN, {**FILES, **more})


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing", "No module named 'no_such_module'"),
        ("raises", "RuntimeError: planted"),
        ("leaves", "would have ended the interpreter"),
        ("absent", "has no attribute 'heun'"),
        ("other", "is of type TargetKind"),
    ],
)
def test_what_cannot_be_loaded_is_one_message_that_names_the_distribution(
    name: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", name]) == 2
    *printed, told = capsys.readouterr().err.splitlines()
    assert told.startswith("error: broken-package 1.0: its entry point") and why in told
    assert printed in ([], ["on stdout"])


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("name", ["gone", "unrest"])
def test_a_check_that_is_asked_for_and_cannot_be_loaded_is_no_answer(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "sgld-euler", "--checks", name]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.splitlines()[-1].startswith(
        f"error: broken-package 1.0: its entry point {name}"
    )


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("kind", BROKEN)
def test_what_ships_stays_and_every_broken_item_is_named(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.warns(PluginWarning) as told:
        assert main(["list", kind, "--json", "-"]) == 0
    rows = [item["name"] for item in json.loads(capsys.readouterr().out)["items"]]
    messages = [str(item.message) for item in told]
    assert (len(rows) == len(set(rows)) and "good" in rows) or kind != "schemes"
    bad = set(BROKEN[kind]) - {"good"}
    assert all(any(f"entry point {name} = " in text for text in messages) for name in bad)
    assert all(text.startswith("broken-package 1.0: ") for text in messages)
    assert set(rows) >= {"schemes": {"sgld-euler", "resgld"}, "targets": {"gaussian"}}.get(kind, set())
    # Each is said once in a process.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        main(["list", kind])


@pytest.mark.usefixtures("broken")
def test_names_that_ship_mean_what_ships() -> None:
    assert find_scheme("sgld-euler").source and not find_scheme("sgld-euler").reference
    assert type(load_step("resgld")).__name__ == "ReplicaExchange"
    assert build_target(load_configuration(target={"name": "gaussian"}).target).quadratic
    assert CHECKS["local-order"].place == "order.local_order:check_local_order"


@pytest.mark.usefixtures("broken")
def test_a_broken_check_is_named_by_an_answer_and_hides_no_other() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)
        enquiry = enquire(find_scheme("sgld-euler"), load_configuration())
        asked = [question.quantity for question in enquiry.questions]
        left = [str(item) for item in untested(enquiry, [])]
    assert "local-order" in asked and "rest" not in asked
    assert any(text.startswith("gone: broken-package 1.0: its entry point gone") for text in left)
    assert "theirs/rest: no check is called 'rest'" in left


def test_two_distributions_under_one_name_are_both_named(path: Path) -> None:
    for name in ("one", "two"):
        install(path, name, {"schemes": {"shared": "their_schemes:euler"}}, FILES)
    with pytest.raises(PluginError, match=r"one 1\.0: .* two 1\.0 has this name too"):
        find_scheme("shared")
    with pytest.warns(PluginWarning, match="shared"):
        assert "shared" not in list(INSTALLED)


def test_cards_that_are_malformed_or_under_a_name_that_is_taken_are_left_out(path: Path) -> None:
    card = FILES["their_check/cards/theirs/rest.toml"]
    for place, text in {"bad": "title = 3", "chen2015": card}.items():
        files = {
            f"{place}_check.py": "",
            f"{place}/__init__.py": "CHECK = None",
            f"{place}/cards/{place}/x.toml": text,
        }
        install(path, f"{place}-package", {"papers": {place: f"{place}:CHECK"}}, files)
    with pytest.warns(PluginWarning) as told:
        known = claims()
    assert "chen2015/theorem-4" in known and not {"bad/x", "chen2015/x"} & set(known)
    assert sorted(str(item.message).partition(": ")[0] for item in told) == [
        "bad-package 1.0",
        "chen2015-package 1.0",
    ]


@pytest.mark.power  # 0.9 s
def test_nothing_of_theirs_is_imported_before_it_is_asked_for(tmp_path: Path) -> None:
    """Neither by the import of sgverify, nor by help, nor by what is asked of something else."""
    install(tmp_path, "their-package", ENTRIES, FILES)
    program = (
        "import sys, sgverify, sgverify.schemes, sgverify.targets, sgverify.checks, sgverify.claims; "
        "from sgverify.cli import main\n"
        "[main(call) for call in (['--help'], ['verify', '--help'], ['list', 'schedules'], ['bch', 'ABA'])]\n"
        "sgverify.find_scheme('sgld-euler'); 'their-euler' in sgverify.schemes.loading.INSTALLED\n"
        "assert not [name for name in sys.modules if name.startswith('their')], sys.modules\n"
        "main(['list', 'targets'])\n"
        "assert {name for name in sys.modules if name.startswith('their')} == {'their_target'}"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


def test_a_warning_is_one_line_on_stderr(tmp_path: Path) -> None:
    install(tmp_path, "broken-package", {"targets": {"gone": "no_such_module:x"}})
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "sgverify", "list", "targets"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0 and "gaussian-mean" in done.stdout
    assert done.stderr.startswith("warning: broken-package 1.0: ") and len(done.stderr.splitlines()) == 1


def test_every_target_that_ships_is_found_without_a_look_at_what_is_installed() -> None:
    assert {*TARGETS.shipped} <= {*TARGETS}
    assert TARGETS.source("gaussian") == ""
