"""How does a kernel compute energies over minibatches and data?

What an energy takes from data is one operation on a tape, which becomes a loop over data; the rest is recorded as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function

from sgverify.errors import Unreached
from sgverify.samplers.fused.data_sums import by_halves
from sgverify.samplers.fused.gradients import TRACED, padded
from sgverify.samplers.fused.loops import SHARED, LoopText, TapeAt, taped
from sgverify.samplers.fused.translation import translate
from sgverify.samplers.gradients.derivatives import of_pair, value_of
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.reading.tape import Tape


def sum_of_values(theta: Tensor, chosen: Tensor | None) -> Tensor:
    """sum_i likelihood(theta, x_i) over a minibatch, None for all data, float64: one operation on a tape."""
    given = (theta,) if chosen is None else (theta, chosen)
    if has_torch_function(given):
        found: Tensor = handle_torch_function(sum_of_values, given, theta, chosen)
        return found
    return torch.ones(theta.shape[:-1], dtype=torch.float64)


def mean_of_rows(chosen: Tensor) -> Tensor:
    """The mean deviation of a minibatch's gradients and energies from the full ones, float64: one operation on a tape.

    The energy's comes after the d numbers of the gradient.
    """
    if has_torch_function((chosen,)):
        found: Tensor = handle_torch_function(mean_of_rows, (chosen,), chosen)
        return found
    # The traced minibatch holds the dimension as its numbers.
    return torch.ones((*chosen.shape[1:], int(chosen.flatten()[0]) + 1), dtype=torch.float64)


def sample_of_energies(theta: Tensor, chosen: Tensor) -> Tensor:
    """The energies over each of r minibatches, float64 of shape (r, *batch, 1): one operation on a tape.

    theta has shape (*batch, d), `chosen` the shape (n, r, *batch).
    """
    if has_torch_function((theta, chosen)):
        found: Tensor = handle_torch_function(sample_of_energies, (theta, chosen), theta, chosen)
        return found
    return torch.ones((*chosen.shape[1:], 1), dtype=torch.float64)


class RecordedEnergies(Potential):
    """A potential whose sums of energies over data are single operations; the rest is that of the given potential.

    Raises `Unreached` for a likelihood that sums over data itself.
    """

    def __init__(self, potential: Potential) -> None:
        vars(self).update(vars(potential))
        self.of = potential
        self._found: dict[int, tuple[Tensor, Tensor]] = {}
        if potential._summed is not None:
            raise Unreached("the energy of a likelihood in torch code of a user")

    def minibatch(self, batch: int, rows: int) -> Tensor:
        """A minibatch for a recording; its numbers are those of the coordinates."""
        return torch.full((batch, rows, TRACED), self.target.dim, dtype=torch.int64)

    def tape_of_one_datum(self, rows: int) -> Tape | None:
        """The tape of one datum's energy, a function of theta and the datum; None if energies visit no data."""
        if self.data is None or (self._exact is not None and self._exact.heights is not None):
            return None
        theta = torch.ones((rows, TRACED, self.target.dim), dtype=self.dtype)
        datum = torch.ones((rows, TRACED, self.data.shape[1]), dtype=self.dtype)
        energy = of_pair(self.target, datum)
        return taped(lambda: (value_of(energy, theta),), [("", theta), ("", datum)]).tape

    def tape_of_a_sample(self, batch: int, rows: int) -> TapeAt:
        """The tape of the energy over one minibatch of so many data, a function of theta and the minibatch."""
        theta = torch.ones((rows, TRACED, self.target.dim), dtype=self.dtype)
        chosen = self.minibatch(batch, rows)

        def energy() -> tuple[Tensor]:
            self.begin()
            return (self.energy_over(theta, chosen)[..., None],)

        return taped(energy, [("", theta), ("", chosen)])

    def _sum_of_values(self, theta: Tensor, chosen: Tensor | None) -> Tensor:
        return sum_of_values(theta, chosen)

    def _deviation(self, chosen: Tensor) -> Tensor:
        return self._rows(chosen)[..., : self.target.dim]

    def _height(self, chosen: Tensor) -> Tensor:
        return self._rows(chosen)[..., self.target.dim]

    def _rows(self, chosen: Tensor) -> Tensor:
        """What a minibatch adds does not depend on the point: it is computed once."""
        if id(chosen) not in self._found:
            self._found[id(chosen)] = (chosen, mean_of_rows(chosen))
        return self._found[id(chosen)][1]

    def begin(self) -> None:
        """Forget what was computed of minibatches: a new recording begins."""
        self._found = {}

    def tables(self) -> EnergyTables:
        """The data as the kernel reads them."""
        nothing, none = np.zeros((1, 1)), torch.zeros(1, dtype=self.dtype)
        if self.data is None:
            return EnergyTables(nothing, none, none, none)
        affine = self._exact
        if affine is not None and affine.heights is not None and affine.deviations is not None:
            found = affine.deviations.numpy()
            rows = np.zeros((len(found), padded(found.shape[1] + 1)))
            rows[:, : found.shape[1]] = found
            rows[:, found.shape[1]] = affine.heights.numpy()
            return EnergyTables(rows, none, none, none)
        whole, weights = self.all_data
        return EnergyTables(
            nothing,
            self.data.contiguous(),
            whole.contiguous(),
            none if weights is None else weights.contiguous(),
        )


@dataclass(frozen=True, eq=False)
class EnergyTables:
    """The deviations of an affine gradient's data, float64, or `data` (N, w), and `whole` with `weights`.

    A row holds the deviation of the gradient and that of the energy: shape (N, padded d + 1).
    """

    rows: np.ndarray
    data: Tensor
    whole: Tensor
    weights: Tensor


