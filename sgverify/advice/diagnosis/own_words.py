"""The cause of a failure of torch code in the user's own words: with the names and the lines of the code."""

from __future__ import annotations

import re

from sgverify.advice.diagnosis.code_edits.candidates import CodeEdit
from sgverify.advice.diagnosis.code_edits.search import names_of
from sgverify.advice.diagnosis.model import Cause, CauseName
from sgverify.evidence import Evidence
from sgverify.schemes.torch_step import TorchStep

NAMES: dict[str, CauseName] = {
    "branch": "noise-in-some-steps",
    "generator": "noise-reused",
    "without statement": "state-changed",
    "rescaled": "noise-cached",
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
    first = told[0]
    group = re.search(r" of ((?:an?|the|\d)[^,]*?) is ", first)
    if "have the correlation" in first:
        return Cause("noise-shared", f"entries share their noise: {first}")
    if "the noise is correlated with that" in first:
        return Cause("noise-reused", f"draws come again at later steps: {first}")
    if "an lr that changes" in evidence.reason:
        return Cause(
            "noise-cached",
            f"the noise keeps the size of another lr: {first}, where the lr changes between steps",
        )
    if group and first.endswith("at every step"):
        return Cause("noise-of-some-entries", f"the noise of {group[1]} alone is wrong: {first}")
    if first.startswith("what is to move without noise"):
        where = first.partition("is due, ")[2]
        return Cause(
            "noise-in-some-steps",
            f"there is noise in some steps, and none in others: another step is taken {where}",
        )
    when = "has another size" if first.endswith("at every step") else "is another one in some of the steps"
    return Cause("noise-in-some-steps", f"the noise {when}: {first}")


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


def _untempered(told: re.Match[str]) -> str:
    return f"{told[1] or f'1{told[2]}'} where 1 is due"


def in_own_words(cause: Cause, step: TorchStep) -> Cause:
    """The cause with h, T and D by the names that they have in the code."""
    sentence = cause.sentence
    if step.tempered:
        sentence = re.sub(r"(?<=its temperature is )(?:(\S+) T|T(/\S+?))(?=[,;]|$)", _untempered, sentence)
    for quantity, own in names_of(step).items():
        if own != quantity:
            sentence = re.sub(rf"(?<![\w.]){quantity}(?![\w(])", own, sentence)
    return Cause(cause.name, sentence)


TOLD = {
    "branch": "the noise comes under a condition alone: `{was}` stands before the draw in line {line}",
    "without statement": "`{was}` in line {line} changes the state besides, which is no part of the dynamics",
    "generator": "the generator is seeded alike for several draws: `{was}` in line {line} draws equal numbers again",
    "cached": "the {kind} takes `{was}` of earlier in line {line}, where `{now}` is due",
    "rescaled": "the {kind} takes `{was}` of earlier in line {line}, where `{now}` is due",
    "anew": "the {kind} of earlier is used again in line {line}: `{was}`, where `{now}` is due",
    "draw": "the draw is `{was}` in line {line}, where `{now}` is due",
}
"""What is wrong in the code, by the rule of the edit that mends it."""


_NOUNS = {"factor": "step", "steps": "step", "state": "step"}
"""The noun for a kind of edit that is about no draw and no gradient."""


def of_edit(edit: CodeEdit, measured: Cause, failed: Evidence) -> Cause:
    """The cause that an edit mends: what stands in the code, and what is due there."""
    name = NAMES.get(edit.rule, measured.name) if measured.name in UNNAMED else measured.name
    if edit.rule == "anew":
        name = "noise-reused" if edit.kind == "noise" else "gradient-at-old-point"
    noun = _NOUNS.get(edit.kind, edit.kind)
    has = "lacks the factor `{part}`" if edit.rule == "times" else "has `{was}`"
    told = TOLD.get(edit.rule, f"the {noun} {has} in line {{line}}, where `{{now}}` is due")
    if edit.part and edit.rule != "times":
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
        size = (failed.reason.partition(": ")[2] or failed.reason).partition("; ")[0]
    return Cause(name, f"{told.format(**{**vars(edit), 'kind': noun})}: {size}")
