"""What a folder of draws holds to be continued: whose run it is, its halts, and the checksums of its chunks; what is damaged.

All of it lies in `.resume/` within the folder, which readers of draws pass over. `run.json` says whose run it is and how its chains
are divided among processes; `halts-N/` has, for each division N, the latest halts of each of its parts; `chunks-*.jsonl` has a line
for each part of the draws that was written wholly. Every file is put in place in one move, or has lines that stand for themselves.
Libraries raise what they like for files that are not theirs.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sgverify.draws.stored.folder import ChunkGrid, DrawsFolder, checksum
from sgverify.errors import ConfigurationError, UserError
from sgverify.keeping.files import FULL, put
from sgverify.samplers.run.halting import Halt


@contextmanager
def legible(place: Path) -> Iterator[None]:
    """A context in which whatever libraries raise for a file or folder of draws is one message, a `ConfigurationError`."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        why = " ".join(str(getattr(error, "strerror", None) or error).split()) or type(error).__name__
        raise ConfigurationError(
            f"--resume {str(place)!r}: cannot be read ({why}); expected draws that `sgverify sample` wrote; start anew with --force"
        ) from None


NAME = ".resume"
VERSION = 1

OLDER, SPARE = 8, 1 / 20
"""The most older halts, to which a run with a damaged chunk goes back, and the share of the draws' bytes that they may take."""


@dataclass(frozen=True)
class StoredRun:
    """Whose run a folder holds: its `identity`, the number of steps, the grid, and the chains of each process in division N."""

    identity: dict[str, Any]
    steps: int
    layout: ChunkGrid
    cut: tuple[range, ...]
    division: int = 0

    @property
    def chains(self) -> range:
        """The chains of the run."""
        return range(self.cut[0].start, self.cut[-1].stop)

    def divided(self, cut: Sequence[range]) -> StoredRun:
        """The run with its chains divided otherwise."""
        return replace(self, cut=tuple(cut), division=self.division + 1)


