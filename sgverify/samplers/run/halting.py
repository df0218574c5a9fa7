"""The halt of a run between two blocks: what it needs to go on, whole or divided into its chains; those that ran apart join again.

A halt does not depend on the batching of chains, on the device, or on what moved the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sgverify.errors import ConfigurationError
from sgverify.keeping.states import load_state, save_state
from sgverify.samplers.run.leg import Position, by_coordinate

if TYPE_CHECKING:
    from sgverify.samplers.run.run import Ensemble

VERSION = 2
"""The version of the file format; files of another version are refused."""


@dataclass(frozen=True, eq=False)
class Halt:
    """A run of these chains after `step` steps.

    `rows` are the indices of its rows, `state` holds each variable, shape (rows, C, d or 1), in the dtype of the run, `carried`
    what composite and gradient estimator keep from step to step, and `held` the draws that are not handed over yet
    (`Recorder.held`). All arrays of state, carried and held have the chains along axis 1, those of one dimension none.
    """

    chains: range
    step: int
    rows: tuple[int, ...]
    state: Mapping[str, np.ndarray] = field(repr=False)
    carried: tuple[np.ndarray, ...] = field(repr=False)
    held: Mapping[str, np.ndarray] = field(repr=False)

    @staticmethod
    def of(ensemble: Ensemble, position: Position, held: Mapping[str, np.ndarray]) -> Halt:
        """The halt of a run at a position, with copies of its tensors."""
        state = zip(ensemble.scheme.state, position.state, strict=True)
        return Halt(
            ensemble.chains,
            position.done,
            position.rows,
            {name: _copy(value) for name, value in state},
            tuple(map(_copy, position.carried)),
            held,
        )

    def position(self, ensemble: Ensemble) -> Position:
        """The position from which a run of the same chains continues, on its device."""
        if self.chains != ensemble.chains:
            raise ValueError(f"a halt of the chains {self.chains} for a run of {ensemble.chains}")
        state = (self.state[name] for name in ensemble.scheme.state)
        tensors = lambda values: tuple(  # noqa: E731
            by_coordinate(torch.tensor(value, device=ensemble.device)) for value in values
        )
        return Position(
            self.rows,
            self.step,
            tensors(state),
            tensors(self.carried),
        )

    def part(self, chains: range) -> Halt:
        """The halt of some of the chains."""
        place = slice(chains.start - self.chains.start, chains.stop - self.chains.start)
        return self._mapped(chains, lambda arrays: arrays[0][:, place].copy())

    @staticmethod
    def joined(parts: Sequence[Halt]) -> Halt:
        """The halt of all chains of some parts, which are at the same step and follow one another."""
        first = parts[0]
        chains = range(first.chains.start, parts[-1].chains.stop)
        if len({(part.step, part.rows) for part in parts}) > 1 or chains != range(
            first.chains.start, first.chains.start + sum(len(part.chains) for part in parts)
        ):
            raise ValueError("parts at different steps, or with chains between them")
        return first._mapped(chains, lambda arrays: np.concatenate(arrays, axis=1), *parts[1:])

    def _mapped(self, chains: range, act: Any, *others: Halt) -> Halt:
        """The halt whose arrays with chains are what `act` makes of those of this and other halts."""
        both = (self, *others)

        def of(arrays: Sequence[np.ndarray]) -> np.ndarray:
            return arrays[0] if arrays[0].ndim < 2 else act(arrays)

        names = set(self.held).intersection(*(other.held for other in others))
        if any(set(other.held) != names for other in both):
            raise ValueError("parts with different statistics")
        return replace(
            self,
            chains=chains,
            state={name: of([part.state[name] for part in both]) for name in self.state},
            carried=tuple(of(arrays) for arrays in zip(*(part.carried for part in both), strict=True)),
            held={name: of([part.held[name] for part in both]) for name in self.held},
        )

    def save(self, path: Path, **more: Any) -> None:
        """Write a file in one move; `more` are values of the header. Raises `OSError` if it cannot be written."""
        chains = [self.chains.start, self.chains.stop]
        header = {**more, "version": VERSION, "chains": chains, "step": self.step, "rows": self.rows}
        save_state(path, header, dict(self._arrays()))

    @staticmethod
    def load(path: Path) -> tuple[Halt, dict[str, Any]]:
        """A halt and its header, read from a file that `save` wrote. Raises `ConfigurationError` for every other file."""
        try:
            header, arrays = load_state(path)
            if header["version"] != VERSION:
                raise ValueError(f"version {header['version']}, expected {VERSION}")
            found = Halt(
                range(*header["chains"]),
                header["step"],
                tuple(header["rows"]),
                _group(arrays, "state"),
                tuple(_group(arrays, "carried").values()),
                _group(arrays, "held"),
            )
            return found, header
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(
                f"{str(path)!r}: is no stored run ({error}); expected a file that a run which was stopped has written"
            ) from None

    def _arrays(self) -> list[tuple[str, np.ndarray]]:
        return [
            *((f"state.{name}", value) for name, value in self.state.items()),
            *((f"carried.{k:02}", value) for k, value in enumerate(self.carried)),
            *((f"held.{name}", value) for name, value in self.held.items()),
        ]


def _copy(tensor: torch.Tensor) -> np.ndarray:
    """A copy of a tensor as an array of the same dtype."""
    return np.array(tensor.cpu().numpy(), order="C")


def _group(arrays: Mapping[str, np.ndarray], group: str) -> dict[str, np.ndarray]:
    """The arrays of a group by name, in the order in which they were written."""
    return {name.partition(".")[2]: value for name, value in arrays.items() if name.startswith(f"{group}.")}
