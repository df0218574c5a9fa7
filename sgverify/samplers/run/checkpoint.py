"""How is a sampled run stored in a file between two steps, and how is its identity checked when it is resumed?

A file is a plain npz: one array for each tensor, and a header in JSON. It holds the state that the next step needs, the sums so
far, and the identity of the run: every ingredient by name. Resuming another run is refused, and the error names the difference.
The file does not depend on the batching of chains or on the device, except for the states of torch's own generators
(`generator="native"`).
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sgverify.errors import ConfigurationError
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.run.leg import Divergence
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings
from sgverify.schemes import Scheme
from sgverify.targets import Target

DIGITS = 9
"""The digits of the gradients that identify a target: exp and log may round differently on another machine."""

FREE = ("chains", "first_chain", "device", "compiled")
"""The settings that may differ between the parts of a run: chains are compared separately, the others only change the device
and the speed. Torch's own generators do depend on the device."""


def identity_of(
    scheme: Scheme,
    target: Target,
    rows: Sequence[Row],
    settings: Settings,
    observables: Sequence[Callable[..., Any]],
) -> dict[str, str]:
    """The identity of a run: the name and the value of each of its ingredients.

    Test functions are identified by their source text, or by their name if they have none.
    """
    found = {
        "scheme": scheme.name,
        "definition": _digest(_source(scheme)),
        "target": target.name,
        "potential": _digest(_gradients(target)),
        "rows": "; ".join(f"{row.name}, lengths={list(row.lengths)}, burn_in={row.burn_in}" for row in rows),
        "observables": "; ".join(getattr(item, "__name__", str(item)) for item in observables),
    }
    held = {
        item.name: str(getattr(settings, item.name)) for item in fields(Settings) if item.name not in FREE
    }
    found.update(held)
    if settings.generator == "native":
        found["device"] = settings.device
    return found


def _source(scheme: Scheme) -> str:
    """The source text of the definition; for a splitting, that of its letters, with their shares."""
    word = scheme.word
    if word is None:
        functions = [scheme.function, *scheme.memory.values()]
        return "\n".join(map(_text, functions))
    letters = (f"{name}: {_text(letter.function)}" for name, letter in word.alphabet.letters.items())
    return "\n".join([word.text, ",".join(map(str, word.shares)), *letters])


def _text(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(inspect.unwrap(function))
    except (OSError, TypeError):
        # A function made by exec has no source text; its code object identifies it.
        code = getattr(function, "__code__", None)
        return repr(function) if code is None else f"{code.co_code!r} {code.co_consts!r} {code.co_names!r}"


def _gradients(target: Target) -> str:
    """dim, the data, and the gradient of U at two points."""
    potential = Potential(target, dtype=torch.float64, device=torch.device("cpu"), hoist=False)
    places = torch.stack(
        [torch.linspace(low, low + 0.5, target.dim, dtype=torch.float64) for low in (-0.4, 0.3)]
    )
    gradients = potential.full(places[None]).flatten().tolist()
    data = b"" if target.data is None else target.data.tobytes()
    return f"{target.dim} {hashlib.sha256(data).hexdigest()} " + " ".join(
        f"{entry:.{DIGITS}g}" for entry in gradients
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


VERSION = 1
"""The version of the file format; files of another version are refused."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A run after `step` steps, of the chains first, ..., first + count - 1.

    `identity` identifies the run, by ingredients. `rows` are the indices of the rows that are not finished. `state` holds each
    variable, shape (rows, C, d), in the dtype of the run; `carried` the tensors that composite and gradient estimator keep from
    step to step; `sums` and `weights` the running sums, shapes (observables, rows, C) and (all rows,); `values`, `last` and
    `diverged` the results of every row so far. `generators` are the states of torch's own generators, in native runs only.
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
        """Write the file atomically. Raises `ConfigurationError` if it cannot be written."""
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
        """Read a file written by `save`. Raises `ConfigurationError` if there is no file, or a file of another kind."""
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
        except Exception as error:
            # zip, zlib and numpy's reader of headers raise what they like for a file that is damaged.
            raise ConfigurationError(
                f"checkpoint={str(path)!r}: is no checkpoint of a sampled run ({error}); expected a file that "
                "Checkpoint.save has written"
            ) from None

    def check(self, identity: Mapping[str, str], chains: range) -> None:
        """Raise `ConfigurationError`, with the first difference, if the checkpoint belongs to another run or other chains."""
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
    """The arrays of a group by name, in the order in which they were written."""
    return {name.partition(".")[2]: value for name, value in held.items() if name.startswith(f"{group}.")}


def _plain(why: Divergence) -> list[Any]:
    return [why.schedule, why.step_number, list(why.chains), why.why]


def _divergence(held: list[Any]) -> Divergence:
    return Divergence(held[0], held[1], tuple(held[2]), *held[3:])


def _short(value: Any) -> str:
    return f"{value!r:.80}"


__all__ = ["identity_of"]
