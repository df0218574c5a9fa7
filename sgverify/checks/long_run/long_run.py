"""Check: thousands of steps in a row of somebody's torch code have the law of its measured step."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from types import CodeType
from typing import Any, cast

import numpy as np
from scipy.special import gammainccinv, gammaincinv

from sgverify.checks.code.real_run import seeded
from sgverify.checks.long_run.departures import LEVEL, known_steps, told_steps
from sgverify.checks.long_run.running import CodeRun, FunctionRun, Ran, run_affine, run_alone, run_held
from sgverify.checks.question import Question
from sgverify.errors import SgverifyError, Unreached, UserError
from sgverify.evidence import Evidence, Scope, held, tried
from sgverify.law.torch_chain import StepLaw, law_of
from sgverify.rates.verdict import Judgement
from sgverify.schemes.torch_step import TorchStep, written
from sgverify.subject.seeds import run_seed

STEPS, SHORT, SEVERAL = 5_000, 400, 1_500
"""The steps of the run, of those with another dtype or with a step size that changes, and with several parameters besides."""

LONGEST = 20_000
"""The most steps of a run: twice the largest whole number that the code names, which may be a period or the end of a phase."""

CENTRE, RATE = 0.7, 1.1
"""The Gaussian's mean and precision."""

FIRST: Mapping[str, float] = {"h": 0.09, "T": 1.3, "D": 1.5}
SECOND: Mapping[str, float] = {"h": 0.06, "T": 0.8, "D": 2.1}
"""The numbers of a run, and those of the second group of an optimizer, as far as its options can differ between groups."""

WINDOW = 500
"""The length of the windows in which the variance of a run is held against the target's."""

ENTRIES, ROWS = 4_096, 1_024
"""The entries of theta, of a step that acts on each alone, and the chains of one that takes many."""

TOLERATED = 2.5 * FIRST["h"] * RATE
"""The largest share by which the variance of a step of order 1 may be off where its law is unknown.

That of Euler's step is off by h/2 times the curvature, and every order 1 is off by a share of that kind: this one is five times it.
"""

FEWEST = 100
"""The fewest copies whose variance in a window is looked at."""

GROWN = 1e6
"""The growth over a run beyond which rounding of the state is no more small beside the noise of a step."""

HELD = 0.7
"""A number behind every draw of a step that is held."""

MOST = 200_000
"""The most operations of a run of a plain function: fewer steps are taken of a step with many."""

BEFORE, NARROW = " before", "float32 beside float64"


class GoesAway(Unreached):
    """By its own law of one step a chain goes away, so that a run ends in rounding."""


def check_long_run(question: Question) -> Evidence:
    """Thousands of steps in a row, as the code takes them from a fresh start, have the law that one step was measured to have.

    The code runs on an isotropic Gaussian with its own draws, some thousand entries side by side: of tensors of several shapes, in
    groups with options of their own, where it is an optimizer. Each step is held against the law of one step, by copies: its mean,
    its variance, and its dependence on the state, on other copies and on earlier steps.

    Cannot see: what first happens after the steps that are run, at other shapes, or far from the Gaussian that it runs on.
    """
    subject = question.subject
    step = cast(TorchStep, subject.scheme)
    if "log_density" in step.declaration.ingredients and step.as_it_is is not None:
        return question.unanswered(
            "its step depends on the loss, which is not that of single entries", "not-applicable"
        )
    if step.generator or step.own_loss is not None:
        return question.unanswered(
            f"{step.generator or 'its own loss'} is not run by this check", "not-applicable"
        )
    try:
        with seeded(run_seed(subject, "long run")):
            return _LongRun(question, step).answer()
    except (Unreached, UserError) as error:
        return question.evidence(
            Judgement("inconclusive", False, f"its steps in a row are not judged: {error}"),
            method="monte-carlo",
            scope=Scope(),
        )


