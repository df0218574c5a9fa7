"""Folders and files of draws that a run goes on with, one file of them broken: damaged, foreign, hostile or missing."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path

from sgverify.cli import main
from tests.fuzz.case import Case
from tests.fuzz.documents import breaking

FOLDER, FILE = "d.zarr", "d.nc"

STEPS, MORE = 64, 128


def _words(steps: int, place: str) -> tuple[str, ...]:
    settings = ("schedule.step=0.0002", f"steps={steps}", "chains=2")
    return ("sample", "sgld-euler", *(word for item in settings for word in ("--set", item)), "--out", place)


@cache
def drawn() -> Mapping[str, bytes]:
    """A folder and a file of draws of a run, complete after `STEPS` steps: contents by name."""
    with _in_a_folder() as folder:
        for place in (FOLDER, FILE):
            if main(list(_words(STEPS, place))):
                raise RuntimeError(f"{place} was not drawn")
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def cases(draw: random.Random) -> Iterator[Case]:
    """One case after another, without end: of the folder, which may be made longer, and of the file, which may not."""
    inside = [name for name in drawn() if name != FILE]
    while True:
        files: dict[str, bytes | None] = {name: drawn()[name] for name in inside}
        name = draw.choice(inside)
        chance = draw.random()
        if chance < 0.1:
            del files[name]
        elif chance < 0.15:
            files[name] = None
        elif chance < 0.35:
            files[name] = _hostile_metadata(draw, drawn()[name])
        else:
            files[name] = breaking(draw, _kind(drawn()[name]), drawn()[name])
        steps = draw.choice((STEPS, MORE, MORE))
        yield _case("draws in a folder", steps, FOLDER, files)
        yield _case("draws in a file", STEPS, FILE, {FILE: breaking(draw, FILE, drawn()[FILE])})


def _case(label: str, steps: int, place: str, files: Mapping[str, bytes | None]) -> Case:
    words = (*_words(steps, place), "--resume")
    return Case(label, words, files, computes=True, left=partial(_other_draws, place, steps))


def _other_draws(place: str, steps: int) -> str | None:
    """Are the draws that a command has left those of an undisturbed run?"""
    found = _values(place)
    differing = [name for name, digest in undisturbed(steps).items() if found.get(name) != digest]
    return f"{differing[0]} is not as an undisturbed run has it" if differing else None


@cache
def undisturbed(steps: int) -> Mapping[str, str]:
    """The hash of each variable of the draws of a run that is left alone."""
    with _in_a_folder():
        if main(list(_words(steps, FOLDER))):
            raise RuntimeError(f"{FOLDER} was not drawn")
        return _values(FOLDER)


def _values(place: str) -> dict[str, str]:
    import xarray

    engine = "zarr" if place == FOLDER else "h5netcdf"
    with xarray.open_datatree(place, engine=engine) as tree:
        return {
            f"{group}/{name}": hashlib.sha256(tree[group][name].values.tobytes()).hexdigest()
            for group in ("posterior", "sample_stats")
            for name in sorted(map(str, tree[group].variables))
        }


@contextlib.contextmanager
def _in_a_folder() -> Iterator[Path]:
    """A context in a folder of its own, whose commands print nothing."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                yield Path(folder)
        finally:
            os.chdir(before)


def _kind(content: bytes) -> str:
    """The name of a file whose content is broken as this one is to be."""
    return "x.json" if content.startswith(b"{") else "x"


def _hostile_metadata(draw: random.Random, content: bytes) -> bytes:
    """Metadata of an array that claims another shape, codec or type than its chunks have: what it has not is added."""
    try:
        tree = json.loads(content)
    except ValueError:
        return b""
    changes: tuple[Callable[[], dict[str, object]], ...] = (
        lambda: {"shape": [10**15]},
        lambda: {"chunks": [10**12]},
        lambda: {"dtype": "|O", "filters": [{"id": "pickle", "protocol": 5}]},
        lambda: {"compressor": {"id": "no-such-codec"}},
        lambda: {"dtype": "<f16"},
        lambda: {"zarr_format": draw.choice((1, 3, "2"))},
        lambda: {"version": 2},
        lambda: {"cut": [[0, 10**9]]},
        lambda: {"steps": draw.choice((-1, 10**18, "x"))},
    )
    return json.dumps({**tree, **draw.choice(changes)()}).encode()
