"""A sampled run between two steps, as a file: what its next step needs, and what it has summed.

A file is a plain npz: one array for each tensor, and a header of JSON. It says which run it belongs to, and a run of
anything else is refused by name. Nothing in it depends on how chains were batched or where they ran, save for torch's
own generators (`generator="native"`).
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.samplers.blocks import Divergence

VERSION = 1
"""Of the file; another one is refused."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A run after `step` steps, of the chains first, ..., first + count - 1.

    `identity`: what tells the run from others, by name. `rows`: the places of the rows that go on. `state` holds each
    variable, shape (rows, C, d), in the dtype of the run; `carried` what the gradient estimator keeps from step to step; `sums` and
    `weights` the running sums, shapes (observables, rows, C) and (all rows,); `values`, `last` and `diverged` what is
    known of every row already. `generators`: the positions of torch's own generators, of native runs only.
    """

    identity: Mapping[str, str]
    chains: range
    step: int
    rows: tuple[int, ...]
    state: Mapping[str, np.ndarray] = field(repr=False)
    carried: tuple[np.ndarray, ...] = field(repr=False)
    sums: np.ndarray = field(repr=False)
    weights: tuple[float, ...] = field(repr=False)
    values: np.ndarray = field(repr=False)
    last: Mapping[str, np.ndarray] = field(repr=False)
    diverged: tuple[Divergence | None, ...]
    generators: tuple[np.ndarray, ...] = field(default=(), repr=False)

    def save(self, path: str | Path) -> None:
        """Write the file, in one move. Raises `ConfigurationError` where it cannot be written."""
        header = {
            "version": VERSION,
            "identity": dict(self.identity),
            "chains": [self.chains.start, len(self.chains)],
            "step": self.step,
            "rows": self.rows,
            "weights": [weight.hex() for weight in self.weights],
            "diverged": [None if why is None else _plain(why) for why in self.diverged],
        }
        arrays: dict[str, Any] = dict(self._arrays())
        target = Path(path)
        beside = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            with beside.open("wb") as file:
                np.savez(file, header=np.array(json.dumps(header)), **arrays)
            os.replace(beside, target)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise ConfigurationError(
                f"checkpoint={str(path)!r}: cannot be written ({error.strerror}); name a file in a folder that exists"
            ) from None

    @staticmethod
    def load(path: str | Path) -> Checkpoint:
        """Read a file of `save`. Raises `ConfigurationError` where there is none, or another kind of file."""
        try:
            with np.load(Path(path), allow_pickle=False) as archive:
                held = {name: archive[name] for name in archive.files}
            header = json.loads(str(held.pop("header")))
            if header["version"] != VERSION:
                raise ValueError(f"version {header['version']}, expected {VERSION}")
            first, count = header["chains"]
            return Checkpoint(
                identity=header["identity"],
                chains=range(first, first + count),
                step=header["step"],
                rows=tuple(header["rows"]),
                state=_named(held, "state"),
                carried=tuple(_named(held, "carried").values()),
                sums=held["sums"],
                weights=tuple(float.fromhex(weight) for weight in header["weights"]),
                values=held["values"],
                last=_named(held, "last"),
                diverged=tuple(None if why is None else _divergence(why) for why in header["diverged"]),
                generators=tuple(_named(held, "generator").values()),
            )
        except FileNotFoundError:
            raise ConfigurationError(
                f"checkpoint={str(path)!r}: there is no such file; expected one that a paused run has written"
            ) from None
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise ConfigurationError(
                f"checkpoint={str(path)!r}: is no checkpoint of a sampled run ({error}); expected a file that "
                "Checkpoint.save has written"
            ) from None

    def check(self, identity: Mapping[str, str], chains: range) -> None:
        """Refuse to go on as another run. Raises `ConfigurationError` that names the first difference."""
        for name, wanted in identity.items():
            held = self.identity.get(name)
            if held != wanted:
                raise ConfigurationError(
                    f"checkpoint: was made with {name}={_short(held)}, and this run has {name}={_short(wanted)}; expected the "
                    "run that was paused; give it the same, or start anew without the checkpoint"
                )
        if self.chains != chains:
            raise ConfigurationError(
                f"checkpoint: holds first_chain={self.chains.start}, chains={len(self.chains)}, and this run has "
                f"first_chain={chains.start}, chains={len(chains)}; expected the same"
            )

    def _arrays(self) -> list[tuple[str, np.ndarray]]:
        return [
            *((f"state.{name}", value) for name, value in self.state.items()),
            *((f"carried.{k:02}", value) for k, value in enumerate(self.carried)),
            *((f"last.{name}", value) for name, value in self.last.items()),
            *((f"generator.{k:06}", value) for k, value in enumerate(self.generators)),
            ("sums", self.sums),
            ("values", self.values),
        ]


def _named(held: Mapping[str, np.ndarray], group: str) -> dict[str, np.ndarray]:
    """The arrays of a group, in the order in which they were written."""
    return {name.partition(".")[2]: value for name, value in held.items() if name.startswith(f"{group}.")}


def _plain(why: Divergence) -> list[Any]:
    return [why.schedule, why.step_number, list(why.chains), why.why]


def _divergence(held: list[Any]) -> Divergence:
    return Divergence(held[0], held[1], tuple(held[2]), *held[3:])


def _short(value: Any) -> str:
    return f"{value!r:.80}"