class _LongRun:
    def __init__(self, question: Question, step: TorchStep) -> None:
        self._question, self._step = question, step
        self._seed = run_seed(question.subject, "copies")
        self._laws = cache(self._law)
        self._tried: list[str] = []

    def _law(self, *numbers: float) -> StepLaw | None:
        dim = self._dim
        return law_of(
            self._step, dict(zip(("h", "T", "D"), numbers, strict=True)), np.full(dim, CENTRE), RATE
        )[0]

    def answer(self) -> Evidence:
        step = self._step
        self._dim = 1
        run = self._start()
        named = [
            n
            for n in (*named_numbers(step), *getattr(run, "left", {}).values())
            if type(n) is int and 2 * n <= LONGEST
        ]
        self._steps = max(STEPS, 2 * max(named, default=0))
        if step.as_it_is is None:
            self._steps = int(np.clip(MOST // run.operations, SHORT, self._steps))  # type: ignore[attr-defined]
        try:
            ran = self._run(run, self._steps)
        except GoesAway:
            raise
        except Unreached as error:
            if step.as_it_is is not None or self._dim > 1 or step.chains:
                return self._unread(error)
            try:
                run = FunctionRun(step, FIRST, CENTRE, RATE, self._question.subject.target.dim, 1, True)
                ran = self._run(run, self._steps)
            except Unreached:
                return self._unread(error)
        if ran.found:
            return self._departing(run, ran)
        more = self._more() if step.as_it_is is not None else ()
        for told, other, shorter in more:
            self._tried.append(told)
            if shorter.found:
                return self._departing(other, shorter, told)
        return self._of_several(run) or self._conforms(run, ran, _in_a_row(ran))

    def _of_several(self, alone: CodeRun) -> Evidence | None:
        """A failure with several parameters, of code whose law was read with one; None where it is none, or takes one alone."""
        if self._step.as_it_is is None or len(alone.parts) > 1:
            return None
        try:
            run = self._start(several=True)
            ran = run_alone(run, CENTRE, SEVERAL) if len(run.parts) > 1 else None
        except (Unreached, UserError):
            return None
        wrong = "" if ran is None else self._variance(run, ran)
        if ran is None or not wrong:
            return None
        reason = f"with several parameters {wrong}, and with one alone it is right"
        return self._settle(Judgement("violates", False, reason), run, ran, tried(_in_a_row(ran)))

    def _start(self, **more: Any) -> CodeRun:
        step = self._step
        if step.as_it_is is not None:
            return cast(CodeRun, step.as_it_is(FIRST, SECOND, CENTRE, RATE, **more))
        dim = self._question.subject.target.dim
        if step.chains:
            self._dim = dim
            return FunctionRun(step, FIRST, CENTRE, RATE, dim, ROWS, False)
        try:
            # Code that goes from entry to entry is not run on thousands of them.
            counts = {FunctionRun(step, FIRST, CENTRE, RATE, n, 1, True).operations for n in (2, 5)}
            if len(counts) == 1:
                run = FunctionRun(step, FIRST, CENTRE, RATE, ENTRIES, 1, True)
                law = self._laws(*FIRST.values())
                if law is None or _alone(run, law):
                    return run
        except SgverifyError:
            # It is made for fewer coordinates, or mixes them.
            pass
        self._dim = dim
        self._laws = cache(self._law)
        return FunctionRun(step, FIRST, CENTRE, RATE, dim, 1, False)

    def _run(self, run: CodeRun, count: int, *, error: float = 0.0) -> Ran:
        laws = [self._laws(*part.numbers.values()) for part in run.parts]
        for part, law in zip(run.parts, laws, strict=True):
            factor = 0.0 if law is None else float(np.abs(np.linalg.eigvals(law.matrix)).max())
            if count * np.log(max(factor, 1.0)) > np.log(GROWN):
                raise GoesAway(
                    f"a step at h = {part.numbers['h']:g} multiplies a distance by {factor:.4g}, on a Gaussian of precision "
                    f"{RATE}: a run goes away as its one step says"
                )
        if run.variables is not None and all(law is not None for law in laws):
            widened = {
                id(law): replace(law, error=law.error + error, rounding=law.rounding + error)
                for law in laws
                if law
            }
            known = [widened[id(law)] for law in laws]
            return run_affine(run, known, CENTRE, count, self._seed)
        return run_held(run, CENTRE, count, self._seed, error)

    def _more(self) -> Iterator[tuple[str, CodeRun, Ran]]:
        """The runs besides: with a step size that changes between steps, and in float32."""
        import torch

        run = self._start()
        for factor in (1.0, 0.5, 1.5):
            if factor != 1.0 and not run.schedule(factor):  # type: ignore[attr-defined]
                break
            yield "an lr that changes between steps", run, self._run(run, SHORT // 2)
        narrow = self._start(dtype=torch.float32)
        yield NARROW, narrow, self._run(narrow, SHORT, error=1e-4)

    def _scope(self, run: CodeRun, time: Any) -> Scope:
        kinds = dict.fromkeys("vectors" if "vector" in part.name else part.name for part in run.parts)
        numbers = [f"h = {h:g}" for h in dict.fromkeys(part.numbers["h"] for part in run.parts)]
        apart = len({tuple(part.numbers.values()) for part in run.parts}) > 1
        shapes = ", ".join(kinds) + " in two groups" * apart
        return Scope(
            steps=tried(" and ".join(numbers)),
            targets=tried(f"a Gaussian of precision {RATE}"),
            time=time,
            shapes=tried(shapes) if self._step.as_it_is is not None else None,
            dtypes=tried("float64 and float32" if NARROW in self._tried else "float64"),
        )

    def _conforms(self, run: CodeRun, ran: Ran, time: str) -> Evidence:
        copies = sum(part.size for part in run.parts)
        looked = (
            "" if len(ran.steps) == ran.steps[-1] else f" (held against one step at {len(ran.steps)} of them)"
        )
        beside = f", {copies:,} copies side by side" if copies > 1 else ""
        also = f"; and {', '.join(dict.fromkeys(self._tried))}" if self._tried else ""
        reason = (
            f"{time}{looked}{beside}: every step has the mean and variance of one step, and its noise is "
            f"independent of other copies and steps{also}"
        )
        return self._settle(Judgement("conforms", False, reason), run, ran, tried(time))

    def _unread(self, error: Unreached) -> Evidence:
        """The answer where steps are held against no law: the variance of theta is all that is looked at."""
        run = self._start()
        ran = run_alone(run, CENTRE, self._steps)
        wrong = self._variance(run, ran)
        told = f"its steps are held against no law of one step: {error}"
        if wrong:
            return self._settle(
                Judgement("violates", False, f"in {self._steps:,} steps in a row {wrong}; {told}"),
                run,
                ran,
                None,
            )
        reason = (
            f"{told}; in {self._steps:,} steps in a row the variance of theta stays {self._nearest(run, ran)}"
        )
        return self._settle(Judgement("inconclusive", False, reason), run, ran, tried(_in_a_row(ran)))

    def _departing(self, run: CodeRun, ran: Ran, told: str = "") -> Evidence:
        flags = ran.departing
        wrong = self._variance(run, ran) if flags.any() else ""
        apart = [item for item in ran.found if item.kind == "dependence"]
        if flags.any():
            # A law that changes leaves its traces in later steps, and its innovations are no noise of which copies are independent.
            known = known_steps(ran.found)
            apart = [item for item in apart if BEFORE not in item.what and (item.flags & known).any()]
        where = f"with {told}, " if told else ""
        if wrong or apart:
            shown = [
                wrong,
                *map(str, apart[:1] if apart else ()),
                *(map(str, ran.found[:1]) if flags.any() else ()),
            ]
            reason = f"{where}steps in a row have not the law of one step: {'; '.join(filter(None, shown))}"
            return self._settle(Judgement("violates", False, reason), run, ran, tried(_in_a_row(ran)))
        when = told_steps(flags)
        ended = int(np.flatnonzero(flags)[-1]) + 1 if flags.any() else 0
        if not told and 0 < ended <= WINDOW and self._step.as_it_is is not None:
            option = self._burn_in(run, ended)
            if option:
                return self._conforms(
                    run, ran, f"steps {ended + 1} to {ran.steps[-1]:,} in a row, from the end of {option} on"
                )
        reason = (
            f"{where}it is no chain of one step that stays: {'; '.join(map(str, ran.found[:2]))}; judged over steps 1 to "
            f"{ran.steps[-1]:,}, in which the variance of theta stays {self._nearest(run, ran)}"
        )
        changes = held(f"the law of one step, which changes {when}")
        return self._settle(Judgement("inconclusive", False, reason), run, ran, changes)

    def _windows(self, run: CodeRun, ran: Ran) -> list[tuple[str, int, int, float, tuple[float, float]]]:
        """The variance of theta over the target's, and its bounds, of blocks of many copies in windows after the first."""
        found = []
        count = len(ran.squares)
        width = min(WINDOW, count // 4)
        for number, part in enumerate(run.parts):
            if part.size < FEWEST:
                continue
            # Steps in a row that hardly move count as one: no more than the copies are independent.
            off = min(TOLERATED, self._bias_of(part.numbers))
            starts = range(width, count - width + 1, width)
            # All windows of all parts have one level.
            level = LEVEL / (2 * len(starts) * len(run.parts))
            # The sum of squares of as many normal numbers is twice one of a gamma law.
            half = part.size / 2
            low, high = (
                (1 - off) * gammaincinv(half, level) / half,
                (1 + off) * gammainccinv(half, level) / half,
            )
            for start in starts:
                ratio = ran.squares[start : start + width, number].mean() * RATE / part.numbers["T"]
                found.append((part.name, start + 1, start + width, float(ratio), (low, high)))
        return found

    def _bias_of(self, numbers: Mapping[str, float]) -> float:
        """The relative error of the variance by the law of one step; infinite where none is read."""
        try:
            law = self._laws(*numbers.values())
        except Unreached:
            return np.inf
        return np.inf if law is None else law.bias

    def _variance(self, run: CodeRun, ran: Ran) -> str:
        """Where the variance of theta is wrong by more than its error; "" where it is not."""
        found = [item for item in self._windows(run, ran) if not item[4][0] <= item[3] <= item[4][1]]
        if not found:
            return ""
        name, start, end, ratio, _ = max(
            found, key=lambda item: max(item[3] / item[4][1], item[4][0] / max(item[3], 1e-300))
        )
        return f"the variance of {name} is {ratio:.3g} times the target's in steps {start} to {end}"

    def _nearest(self, run: CodeRun, ran: Ran) -> str:
        ratios = [ratio for *_, ratio, _ in self._windows(run, ran)]
        return f"between {min(ratios):.3g} and {max(ratios):.3g} times the target's" if ratios else "unknown"

    def _burn_in(self, run: CodeRun, ended: int) -> str:
        """The option whose value is the number of steps that depart, and that moves it; "" if there is none."""
        for name, value in run.left.items():  # type: ignore[attr-defined]
            if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value - ended) <= 1:
                other = type(value)(value // 2)
                flags = np.flatnonzero(self._run(self._start(made_with={name: other}), SHORT).departing)
                if len(flags) and int(flags[-1]) + 1 == ended - value + other:
                    return f"{name}={value}"
        return ""

    def _settle(self, judgement: Judgement, run: CodeRun, ran: Ran, time: Any) -> Evidence:
        certificate = {
            "steps": int(ran.steps[-1]),
            "steps_looked_at": len(ran.steps),
            "copies": {part.name: part.size for part in run.parts},
            "numbers": [
                dict(numbers) for numbers in {tuple(p.numbers.items()): p.numbers for p in run.parts}.values()
            ],
            "departures": [str(item) for item in ran.found],
        }
        return self._question.evidence(
            judgement, method="monte-carlo", certificate=certificate, scope=self._scope(run, time)
        )


def named_numbers(step: TorchStep) -> Iterator[Any]:
    """The numbers that the code of a step names: those in its text, and those of its defaults, its closure and its globals."""
    function = written(step.function)
    function = inspect.unwrap(getattr(function, "function", function))
    function = getattr(function, "__func__", function)
    codes = [function.__code__] if hasattr(function, "__code__") else []
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        yield from code.co_consts
        yield from (function.__globals__.get(name) for name in code.co_names)
    if codes:
        yield from function.__defaults__ or ()
        yield from (function.__kwdefaults__ or {}).values()
        yield from inspect.getclosurevars(function).nonlocals.values()


def _alone(run: CodeRun, law: StepLaw) -> bool:
    """Does a change of the state move each entry by the law of one entry alone, with all draws held?"""
    state = run.flat()
    change = np.random.default_rng(0).standard_normal(len(state))
    due = law.matrix @ change.reshape(run.variables or 1, -1)
    moved = run.held(state + change, HELD) - run.held(state, HELD)
    return bool(np.allclose(moved, due.reshape(-1), rtol=1e-6, atol=1e-6))


def _in_a_row(ran: Ran) -> str:
    return f"steps 1 to {ran.steps[-1]:,} in a row"
