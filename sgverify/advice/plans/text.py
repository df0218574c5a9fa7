"""How is advice shown on a terminal? The advice first, then the plans beside it, then what the numbers rest on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill

from sgverify.advice.plans.model import Advice, Plan
from sgverify.advice.size.model import NONE, percent

WIDTH = 100
"""Columns of a line; a command line is never broken."""

ROWS = 12
"""Plans in the table of a terminal; JSON has all."""

_HEAD = ("scheme", "gradient", "friction", "step", "bias", "steps", "chains", "gradients")


def first_sentence(advice: Advice) -> str:
    """What to run, in one sentence; or why nothing is to be trusted."""
    best = advice.best
    if best is None:
        return f"not to be trusted here: {advice.distrust}"
    friction = "" if best.friction is None else f", friction {best.friction:.2g}"
    return (
        f"for an error of {percent(advice.error)} on {advice.target}: run {best.scheme} with {_estimator(best)}{friction} and the "
        f"step h = {best.step:.2g} for {best.run_steps:,} steps of {_count(best.chains, 'chain')}, the first {best.burn_in:,} of "
        f"each dropped: {best.gradients:.2g} gradients"
    )


def advice_text(advice: Advice, rows: int = ROWS) -> str:
    """The whole answer: sentence, command, a table of at most so many plans, assumptions, what was not tested."""
    best = advice.best
    command = best.command if best is not None and best.command else None
    lines = [fill(first_sentence(advice), WIDTH)]
    if best is not None:
        told = command or "the target was made in Python: give these settings to sgverify.sample"
        lines.append(f"  {told}")
    if advice.plans:
        heading = "plans, the cheapest first" if advice.trusted else "guesses, none of them to be trusted"
        lines += ["", f"{heading}:", *_table(advice.plans[:rows])]
        if len(advice.plans) > rows:
            lines.append(f"  and {len(advice.plans) - rows} dearer ones, which --json writes too")
    for heading, said in (
        ("assumed", advice.assumed),
        ("not tested", advice.untested),
        ("no plan", advice.left_out),
    ):
        if said:
            lines += ["", f"{heading}:", *_items(said)]
    return "\n".join(lines)


def _estimator(plan: Plan) -> str:
    if plan.batch is None:
        return f"{plan.gradient} gradients"
    return f"{plan.gradient} gradients in batches of {plan.batch}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _table(plans: Sequence[Plan]) -> list[str]:
    """Words to the left, numbers to the right; a long name of a scheme is cut in its middle."""
    cells = [_HEAD, *(_cells(plan) for plan in plans)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    over = sum(widths) + 2 * len(widths) - WIDTH
    if over > 0:
        widths[0] = max(12, widths[0] - over)
    return [
        "".join(
            f"  {_cut(text, width):<{width}}" if place < 2 else f"  {text:>{width}}"
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _cells(plan: Plan) -> tuple[str, ...]:
    return (
        plan.scheme,
        plan.gradient if plan.batch is None else f"{plan.gradient} {plan.batch}",
        "-" if plan.friction is None else f"{plan.friction:.2g}",
        f"{plan.step:.2g}",
        _bias(plan),
        f"{plan.run_steps:,}",
        f"{plan.chains:,}",
        f"{plan.gradients:.2g}",
    )


def _bias(plan: Plan) -> str:
    told = percent(plan.bias) if plan.bias > NONE else "0 %"
    if plan.allowance <= NONE:
        return told
    return f"{told.removesuffix(' %')} +- {100 * plan.allowance:.1g} %"


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    kept = width - 3
    return f"{text[: kept // 2]}...{text[len(text) - (kept - kept // 2) :]}"


def _items(said: Iterable[str]) -> list[str]:
    return [
        fill(item, WIDTH, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False)
        for item in said
    ]
