"""The key of a question follows everything that determines its answer, and says so where something cannot be hashed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sgverify import code_files
from sgverify.keeping import identity
from sgverify.keeping.identity import ContentKey, key_of
from sgverify.testing.planting import edited_source

SCHEME = """
from sgverify import scheme
from sgverify.schemes import langevin
from sizes import FACTOR

@scheme(langevin)
def mine(theta, *, h, grad, noise, T):
    return theta - FACTOR * h * grad(theta) + noise()
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ContentKey]]:
    """The key of a question about `mine.py`, whose folder has the files that are given; nothing is remembered."""
    # Files of a test are younger than its process; what that means is tested by itself.
    monkeypatch.setattr(code_files, "_started", lambda: time.time_ns() + 10**12)
    monkeypatch.chdir(tmp_path)

    def key(reference: str = "mine.py:mine", **files: str) -> ContentKey:
        for name, text in files.items():
            path = tmp_path / (name.replace("__", "/", 1) + ".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        identity._READ.clear()
        return key_of("verify", {"scheme": reference}, references=(reference,))

    yield key
    identity._READ.clear()


def test_an_edit_of_any_module_that_is_imported_makes_another_key(asked: Callable[..., ContentKey]) -> None:
    first = asked(mine=SCHEME, sizes="from deeper import FACTOR", deeper="FACTOR = 1")
    assert not first.refused
    assert sorted(first.content["sources"]) == ["deeper", "mine.py", "sizes"]
    assert asked().digest == first.digest
    assert asked(deeper="FACTOR = 2").digest != first.digest
    assert asked(deeper="FACTOR = 1").digest == first.digest
    assert asked(mine=SCHEME + "# a comment").digest != first.digest
    # A module that is not there, and then is, may change what runs.
    guarded = asked(deeper="try:\n    import faster\nexcept ImportError:\n    pass\nFACTOR = 1")
    assert guarded.content["absent"] == ["faster"]
    assert asked(faster="").digest != guarded.digest


def test_an_edit_is_seen_at_once(asked: Callable[..., ContentKey], tmp_path: Path) -> None:
    first = asked(mine=SCHEME, sizes="FACTOR = 1")
    # Nothing is forgotten in between, as it is between two calls in one process.
    (tmp_path / "sizes.py").write_text("FACTOR = 20")
    assert key_of("verify", first.question, references=("mine.py:mine",)).digest != first.digest


def test_two_files_of_one_name_both_count(asked: Callable[..., ContentKey], tmp_path: Path) -> None:
    def key() -> ContentKey:
        identity._READ.clear()
        return key_of("verify", {"scheme": "one/mine.py:s", "target": {"name": "two/mine.py:t"}})

    for folder in ("one", "two"):
        asked(**{f"{folder}__mine": "from near import X", f"{folder}__near": "X = 1"})
    first = key()
    assert sorted(first.content["sources"]) == ["mine.py", "mine.py (2)", "near", "near (2)"]
    for name in ("near", "mine"):
        (tmp_path / "two" / f"{name}.py").write_text("X = 2")
        assert key().digest != first.digest
        first = key()


@pytest.mark.parametrize(
    "text",
    [
        "from . import near",
        "from .near import X",
        "from package import near",
        "import package.near",
        "import importlib\nimportlib.import_module('package.near')",
        "import importlib\nimportlib.import_module('.near', package='package')",
        "def late():\n    from package.near import X",
        "from .near import *",
    ],
)
def test_packages_relative_imports_and_importlib_are_followed(
    text: str, asked: Callable[..., ContentKey], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    given = {"package____init__": "", "package__near": "X = 1", "package__scheme": text}
    first = asked("package.scheme:mine", **given)
    assert not first.refused
    assert sorted(first.content["sources"]) == ["package", "package.near", "package.scheme"]
    assert asked("package.scheme:mine", package__near="X = 2").digest != first.digest
    assert asked("package.scheme:mine", **{**given, "package____init__": "X = 1"}).digest != first.digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import importlib\nimportlib.import_module('pack' + 'age')", "mine.py:2 imports a module by a name"),
        ("import sys\nsys.path.append('lib')", "mine.py:2 uses sys.path"),
        ("X = open('numbers.txt').read()", "mine.py:1 reads something while it runs, by open(...)"),
        ("import numpy as np\nX = np.load('x.npy')", "by np.load(...)"),
        ("from pathlib import Path\nX = Path(__file__).with_name('x').read_text()", "read_text(...)"),
        ("from numpy import loadtxt as told\nX = told('x')", "mine.py:1 imports loadtxt from numpy"),
        (
            "import numpy as np\ntold = np.loadtxt\nX = told('x')",
            "mine.py:2 reads something while it runs, by np",
        ),
        ("X = list(map(open, ['x']))", "mine.py:1 uses open"),
        ("import h5py\nX = h5py.File('x')", "imports h5py"),
        ("import pandas\nX = pandas.read_fwf('x')", "pandas.read_fwf(...)"),
        ("import sys\nX = float(sys.argv[1])", "uses sys.argv"),
        ("import builtins\nbuiltins.exec('X = 1')", "builtins.exec(...)"),
        ("import importlib\nother = importlib.import_module\nother('x')", "by importlib.import_module"),
        ("import urllib.request", "imports urllib.request"),
        ("import os\nX = os.environ['X']", "uses os.environ"),
        ("from os import environ", "imports environ from os"),
        ("exec('X = 1')", "runs text as code, by exec(...)"),
        ("import __main__\nX = __main__.x", "imports __main__"),
        ("from __main__ import x", "imports __main__"),
        ("from . import near", "relative to a package, and the file is in none"),
        ("def (", "cannot be parsed"),
    ],
)
def test_what_no_hash_covers_is_named(text: str, said: str, asked: Callable[..., ContentKey]) -> None:
    key = asked(mine=text)
    assert said in key.refused
    # A program at the end of the file, which only a command of its own runs, is none of the scheme's.
    beneath = "\n".join(f"    {line}" for line in text.splitlines())
    if said != "cannot be parsed":
        assert not asked(mine=f"if __name__ == '__main__':\n{beneath}").refused


