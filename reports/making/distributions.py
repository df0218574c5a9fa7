"""The wheel and the source distribution: built, checked, each installed into a new environment, and tried there.

`try_out` builds both from a copy of the checkout, has twine check their metadata, compares their contents with the checkout, and
installs each with the pinned versions. In each environment `sgverify doctor` and one `sgverify verify` run, and then tests of the
source distribution, in a folder without the package, so that what is installed is what is tested.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "sgverify"

UNPACKAGED = (".git", ".venv", ".tox", "build", "dist", "site", "*.egg-info", "__pycache__", "*.py[cod]")
"""What is no part of the source, though it may lie in a checkout; beside the caches, whose names end in `_cache`."""

TESTS = (
    "tests/evidence",
    "tests/claims",
    "tests/skeletons",
    "tests/cli/test_rate.py",
    "tests/cli/test_schema.py",
)
PLUGINS = ("xdist.plugin", "_hypothesis_pytestplugin", "sgverify.pytest_plugin")


@dataclass(frozen=True)
class TriedDistribution:
    """What came of one distribution: files of the package in it, how the commands ended, and the last line of pytest."""

    name: str
    files: int
    doctor: int
    verify: int
    tests: str
    tests_exit: int


def try_out(folder: Path) -> list[dict[str, Any]]:
    """Build and try both distributions in a folder. Raises `RuntimeError` for a step that fails before the tests."""
    wheel, source = build(folder)
    expected = sorted(package_files(ROOT))
    for path in (wheel, source):
        missing = sorted(set(expected) - contents(path))
        if missing:
            raise RuntimeError(f"{path.name} lacks {', '.join(missing)}")
    tree = folder / "tree"
    with tarfile.open(source) as archive:
        archive.extractall(tree, filter="data")
    (unpacked,) = tree.iterdir()
    shutil.rmtree(unpacked / PACKAGE)
    return [
        asdict(_tried(path, folder / path.suffix.strip("."), unpacked, len(expected)))
        for path in (wheel, source)
    ]


def build(folder: Path) -> tuple[Path, Path]:
    """Build the source distribution, and the wheel from it, and have twine check both."""
    copy = folder / "source"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*UNPACKAGED, "*_cache"))
    python = _environment(folder / "building", "build", "twine")
    _run(python, "-m", "build", "--outdir", str(folder / "dist"), str(copy))
    (wheel,), (source,) = ((folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz"))
    _run(python, "-m", "twine", "check", "--strict", str(wheel), str(source))
    return wheel, source


def package_files(root: Path) -> Iterator[str]:
    """The files of the package, by their paths from the root of a checkout."""
    for path in (root / PACKAGE).rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(root).as_posix()


def contents(path: Path) -> set[str]:
    """The files in a wheel or a source distribution, without the folder in which the latter has them."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist())
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def _tried(path: Path, folder: Path, tree: Path, files: int) -> TriedDistribution:
    pins = ("-c", str(ROOT / "constraints.txt"))
    python = _environment(folder, *pins, f"{PACKAGE}[test] @ {path.as_uri()}")
    with tempfile.TemporaryDirectory() as elsewhere:
        doctor, verify = (
            subprocess.run(
                [python, "-m", PACKAGE, *words], cwd=elsewhere, capture_output=True, check=False
            ).returncode
            for words in (("doctor",), ("verify", "sghmc-baoab", "--quiet"))
        )
    plugins = [word for name in PLUGINS for word in ("-p", name)]
    command = [python, "-m", "pytest", "-q", "-n", "2", "--disable-plugin-autoload", *plugins, *TESTS]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    last = (done.stdout.strip().splitlines() or [done.stderr.strip()[-200:]])[-1].strip("= ")
    return TriedDistribution(path.name, files, doctor, verify, last.partition(" in ")[0], done.returncode)


def _environment(folder: Path, *requirements: str) -> str:
    """The Python of a new environment with these requirements."""
    _run(sys.executable, "-m", "venv", str(folder))
    python = str(folder / "bin" / "python")
    _run(python, "-m", "pip", "install", "--quiet", *requirements)
    return python


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:4])}: {(done.stdout + done.stderr).strip()[-2000:]}")


def healthy(tried: Sequence[dict[str, Any]]) -> bool:
    """Did everything end well in every environment?"""
    return all(not (one["doctor"] or one["verify"] or one["tests_exit"]) for one in tried)