class Ledger:
    """The ledger of the folder at `place`."""

    def __init__(self, place: Path) -> None:
        self.folder = place / NAME

    def write(self, run: StoredRun) -> None:
        """Say whose run it is. The halts of this division must be there before."""
        self._halts(run.division).mkdir(parents=True, exist_ok=True)
        value = {
            "version": VERSION,
            "identity": run.identity,
            "steps": run.steps,
            "layout": asdict(run.layout),
            "cut": [[chains.start, chains.stop] for chains in run.cut],
            "division": run.division,
        }
        put(self.folder / "run.json", json.dumps(value, indent=1))
        for other in self.folder.glob("halts-*"):
            if other != self._halts(run.division):
                shutil.rmtree(other, ignore_errors=True)

    def read(self) -> StoredRun:
        """Whose run it is. Raises `ConfigurationError` where there is none, or one of another version."""
        path = self.folder / "run.json"
        given = f"--resume: {str(self.folder.parent)!r}"
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            if held["version"] != VERSION:
                raise ConfigurationError(
                    f"{given} was written by another version, whose form is {held['version']!r}; expected {VERSION}; go on with "
                    "the version that began it, or start anew with --force"
                )
            cut = tuple(range(low, high) for low, high in held["cut"])
            return StoredRun(
                held["identity"], held["steps"], ChunkGrid(**held["layout"]), cut, held["division"]
            )
        except FileNotFoundError:
            raise ConfigurationError(
                f"{given} holds draws but no run to go on with; expected a folder that `sgverify sample` of this version wrote; "
                "name another, or start anew with --force"
            ) from None
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            raise ConfigurationError(
                f"{given}: {path.name} cannot be read ({error}); expected what `sgverify sample` wrote there; start anew with "
                "--force"
            ) from None

    def save(self, run: StoredRun, halt: Halt, parts: int, size: int) -> None:
        """Keep a halt of one of the processes after so many parts; older ones are thinned out, by the draws' `size` in bytes."""
        folder = self._halts(run.division)
        folder.mkdir(parents=True, exist_ok=True)
        halt.save(folder / f"{halt.chains.start:09}-{halt.step:015}.state", parts=parts)
        self._thin(self._paths(run.division, halt.chains), size * SPARE)

    def latest(
        self, run: StoredRun, chains: range, folder: DrawsFolder
    ) -> tuple[Halt | None, int, list[str]]:
        """The latest halt of these chains that is whole, and behind which all chunks are; its parts; and what was damaged.

        None, 0: there is no such halt, and the chains begin anew.
        """
        damaged: list[str] = []
        written = self._checksums()
        known: dict[int, bool] = {}

        def whole(part: int) -> bool:
            if part not in known:
                wrong = [
                    path
                    for path in folder.chunks(part, chains)
                    if checksum(folder.place / path) != written.get(path)
                ]
                damaged.extend(wrong)
                known[part] = not wrong
            return known[part]

        bad: int | None = None
        for path in reversed(self._paths(run.division, chains)):
            try:
                halt, header = Halt.load(path)
                parts = int(header["parts"])
                if halt.chains != chains or parts < 0:
                    raise ConfigurationError(f"{str(path)!r}: is of other chains")
            except (ConfigurationError, KeyError, TypeError, ValueError):
                damaged.append(path.relative_to(folder.place).as_posix())
                continue
            asked = range(parts if bad is None else min(parts, bad))
            bad = next((part for part in asked if not whole(part)), bad)
            if bad is None or parts <= bad:
                return halt, parts, damaged
        return None, 0, damaged

    def newest(self, run: StoredRun, chains: range) -> tuple[Halt | None, int]:
        """The newest halt of these chains and its parts, where `latest` has found them whole; None, 0 where there is none."""
        paths = self._paths(run.division, chains)
        if not paths:
            return None, 0
        halt, header = Halt.load(paths[-1])
        return halt, int(header["parts"])

    def forget(self, run: StoredRun, chains: range, after: int) -> None:
        """Remove the halts of these chains after step `after`."""
        for path in self._paths(run.division, chains):
            if int(path.stem.partition("-")[2]) > after:
                path.unlink(missing_ok=True)

    def written(self, folder: DrawsFolder, part: int, chains: range) -> None:
        """Note the checksums of a part of these chains that was written wholly."""
        found = {path: checksum(folder.place / path) for path in folder.chunks(part, chains)}
        line = (json.dumps(found) + "\n").encode()
        handle = os.open(
            self.folder / f"chunks-{chains.start:09}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666
        )
        try:
            # The line break comes first: a line that a process before left half written then stands by itself.
            os.write(handle, b"\n" + line)
        finally:
            os.close(handle)

    @property
    def asked_to_stop(self) -> Path:
        """The file at which every process that moves chains of this run stops."""
        return self.folder / "stop"

    def _halts(self, division: int) -> Path:
        return self.folder / f"halts-{division}"

    def _paths(self, division: int, chains: range) -> list[Path]:
        """The files of halts of these chains, in the order of their steps."""
        return sorted(self._halts(division).glob(f"{chains.start:09}-*.state"))

    def _checksums(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for path in self.folder.glob("chunks-*.jsonl"):
            for line in path.read_bytes().splitlines():
                # A process that was killed may have cut its line off.
                with suppress(ValueError, AttributeError, TypeError):
                    found.update({name: tuple(pair) for name, pair in json.loads(line or b"{}").items()})
        return found

    def _thin(self, paths: list[Path], most: float) -> None:
        """Remove older halts: the latest two stay, and of the others `OLDER`, spread over the run, that take `most` bytes."""
        older = [(int(path.stem.partition("-")[2]), path) for path in paths]
        while len(older) > 2 + OLDER or (
            len(older) > 2 and sum(path.stat().st_size for _, path in older[:-2]) > most
        ):
            # The one between neighbours that are nearest to one another.
            steps = [0, *(step for step, _ in older)]
            place = min(range(len(older) - 2), key=lambda k: steps[k + 2] - steps[k])
            older.pop(place)[1].unlink(missing_ok=True)
