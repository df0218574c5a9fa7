"""Check: a float64 step of torch code is float64 throughout."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sgverify.checks.question import Question
from sgverify.errors import Unreached
from sgverify.evidence import Evidence, Point, tried
from sgverify.law.chosen_step import OTHERS, StepInput, black_box, questions_of, states_of, taker
from sgverify.rates.verdict import Judgement
from sgverify.samplers.intercepted.black_box import CodeError
from sgverify.samplers.intercepted.dtypes import DtypeAudit, Narrow, default_dtype, effect
from sgverify.samplers.intercepted.repeated_step import copies
from sgverify.schemes.torch_step import written
from sgverify.subject.composite import limits
from sgverify.subject.subject import Subject

SHRINK = (1.0, 1e-2, 1e-4)
"""The step sizes, as shares of the configured one, at which the effect of a narrow constant is measured.

Relative to the change of the state in one step, this effect grows as h falls.
"""

ROUNDING = 2.0**-24
"""The largest relative error of rounding a number to float32, which each operation of a step may carry on."""

SHOWN = 3
"""The number of faults that the reason names; the certificate names all."""


def check_dtype(question: Question) -> Evidence:
    """No narrower floating tensor flows through a step of torch code, but for those whose rounding is all that they change.

    Every operation of the step is watched below the Python interface, and the step is run with its constants in float64 and in
    float32.

    Cannot see: cancellation within float64, and branches of the code that the tried steps do not take.
    """
    try:
        return _of_torch_code(question)
    except Unreached as error:
        return question.unanswered(f"the step cannot be run with chosen draws: {error}")


def _of_torch_code(question: Question) -> Evidence:
    subject = question.subject
    box = black_box(subject)
    numbers = box.census(states_of(subject, 1)[0], subject.step)
    (call,) = questions_of(subject, 1, numbers)
    if _keeps(subject):
        raise Unreached("what it returns depends on earlier calls, whatever their dtype was: see pure-step")
    files = _files(subject.scheme.function)

    def take(h: float, audit: DtypeAudit | None = None, state: Any = call.state) -> Sequence[Tensor]:
        others = torch.Generator().manual_seed(OTHERS)
        return box.run(state, call.draws, h, others=others, witness=audit)[0]

    plain, doubled = DtypeAudit(files), DtypeAudit(files)
    result = take(subject.step, plain)
    if any(not torch.equal(a, b) for a, b in zip(result, take(subject.step), strict=True)):
        raise Unreached("called again with the same draws, it gives other numbers: see pure-step")
    with default_dtype(torch.float64):
        take(subject.step, doubled)
    effects = [_relative(take, call, subject.step * share) for share in SHRINK]
    faults = _returned(subject, call, result)
    # A constant or a draw in float32 changes a move by its rounding; where a difference cancels, by more, and more as h falls.
    rounded = "" if doubled.met or max(effects) > plain.operations * ROUNDING else f"{max(effects):.1g}"
    if any(effects) and not rounded:
        faults.append(
            "with its constants in float64 instead of float32 the step moves otherwise, as a share of what it moves, by "
            + ", ".join(
                f"{size:.2g} at h={subject.step * share:.3g}"
                for size, share in zip(effects, SHRINK, strict=True)
            )
        )
    if (any(effects) and not rounded) or doubled.met:
        faults += [f"{seen} flows through a float64 step" for seen in plain.found.values()]
    single = black_box(subject, dtype=torch.float32)
    narrow = tuple(value.to(torch.float32) for value in call.state)
    others = torch.Generator().manual_seed(OTHERS)
    alone = ""
    try:
        kept, _ = single.run(narrow, call.draws, subject.step, others=others)
    except CodeError as error:
        # Code that is made for float64 alone may fail in float32; the question is about float64.
        raised = type(error.__cause__ or error).__name__
        kept, alone = (), f"; in float32 it raises {raised}, and is not judged"
    widened = [
        f"a float32 step returns {name} in {value.dtype}"
        for name, value in zip(subject.scheme.state, kept, strict=not alone)
        if value.dtype != torch.float32
    ]
    if widened and getattr(getattr(subject.scheme, "context", None), "drawn", False):
        # numpy draws in float64 alone, and the question is about float64.
        alone = f"; {widened[0]}, as numpy draws, and is not judged"
    else:
        faults += widened
    points = [
        Point(step=subject.step * share, value=size, note="change of the step, as a share of what it moves")
        for size, share in zip(effects, SHRINK, strict=True)
    ]
    what = f"a step of {plain.operations} operations"
    width = "float64 throughout"
    if any(effects) and rounded:
        lines = ", ".join(seen.line for seen in plain.met.values())
        width = f"float64 but for float32 constants or draws in {lines}, whose rounding changes a move by {rounded} of it at most"
    elif plain.found:
        width = f"{width}, but for constants that float32 holds exactly"
    said = f"{what} is {width}; every operation and its floating tensors were watched{alone}"
    return _evidence(question, faults, said, list(plain.found.values()), points)


def _keeps(subject: Subject) -> bool:
    """Does a repeated call with the same state, draws and minibatch return other numbers, so that the step keeps something?"""
    take, count = taker(subject)
    asked = questions_of(subject, 2, count(states_of(subject, 1)[0]))
    runs = [list(take(copies(call.state), call.draws, call.h)) for call in (*asked, *reversed(asked), *asked)]
    pairs = ((runs[0], runs[3]), (runs[0], runs[4]), (runs[1], runs[2]), (runs[1], runs[5]))
    return any(not torch.equal(a, b) for one, other in pairs for a, b in zip(one, other, strict=True))


def _returned(subject: Subject, call: StepInput, result: Sequence[Tensor]) -> list[str]:
    return [
        f"a float64 step returns {name} in {value.dtype}"
        for name, value in zip(subject.scheme.state, result, strict=True)
        if value.dtype != torch.float64
    ]


def _relative(take: Any, call: StepInput, h: float) -> float:
    """The largest effect of narrow constants on a variable, as a share of what a step moves it."""
    moved = take(h)
    shares = [0.0]
    for apart, new, old in zip(effect(lambda: take(h)), moved, call.state, strict=True):
        path = float((new - old).abs().max()) if new.numel() else 0.0
        shares.append(apart / path if path else apart)
    return max(shares)


def _evidence(
    question: Question,
    faults: list[str],
    said: str,
    narrow: list[Narrow],
    points: Sequence[Point],
) -> Evidence:
    subject = question.subject
    shown = "; ".join(faults[:SHOWN] + ([f"and {len(faults) - SHOWN} more"] if len(faults) > SHOWN else []))
    judgement = (
        Judgement("violates", False, f"not float64 throughout: {shown}")
        if faults
        else Judgement("conforms", False, said)
    )
    return question.evidence(
        judgement,
        scope=question.scope(
            states=tried("one state"), dtypes=tried("float64, with every operation watched")
        ),
        points=points,
        certificate={
            "watched": "every operation of the step",
            "narrow": [str(seen) for seen in narrow],
            "faults": faults,
            "limits": limits(subject.target.dim),
        },
    )


def _files(function: Any) -> tuple[str, ...]:
    code = getattr(inspect.unwrap(written(function)), "__code__", None)
    if code is None:
        code = getattr(type(function).__call__, "__code__", None)
    return () if code is None else (code.co_filename,)
