"""The cause of a failure of torch code in the user's own words: with the names and the lines of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from fractions import Fraction
from math import prod

from sgverify.advice.diagnosis.code_edits.candidates import CodeEdit
from sgverify.advice.diagnosis.code_edits.search import names_of
from sgverify.advice.diagnosis.edits.expressions import SourceText, is_product
from sgverify.advice.diagnosis.model import Cause, CauseName
from sgverify.evidence import Evidence
from sgverify.schemes.torch_step import TorchStep

NAMES: dict[str, CauseName] = {
    "branch": "noise-in-some-steps",
    "generator": "noise-reused",
    "without statement": "state-changed",
    "cached": "noise-cached",
}
"""The cause of which the rule of an edit is the mend, whatever was measured."""


UNNAMED = (
    "not-named",
    "noise-in-some-steps",
    "noise-shared",
    "noise-reused",
    "noise-cached",
    "noise-of-some-entries",
)
"""The causes that are less than the line that mends them says."""


def cause_of_run(evidence: Evidence) -> Cause:
    """What departs in a run: the noise at some steps, of some entries, or its independence."""
    told = [str(item) for item in evidence.certificate.get("departures", ())] or [evidence.reason]
    # What the headline says comes first.
    first = min(
        (item for item in told if item in evidence.reason), key=evidence.reason.index, default=told[0]
    )
    if "an lr that changes" in evidence.reason:
        return Cause(
            "noise-cached",
            f"the noise keeps the size of another lr: {first}, where the lr changes between steps",
        )
    return next(Cause(name, f"{label}: {first}") for words, name, label in OF_RUN if re.search(words, first))


OF_RUN: tuple[tuple[str, CauseName, str], ...] = (
    ("have the correlation", "noise-shared", "entries share their noise"),
    ("the noise is correlated with that", "noise-reused", "draws come again at later steps"),
    (
        r" of (an?|the|\d).* at every step$",
        "noise-of-some-entries",
        "the noise of some entries alone is wrong",
    ),
    (" at every step$", "noise-in-some-steps", "the noise has another size"),
    ("", "noise-in-some-steps", "the noise is another one in some of the steps"),
)
"""The words in what departs in a run, each with the cause that they name; the first that is found counts."""


OF_LOSS: tuple[tuple[str, CauseName], ...] = (
    ("the prior", "prior-scaled"),
    ("the data count", "data-scaling"),
    ("datum", "data-scaling"),
    ("noise", "diffusion-scaled"),
    ("spreads", "state-changed"),
)
"""The words in the answer about a loop with its own loss, each with the cause that they name."""


def cause_of_loss(evidence: Evidence) -> Cause:
    """The cause that an answer about a loop with its own loss names."""
    told = evidence.reason.partition("; in the mean")[0]
    return Cause(next((name for words, name in OF_LOSS if words in told), "not-named"), told)


def in_own_words(cause: Cause, step: TorchStep) -> Cause:
    """The cause with h, T and D by the names that they have in the code."""
    sentence = cause.sentence
    for quantity, own in names_of(step).items():
        if own != quantity:
            sentence = re.sub(rf"(?<![\w.]){quantity}(?![\w(])", own, sentence)
    # What the dynamics calls p is made of what the code keeps.
    kept = re.search(r"\bp = ([^;]+)", step.conventions)
    if kept:
        made = re.sub(r"(?<!\w)h(?!\w)", names_of(step)["h"], kept[1])
        powers = [(name, power) for name, power in _powers(made).items() if power]
        told = "-" * made.startswith("-") + _product(1, powers)
        sentence = sentence.replace(" of p ", f" of p = {told} ", 1)
    return Cause(cause.name, _ROOT.sub(_one_power, sentence))


_ROOT = re.compile(r"sqrt\((sqrt\()?(\w+)\)(?(1)\)|\^\(?(\d+)(?:/(\d+))?\)?)")
"""A power of a root, or the root of one."""


def _one_power(root: re.Match[str]) -> str:
    power = Fraction(1, 4) if root[1] else Fraction(int(root[3]), 2 * int(root[4] or 1))
    return _product(1, [(root[2], power)])


TOLD = {
    "branch": "the noise comes under a condition alone: `{was}` stands before the draw in line {line}",
    "without statement": "`{was}` in line {line} changes the state besides, which is no part of the dynamics",
    "generator": "the generator is seeded alike for several draws: `{was}` in line {line} draws equal numbers again",
    "cached": "the {kind} takes `{was}` of earlier in line {line}, where `{now}` is due",
    "key": "the key `{was}` serves a draw again in line {line}, where `{now}` is due",
    "anew": "the {kind} of earlier is used again in line {line}: `{was}`, where `{now}` is due",
    "draw": "the draw is `{was}` in line {line}, where `{now}` is due",
}
"""What is wrong in the code, by the rule of the edit that mends it."""


_NOUNS = {"factor": "step", "steps": "step", "state": "step"}
"""The noun for a kind of edit that is about no draw and no gradient."""


def of_edit(edit: CodeEdit, measured: Cause, failed: Sequence[Evidence], step: TorchStep) -> Cause:
    """The cause that an edit mends: what stands in the code, what is due there, and the temperature that it makes."""
    name = NAMES.get(edit.rule, measured.name) if measured.name in UNNAMED else measured.name
    if edit.rule == "anew":
        name = "noise-reused" if edit.kind == "noise" else "gradient-at-old-point"
    noun = _NOUNS.get(edit.kind, edit.kind)
    has = {"times": "lacks the factor `{part}`", "over": "has the factor `{part}` too many"}.get(
        edit.rule, "has `{was}`"
    )
    told = TOLD.get(edit.rule, f"the {noun} {has} in line {{line}}, where `{{now}}` is due")
    if edit.part and edit.rule not in ("times", "over"):
        told = "line {line} has `{part}`, which is no part of the dynamics"
    elif name == "not-named" and edit.rule == "draw":
        name = "noise-shared"
    elif name == "not-named" and edit.rule not in TOLD:
        name = "diffusion-scaled" if edit.kind == "noise" else "drift-scaled"
    # Its factor is what the edit shows; what follows from it, the temperature, is not.
    size = measured.sentence.partition("; ")[2] or measured.sentence
    if measured.name in UNNAMED:
        size = size.partition(": ")[2] or size
    if measured.name == "not-named":
        size = _how_far(failed)
    temperature = _temperature(edit, step)
    if temperature:
        size = f"{temperature}; {size}" if name == "preconditioner-in-one" else temperature
    return Cause(name, f"{told.format(**{**vars(edit), 'kind': noun})}: {size}")


def _how_far(failed: Sequence[Evidence]) -> str:
    """What an answer says of the size of a failure: of a variance, if one does, and else the first."""
    for item in failed:
        found = re.match(r"(variance of \w+) ([\d.e+-]+), required ([\d.e+-]+)(?:;|$)", item.reason)
        if found and float(found[3]):
            return f"the {found[1]} is {float(found[2]) / float(found[3]):.3g} times the due one"
    return (failed[0].reason.partition(": ")[2] or failed[0].reason).partition("; ")[0]


def _temperature(edit: CodeEdit, step: TorchStep) -> str:
    """The temperature that a wrong factor of the only noise makes, or of the force where no friction is; "" elsewhere."""
    power = {"noise": 2, "gradient": -1 if len(step.dynamics.state) == 1 else 0}.get(edit.kind, 0)
    if not edit.alone or not power or edit.rule in TOLD or edit.rule == "sign":
        return ""
    was, now = _powers(edit.was), _powers(edit.now)
    ratio = {
        name: power * (was.get(name, Fraction(0)) - now.get(name, Fraction(0))) for name in {**was, **now}
    }
    ratio = {name: exponent for name, exponent in ratio.items() if exponent}
    numbers = {name: exponent for name, exponent in ratio.items() if _is_number(name)}
    if any(exponent.denominator != 1 for exponent in numbers.values()):
        return ""
    factor = prod((Fraction(name) ** int(exponent) for name, exponent in numbers.items()), start=Fraction(1))
    names = {name: exponent for name, exponent in ratio.items() if name not in numbers}
    if not all(name.isidentifier() for name in names):
        return ""
    spreads = "" if names else f", spreads are {float(factor) ** 0.5:.3g} times the due ones"
    own = names_of(step)["T"]
    if step.tempered or (step.own_loss is not None and own == "T"):
        own = "1"
    else:
        names[own] = names.get(own, Fraction(0)) + 1
    above, below = (
        [(n, e if up else -e) for n, e in names.items() if e and (e > 0) == up] for up in (True, False)
    )
    text = _product(factor.numerator, above)
    if factor.denominator != 1 or below:
        bottom = _product(factor.denominator, below)
        text += f"/({bottom})" if "*" in bottom else f"/{bottom}"
    return f"its temperature is {text} where {own} is due{spreads}"


def _product(number: int, powers: Sequence[tuple[str, Fraction]]) -> str:
    words = [
        name if power == 1 else f"{name}^{power}" if power.denominator == 1 else f"{name}^({power})"
        for name, power in powers
    ]
    return "*".join([str(number)] * (number != 1 or not words) + words)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _powers(text: str) -> dict[str, Fraction]:
    """A product as powers of its factors, those under its roots too; an entry of a group goes by its name."""
    read, found = SourceText(text), dict[str, Fraction]()

    def put(node: ast.expr, power: Fraction) -> None:
        exponent = getattr(node.right, "value", None) if isinstance(node, ast.BinOp) else None
        if read.is_root(node):
            put(read.radicand(node), power / 2)
        elif isinstance(node, ast.UnaryOp):
            put(node.operand, power)
        elif isinstance(node, ast.BinOp) and is_product(node):
            put(node.left, power)
            put(node.right, -power if isinstance(node.op, ast.Div) else power)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and isinstance(exponent, int):
            put(node.left, power * exponent)
        else:
            name = re.sub(r"^\w+\[(['\"])(\w+)\1\]$|^self\.(\w+)$", r"\2\3", read.of(node))
            found[name] = found.get(name, Fraction(0)) + power

    (statement,) = read.tree.body
    if isinstance(statement, ast.Expr):
        put(statement.value, Fraction(1))
    return found