@dataclass(frozen=True)
class EnergyMinibatch:
    """Minibatches in C, `count` of `size` data each: `data` is a pointer to the data at a place, one for each chain at hand."""

    size: int
    count: int
    data: str


@dataclass(frozen=True)
class EnergyText:
    """Writes the C text of `sum_of_values`, `mean_of_rows` and `sample_of_energies`.

    `body` is the tape of one datum's energy, whose constants lie from `offset` on in the kernel's array of constants, `sample`
    that of the energy over one minibatch of a sample. `minibatches` says where those of an input lie.
    """

    potential: Potential
    body: Tape | None
    offset: int
    sample: TapeAt | None
    minibatches: Mapping[str, EnergyMinibatch]

    @property
    def key(self) -> tuple[Any, ...]:
        """What decides its texts."""
        potential, body, sample = self.potential, self.body, self.sample
        data = None
        if body is not None and potential.data is not None:
            whole, weights = potential.all_data
            data = body.key, potential.data.shape[1], len(whole), weights is None
        found = (potential.target.dim, data, self.offset, sample and sample.key)
        return (*found, *self.minibatches.items())

    def write(self, operation: str, theta: str, source: str, result: str) -> LoopText:
        """The statements that put the result of an operation of this module into the array `result`.

        `theta` is the array of the point, empty for an operation without one; `source` names the minibatch, empty for all data.
        """
        if operation == "sum_of_values":
            return self._sum(theta, source, result)
        if operation == "sample_of_energies":
            return self._sampled(theta, source, result)
        return self._mean(source, result)

    def _mean(self, source: str, result: str) -> LoopText:
        """The rows are added chain by chain, as they lie."""
        dim, batch = self.potential.target.dim, self.minibatches[source].size
        width, total = padded(dim + 1), f"{result}t"
        lines = [
            f"memset({total}, 0, sizeof {total});",
            f"for (int b = 0; b < {batch}; b++) {{",
            self._chosen(source, "b"),
            "for (int l = from; l < to; l++) {",
            f"const double *const row = energy_rows + (u64)chosen_by[l] * {width};",
            f"for (int j = 0; j < {width}; j++) {total}[l][j] = {total}[l][j] + row[j];",
            "}",
            "}",
            f"for (int j = 0; j < {dim + 1}; j++) EACH(l) {result}[j][l] = {total}[l][j] / (double){batch};",
        ]
        return LoopText(
            [f"double {result}[{dim + 1}][WIDTH];", f"double {total}[WIDTH][{width}];"], "\n".join(lines)
        )

    def _sum(self, theta: str, source: str, result: str) -> LoopText:
        """In the order of `add_up`: runs by halves, one run after the other, then the data that are left."""
        potential, body = self.potential, self.body
        assert body is not None and potential.data is not None
        dim, width = potential.target.dim, potential.data.shape[1]
        whole, weights = potential.all_data
        everything, place, held = source == "", f"{result}i", f"{result}g"
        size = len(whole) if everything else self.minibatches[source].size
        datum = f"{SHARED}{result}x" if everything else f"{result}x"
        inputs: list[tuple[str, Any]] = [(theta, torch.ones((1, 2, dim))), (datum, torch.ones((1, 2, width)))]
        moved = translate(body, inputs, f"{result}b", offset=self.offset)
        if everything:
            reading = [f"const real *const {result}x = energy_whole + (u64){place} * {width};"]
        else:
            reading = [
                self._chosen(source, place),
                f"real {result}x[{width}][WIDTH];",
                f"memset({result}x, 0, sizeof {result}x);",
                f"for (int l = from; l < to; l++) for (int j = 0; j < {width}; j++) "
                f"{result}x[j][l] = energy_data[(u64)chosen_by[l] * {width} + j];",
            ]
        weight = f" * energy_weights[{place}]" if everything and weights is not None else ""
        halves = by_halves(result, place, size, "EACH(l)", "[l]")
        lines = [
            f"memset({result}, 0, sizeof {result});",
            f"for (int {place} = 0; {place} < {size}; {place}++) {{",
            *reading,
            f"double {held}[WIDTH];",
            moved.text,
            f"{{ const int j = 0; EACH(l) {held}[l] = {moved.results[0]}{weight}; }}",
            *halves,
            f"EACH(l) {result}[0][l] = {result}[0][l] + {held}[l];",
            "}",
        ]
        arrays = [f"double {result}[1][WIDTH];", f"double {result}h[HALVINGS][WIDTH];" if halves else ""]
        return LoopText(arrays, "\n".join(lines))

    def _sampled(self, theta: str, source: str, result: str) -> LoopText:
        """The energy over one minibatch after the other; what does not depend on the minibatch is computed once."""
        assert self.sample is not None
        drawn, at, number, inner = self.minibatches[source], self.sample, f"{result}q", f"{result}m"
        one = EnergyMinibatch(drawn.size, 1, drawn.data.format(f"{number} * {drawn.size} + ({{}})"))
        moved = translate(
            at.tape,
            [(name, like) for name, (_, like) in zip((theta, inner), at.inputs, strict=True)],
            f"{result}b",
            offset=at.narrow,
            wide=at.wide,
            energies=replace(self, minibatches={inner: one}),
            repeated=(inner, f"for (int {number} = 0; {number} < {drawn.count}; {number}++) {{"),
        )
        lines = [
            "{",
            moved.text,
            f"{{ const int j = 0; EACH(l) {result}[{number}][l] = {moved.results[0]}; }}",
            "}",
            "}",
        ]
        return LoopText([f"double {result}[{drawn.count}][WIDTH];"], "\n".join(lines))

    def _chosen(self, source: str, place: str) -> str:
        """The data of a minibatch at a place in it, for the chains at hand."""
        return f"const uint32_t *const chosen_by = {self.minibatches[source].data.format(place)};"