def test_what_is_defined_in_no_file_is_named(asked: Callable[..., ContentKey], tmp_path: Path) -> None:
    assert "in no file" in asked("__main__:mine").refused
    assert "there is no file" in asked("missing.py:mine").refused
    assert "no module" in asked("missing_module:mine").refused
    (tmp_path / "fast.so").write_bytes(b"")
    (tmp_path / "fast.cpython-311-x86_64-linux-gnu.so").write_bytes(b"")
    assert "is no Python text" in asked(mine="import fast").refused


def test_a_method_called_eval_runs_no_text(asked: Callable[..., ContentKey]) -> None:
    assert not asked(mine="def f(model):\n    model.eval()").refused


def test_names_of_arguments_read_nothing(asked: Callable[..., ContentKey]) -> None:
    assert not asked(mine="def f(self, input, load):\n    return input + load + self.load").refused


def test_a_distribution_counts_by_its_version_and_the_standard_library_by_pythons(
    asked: Callable[..., ContentKey],
) -> None:
    key = asked(mine="import json\nimport click\nfrom rich.console import Console\nimport sgverify.schemes")
    assert set(key.content["sources"]) == {"mine.py"}
    assert {"click", "rich", "pygments"} <= set(key.content["distributions"])


def test_a_module_that_this_process_runs_in_another_form_is_named(
    asked: Callable[..., ContentKey], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = type(sys)("sizes")
    other.__file__ = str(tmp_path / "elsewhere" / "sizes.py")
    monkeypatch.setitem(sys.modules, "sizes", other)
    assert "has loaded it from" in asked(mine=SCHEME, sizes="FACTOR = 1").refused
    other.__file__ = str(tmp_path / "sizes.py")
    assert not asked().refused
    monkeypatch.setattr(code_files, "_started", lambda: time.time_ns() - 10**12)
    assert "sizes.py was changed after this process had started" in asked().refused


def test_files_and_references_within_a_question_are_found(
    asked: Callable[..., ContentKey], tmp_path: Path
) -> None:
    asked(mine=SCHEME, sizes="FACTOR = 1")
    table = tmp_path / "table.csv"
    found = []
    for text in ("1,0", "1,1", "1,0"):
        table.write_text(text)
        key = key_of("verify", {"settings": {"target": {"file": "table.csv"}}, "scheme": ["mine.py:mine"]})
        assert set(key.content["files"]) == {"table.csv"} and "sizes" in key.content["sources"]
        found.append(key.digest)
    assert found[0] == found[2] != found[1]
    assert key_of("verify", {}, files=["table.csv"]).content["files"] == key.content["files"]
    assert key_of("verify", {"text": "found: it", "ratio": "a:b"}).content == {}


def test_a_planted_bug_never_shares_a_key_with_the_code_as_it_stands() -> None:
    before = key_of("verify", 1).digest
    with edited_source("sgverify.values:_finite", [("def _finite", "def  _finite")]):
        planted = key_of("verify", 1).digest
    assert planted != before == key_of("verify", 1).digest


def test_own_files_versions_platform_and_environment_are_in_the_circumstances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def circumstances() -> identity.Circumstances:
        identity._KEPT.clear()
        return identity.Circumstances.here()

    first = circumstances()
    named = {Path(state.path).name for state in first.read}
    assert {"store.py", "steps.c", "printed.toml", "py.typed"} <= named
    assert first.value["libraries"]["numpy"] and first.value["platform"]["python"]
    assert circumstances().digest == first.digest
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    assert circumstances().digest != first.digest
    monkeypatch.undo()
    assert circumstances().digest == first.digest
    identity._KEPT.clear()


def test_a_file_of_the_package_that_changes_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "PACKAGE", tmp_path)
    monkeypatch.setattr(code_files, "_started", lambda: time.time_ns() + 10**12)
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "a.py").write_text("1")

    def circumstances() -> identity.Circumstances:
        identity._KEPT.clear()
        return identity.Circumstances.here()

    first = circumstances()
    assert first.changed() is None and not first.refused
    (tmp_path / "room" / "__pycache__").mkdir()
    (tmp_path / "room" / "__pycache__" / "a.pyc").write_text("")
    assert first.changed() is None
    (tmp_path / "room" / "b.toml").write_text("")
    assert first.changed() == str(tmp_path / "room" / "b.toml")
    second = circumstances()
    assert second.digest != first.digest
    (tmp_path / "room" / "a.py").write_text("2")
    assert second.changed() == str(tmp_path / "room" / "a.py")
    monkeypatch.setattr(code_files, "_started", lambda: time.time_ns() - 10**12)
    assert "was changed after this process had started" in circumstances().refused
    identity._KEPT.clear()


def test_the_start_of_this_process_is_known() -> None:
    age = time.time_ns() - code_files._started()
    assert 0 < age < 10**9 * 86400
    assert not code_files.changed_since_start(code_files.FileState.of(code_files.__file__)) or os.environ.get(
        "EDITING"
    )


@pytest.mark.parametrize("question", [float("nan"), {"a": float("inf")}, {1, 2}, object()])
def test_a_question_is_json(question: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        key_of("verify", question)
