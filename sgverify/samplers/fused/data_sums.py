"""Which C statements sum the gradients of data?

Every sum is taken in the order of `add_up`: a run of data by halves, one run after the other, then the data that are left. Over
the data of minibatches each chain has data of its own. Over all data either chains lie side by side, a run of data at once, or, for
a few chains, the data of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.fused.loops import SHARED, LoopText, Parted
from sgverify.samplers.fused.translation import translate, translate_in_parts
from sgverify.samplers.reading.arithmetic import RUN
from sgverify.samplers.reading.tape import Tape

_HALVINGS = RUN.bit_length() - 1


@dataclass(frozen=True)
class SumText:
    """Writes the C text of `sum_of_gradients`, over all `size` data or a minibatch of `batch`.

    `body` is the tape of the gradient of one datum of `width` numbers, whose constants lie in the kernel's array of constants from
    `offset` on. `weighted`: each datum counts with a weight. `few`: at most a few chains move side by side.
    """

    body: Tape
    dim: int
    width: int
    offset: int
    size: int
    batch: int
    weighted: bool
    few: bool

    @property
    def key(self) -> tuple[Any, ...]:
        """What decides its texts."""
        sizes = (self.dim, self.width, self.offset, self.size, self.batch)
        return (self.body.key, *sizes, self.weighted, self.few)

    def write(self, theta: str, source: str, result: str) -> LoopText:
        """The statements that put the sum at the point `theta`, an array [d][chains], into the array `result`.

        `source` is the number of the minibatch, or empty for all data.
        """
        loop = self._over_all(theta, result) if source == "" else self._over_minibatch(theta, source, result)
        lines = [f"memset({result}, 0, sizeof {result});", *loop]
        return LoopText([f"real {result}[{self.dim}][WIDTH];"], "\n".join(lines))

    def write_change(self, theta: str, source: str, result: str, *, again: bool) -> LoopText:
        """The statements that put sum_{i in B} (g_i(theta) - a_i) into the array `result`, a_i from the table.

        `again`: the minibatch was evaluated in this step before, so that its gradients are not those that enter the table.
        """
        place = f"{result}i"
        datum, statements = self._datum(theta, source, result)
        found = "latest" if again else f"entering[{source}]"
        lines = [
            *statements,
            # Chain by chain, as the table lies.
            f"for (int j = 0; j < {self.dim}; j++) EACH(l) {found}[{place}][l][j] = {datum};",
            f"memcpy(places[{source}][{place}], {result}c, sizeof places[{source}][{place}]);",
            "}",
            f"memset({result}, 0, sizeof {result});",
            f"sum_changes(own_table, size, from, to, places[{source}], {found}, {result});",
        ]
        return LoopText([f"real {result}[{self.dim}][WIDTH];"], "\n".join(lines))

    def write_table(self, theta: str) -> str:
        """The statements that fill the table with the gradients at the point `theta`."""
        inputs = self._inputs(theta, f"{SHARED}fillx")
        moved = translate(self.body, inputs, "fill", offset=self.offset)
        lines = [
            "for (i64 i = 0; i < size; i++) {",
            f"const real *const fillx = data + i * {self.width};",
            moved.text,
            "for (int l = from; l < to; l++) for (int j = 0; j < DIM; j++) "
            f"own_table[(l * size + i) * DIM + j] = {moved.results[0]};",
            "}",
        ]
        return "\n".join(lines)

    def _inputs(self, theta: str, datum: str) -> list[tuple[str, Tensor]]:
        return [(theta, torch.ones((1, 2, self.dim))), (datum, torch.ones((1, 2, self.width)))]

    def _over_minibatch(self, theta: str, source: str, result: str) -> list[str]:
        """Each chain has data of its own: the gradients are added in the order of `add_up`, runs by halves."""
        datum, statements = self._datum(theta, source, result)
        place, held = f"{result}i", f"{result}g"
        every = f"for (int j = 0; j < {self.dim}; j++) EACH(l)"
        halves = by_halves(result, place, self.batch, every, "[j][l]")
        if not halves:
            return [*statements, f"{every} {result}[j][l] = {result}[j][l] + {datum};", "}"]
        return [
            f"static _Thread_local real {result}h[HALVINGS][{self.dim}][WIDTH];",
            *statements,
            f"real {held}[{self.dim}][WIDTH];",
            f"{every} {held}[j][l] = {datum};",
            *halves,
            f"{every} {result}[j][l] = {result}[j][l] + {held}[j][l];",
            "}",
        ]

    def _datum(self, theta: str, source: str, result: str) -> tuple[str, list[str]]:
        """The gradient of a datum as an expression in j and l, and the statements before it in an open loop over a minibatch.

        Their datum has the place {result}i in the minibatch and the number {result}c[l] of all.
        """
        moved = translate(self.body, self._inputs(theta, f"{result}x"), f"{result}b", offset=self.offset)
        place = f"{result}i"
        return moved.results[0], [
            f"for (int {place} = 0; {place} < {self.batch}; {place}++) {{",
            f"const i64 {result}n = ((first + k) * MINIBATCHES + {source}) * {self.batch} + {place};",
            f"const uint32_t *const {result}c = take_indices(&chosen, {result}n, from, to);",
            f"real {result}x[{self.width}][WIDTH];",
            f"EACH(l) for (int j = 0; j < {self.width}; j++) {result}x[j][l] = data[(u64){result}c[l] * {self.width} + j];",
            moved.text,
        ]

    def _over_all(self, theta: str, result: str) -> list[str]:
        run, datum = f"{result}u", f"{SHARED}{result}x"
        moved = translate(self.body, self._inputs(theta, datum), f"{result}b", offset=self.offset)
        runs: list[str] = []
        if self.size >= RUN:
            runs = (self._data_side_by_side if self.few else self._chains_side_by_side)(theta, result)
        every = f"for (int j = 0; j < {self.dim}; j++) EACH(l)"
        return [
            f"i64 {run} = 0;",
            *runs,
            f"for (; {run} < {self.size}; {run}++) {{",
            f"const real *const {result}x = data + ({self._first} + {run}) * {self.width};",
            moved.text,
            f"{every} {result}[j][l] = {result}[j][l] + {moved.results[0]}{self._weight(run)};",
            "}",
        ]

    @property
    def _first(self) -> str:
        """The place of the first datum; those with weights come after the data themselves."""
        return "size" if self.weighted else "0"

    def _weight(self, place: str) -> str:
        return f" * data_weights[{place}]" if self.weighted else ""

    def _chains_side_by_side(self, theta: str, result: str) -> list[str]:
        """The data of a run one after the other, then their sums coordinate by coordinate.

        Few enough chains at once that what a run needs of them stays in vector registers: their coordinates, while the data pass,
        then the numbers of each datum, while the coordinates pass. Chains beside those that move are left out.
        """
        rows, run = f"{result}r", f"{result}u"
        inputs = self._inputs(theta, f"{SHARED}{result}x")
        parted = translate_in_parts(self.body, inputs, f"{result}b", offset=self.offset)
        every, first = f"for (int j = 0; j < {self.dim}; j++) EACH(l)", f"{result}v"
        if parted is None:
            # The gradients of a run's data are kept whole.
            moved = translate(self.body, inputs, f"{result}b", offset=self.offset)
            text = f"{moved.text}\n{every} {result}g[j][l] = {moved.results[0]};"
            parted = Parted([("real", f"{result}g", self.dim)], text, [], f"{result}g[j][l]")

        def at_once(text: str) -> str:
            return text.replace("EACH(l)", f"EACH_AT_ONCE({first}, l)")

        return [
            # Too large for the stack of every thread.
            *(
                f"static _Thread_local {kind} {name}all[RUN][{width}][WIDTH];"
                for kind, name, width in parted.arrays
            ),
            f"for (; {run} + RUN <= {self.size}; {run} += RUN) {{",
            f"const real *const {rows} = data + ({self._first} + {run}) * {self.width};",
            f"for (int {first} = from / AT_ONCE * AT_ONCE; {first} < to; {first} += AT_ONCE) {{",
            "for (int n = 0; n < RUN; n++) {",
            f"const real *const {result}x = {rows} + n * {self.width};",
            *(f"{kind} (*const {name})[WIDTH] = {name}all[n];" for kind, name, _ in parted.arrays),
            at_once(parted.text),
            "}",
            at_once(every) + " {",
            *self._by_halves(parted, result),
            f"{result}[j][l] = {result}[j][l] + {result}s0_{RUN};",
            "}",
            "}",
            "}",
        ]

    def _by_halves(self, parted: Parted, result: str) -> list[str]:
        """The sum of a run's gradients at coordinate j, neighbours first, as {result}s0_RUN."""
        lines: list[str] = []
        for n in range(RUN):
            value = f"{result}s{n}_1 = {parted.result}{self._weight(f'{result}u + {n}')}; }}"
            each = "\n".join([*parted.lines, value])
            for _, name, _ in parted.arrays:
                each = each.replace(f"{name}[", f"{name}all[{n}][")
            datum = f"({result}r + {n * self.width})["
            lines.append(f"real {result}s{n}_1; {{ " + each.replace(f"{result}x[", datum))
            size = 1
            while (n + 1) % (2 * size) == 0 and size < RUN:
                left, right = n + 1 - 2 * size, n + 1 - size
                parts = f"{result}s{left}_{size} + {result}s{right}_{size}"
                lines.append(f"const real {result}s{left}_{2 * size} = {parts};")
                size *= 2
        return lines

    def _data_side_by_side(self, theta: str, result: str) -> list[str]:
        """The data of a run side by side, one chain after the other; `data_across` has them by coordinate."""
        run, at, sums = f"{result}u", f"{result}p", f"{result}s"
        inputs = self._inputs(f"{SHARED}{at}", f"{result}x")
        moved = translate(self.body, inputs, f"{result}b", offset=self.offset)

        def side_by_side(text: str) -> str:
            return text.replace("WIDTH", "RUN").replace("EACH(l)", "EACH_OF_RUN(l)")

        halves = []
        for level in range(_HALVINGS):
            half = RUN >> (level + 1)
            halves.append(f"for (int l = 0; l < {half}; l++) {sums}[l] = {sums}[2 * l] + {sums}[2 * l + 1];")
        return [
            "for (int q = from; q < to; q++) {",
            f"real {at}[{self.dim}];",
            f"for (int j = 0; j < {self.dim}; j++) {at}[j] = {theta}[j][q];",
            f"for ({run} = 0; {run} + RUN <= {self.size}; {run} += RUN) {{",
            f"const real (*const {result}x)[RUN] = (const real (*)[RUN])(data_across + {run} * {self.width});",
            side_by_side(moved.text),
            f"for (int j = 0; j < {self.dim}; j++) {{",
            f"real {sums}[RUN];",
            side_by_side(f"EACH(l) {sums}[l] = {moved.results[0]}{self._weight(f'{run} + l')};"),
            *halves,
            f"{result}[j][q] = {result}[j][q] + {sums}[0];",
            "}",
            "}",
            "}",
        ]


def by_halves(result: str, place: str, size: int, each: str, entry: str) -> list[str]:
    """The statements that add up runs by halves, in a loop over so many data: of the datum at `place` as {result}g.

    They end the loop's pass until a run is whole, whose sum is then in {result}g; empty where there are fewer data than a run has.
    """
    if size < RUN:
        return []
    lines, held = [f"if ({place} < {size} / {RUN} * {RUN}) {{"], f"{result}g{entry}"
    for level in range(_HALVINGS):
        half = f"{result}h[{level}]{entry}"
        lines += [
            f"if (!({place} >> {level} & 1)) {{ {each} {half} = {held}; continue; }}",
            f"{each} {held} = {half} + {held};",
        ]
    return [*lines, "}"]
