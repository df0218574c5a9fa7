"""Which C text runs the steps of a composite with its actions?

The text is that of `together.c`, with the recorded step of all replicas, the recorded actions and test functions in their places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import torch
from torch import Tensor

from sgverify.samplers.fused.composites.energies import EnergyText
from sgverify.samplers.fused.composites.rule import Action, EnergyStream
from sgverify.samplers.fused.elementary import with_functions
from sgverify.samplers.fused.loops import SumWriter
from sgverify.samplers.fused.program import KernelShape, c_text, definitions, off_the_stack
from sgverify.samplers.fused.translation import NotTranslatable, translate
from sgverify.samplers.reading.tape import Tape


@dataclass(frozen=True)
class Variable:
    """A variable that a kernel holds for every chain: its name in C, dtype and width."""

    name: str
    dtype: torch.dtype
    width: int

    def kind(self, real: torch.dtype) -> str:
        """Its type in C, where `real` is the dtype of states."""
        return "real" if self.dtype == real else "double"


@dataclass(frozen=True)
class CompositeTapes:
    """What a kernel runs: the step of all replicas, what is renewed before it, the actions after it, and test functions, or None.

    `sums` and `energies` write sums over data, energies of actions on the minibatches of `streams`.
    """

    step: Tape
    step_inputs: list[tuple[str, Tensor]]
    begin: Action | None
    actions: list[Action]
    observe: Tape | None
    observed_inputs: list[tuple[str, Tensor]]
    sums: SumWriter | None
    energies: EnergyText
    streams: Sequence[EnergyStream]


def composite_program(
    shape: KernelShape,
    tapes: CompositeTapes,
    states: Sequence[Variable],
    held: Sequence[Variable],
    kept: Sequence[Variable],
    sizes: Sizes,
) -> str:
    """The C text of a kernel that holds the `states` of all replicas and what else is `held`, of which some are `kept`.

    Raises `NotTranslatable`.
    """
    real, everything = shape.dtype, [*states, *held]
    by_name = {variable.name: variable for variable in everything}
    wide = None if real == torch.float64 else 0
    moved = translate(
        tapes.step, tapes.step_inputs, "step_", sums=tapes.sums, wide=wide, energies=tapes.energies
    )
    if moved.widths != [variable.width for variable in states]:
        raise NotTranslatable("a step that changes the width of a variable")
    places = ConstantPlaces(tapes.step, real)
    parts = {
        "DECLARE_STATE": "\n".join(
            f"{v.kind(real)} {v.name}[{v.width}][WIDTH], N{v.name}[{v.width}][WIDTH];" for v in everything
        ),
        "LOAD_STATE": "\n".join(
            f"memset({v.name}, 0, sizeof {v.name});"
            + _kept(v, f"{v.name}[j][l] = ((const {v.kind(real)} *)before[{place}])[{_place(v)}];")
            for place, v in enumerate(everything)
        ),
        "STEP": _moved(moved.text, moved.results, states),
        "CHECK_STATE": "\n".join(_kept(v, f"left |= !(FABS({v.name}[j][l]) <= bound);") for v in states),
        "STORE_STATE": "\n".join(
            _kept(v, f"(({v.kind(real)} *)after[{place}])[{_place(v)}] = {v.name}[j][l];")
            for place, v in enumerate(everything)
        ),
        "KEEP": "\n".join(
            f"if (kept_values[{place}]) "
            + _kept(
                v,
                f"(({v.kind(real)} *)kept_values[{place}])[((kept_so_far * chains) + at + l) * {v.width} + j] = "
                f"{v.name}[j][l];",
            )
            for place, v in enumerate(kept)
        ),
        "BEGIN": "",
        "ACT": "",
        "OBSERVE": "",
    }
    acts = []
    for number, action in enumerate(tapes.actions):
        given = translate(
            action.tape,
            action.inputs,
            f"act{number}_",
            offset=places.narrow,
            wide=None if wide is None else places.wide,
            energies=tapes.energies,
        )
        places = places.after(action.tape)
        uniforms = sorted({name for name, _ in action.inputs if name.startswith("U")})
        drawn = [
            f"double {name}[1][WIDTH]; take_uniforms(&uniform[{name[1:]}], first + k, from, to, "
            f"put ? put + ((k * rows + s) * REPLICAS + {name[1:]}) * chains + at : 0, {name}[0]);"
            for name in uniforms
        ]
        body = _moved(given.text, given.results, [by_name[name] for name in action.changed])
        acts.append("\n".join([f"if ({action.when}) {{", *drawn, body, "}"]))
    acts += [
        f"if ({stream.event}) apart[{number}].used += {stream.each * stream.batch};"
        for number, stream in enumerate(tapes.streams)
    ]
    parts["ACT"] = "\n".join(acts)
    if tapes.observe is not None:
        seen = translate(
            tapes.observe,
            tapes.observed_inputs,
            "seen_",
            offset=places.narrow,
            wide=places.wide if wide == 0 else None,
        )
        each = len(seen.results) // sizes.replicas
        adding = "\n".join(
            f"if (counted[(k * rows + s) * REPLICAS + {o // each}]) sums[{o}][l] "
            + (
                f"= {text};"
                if sizes.weighted
                else f"+= {text} * weights[(k * rows + s) * REPLICAS + {o // each}];"
            )
            for o, text in enumerate(seen.results)
        )
        parts["OBSERVE"] = (
            f"{{\n{seen.text}\nconst int j = 0;\nfor (int l = from; l < to; l++) {{\n{adding}\n}}\n}}"
        )
    observed = 0 if tapes.observe is None else len(tapes.observe.outputs)
    each = max(1, observed // sizes.replicas)
    if tapes.begin is not None:
        places = places if tapes.observe is None else places.after(tapes.observe)
        begun = translate(
            tapes.begin.tape,
            tapes.begin.inputs,
            "begin_",
            offset=places.narrow,
            wide=None if wide is None else places.wide,
            sums=tapes.sums,
        )
        body = _moved(begun.text, begun.results, [by_name[name] for name in tapes.begin.changed])
        parts["BEGIN"] = f"if ({tapes.begin.when})" + body
    lines = [
        *definitions(shape, len(tapes.step.constants), observed),
        f"#define REPLICAS {sizes.replicas}",
        f"#define ALL_DRAWS {sizes.replicas * shape.draws}",
        f"#define APART {len(tapes.streams)}",
        f"#define NUMBERS {sizes.numbers}",
        f"#define FINEST {sizes.finest}",
        f"#define UNIFORMS {sizes.replicas - 1 if sizes.finest else 0}",
        f"#define SUMMED(o) (((o) % {each} * rows + s) * REPLICAS + (o) / {each})",
        c_text("variates.c"),
        c_text("streams.c"),
    ]
    for line in files(__package__).joinpath("together.c").read_text(encoding="utf-8").splitlines():
        lines.append(parts.get(line.strip(), line))
    return with_functions(off_the_stack("\n".join(lines) + "\n"))


@dataclass(frozen=True)
class Sizes:
    """The number of replicas, and of numbers that a step's chains share; `weighted`: do states have weights in averages?

    Actions read whole numbers below `finest`, 0 if none.
    """

    replicas: int
    numbers: int
    weighted: bool
    finest: int


class StepKey:
    """The operations of the step whose C text a kernel has: at other step sizes they may not be others."""

    def __init__(self) -> None:
        self._key = ""

    def is_new(self, tape: Tape) -> bool:
        """Is this the first step? Raises `NotTranslatable` for one of other operations than the first."""
        if self._key not in ("", tape.key):
            # What was proved at other step sizes says nothing of this step.
            raise NotTranslatable("a step whose operations depend on the step size")
        new, self._key = not self._key, tape.key
        return new


class ConstantPlaces:
    """Where the constants of the next tape begin, in the array of the states' dtype and in that of float64."""

    def __init__(self, tape: Tape | None, real: torch.dtype, narrow: int = 0, wide: int = 0) -> None:
        self._real = real
        for tensor in () if tape is None else tape.fixed:
            if tensor.dtype == real:
                narrow += tensor.numel()
            elif tensor.dtype == torch.float64:
                wide += tensor.numel()
            else:
                raise NotTranslatable(f"a constant in {tensor.dtype}")
        self.narrow, self.wide = narrow, wide

    def after(self, tape: Tape | None) -> ConstantPlaces:
        """The places after those of this tape."""
        return ConstantPlaces(tape, self._real, self.narrow, self.wide)


def _moved(text: str, results: Sequence[str], variables: Sequence[Variable]) -> str:
    """Statements that compute the new values of variables and then put them in place of the old ones."""
    news = "\n".join(
        f"for (int j = 0; j < {v.width}; j++) EACH(l) {{ N{v.name}[j][l] = {result}; }}"
        for v, result in zip(variables, results, strict=True)
    )
    copies = "\n".join(f"memcpy({v.name}, N{v.name}, sizeof {v.name});" for v in variables)
    return "{\n" + text + "\n" + news + "\n" + copies + "\n}"


def _kept(variable: Variable, body: str) -> str:
    return f"for (int j = 0; j < {variable.width}; j++) for (int l = from; l < to; l++) {{ {body} }}"


def _place(variable: Variable) -> str:
    return f"(s * {variable.width} + j) * chains + at + l"
