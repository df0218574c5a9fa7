"""The verdict of an answer is one function of what was judged, of its scope, and of what the question asks for.

A check judges what it examined, and says in a `Scope` what that was. Whether this is enough is decided here alone: what conforms
and does not reach the configured dimension, or was found while something was held on which it depends, is inconclusive, and its
reason says for what it holds; what violates while something was held that the tool itself held is inconclusive as well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from sgverify.configuration import Configuration
from sgverify.evidence import EVERY, Scope, tried
from sgverify.evidence.scope import Axis, Extent, held
from sgverify.rates.verdict import Judgement
from sgverify.subject.subject import Subject


def asked_of(subject: Subject) -> dict[Axis, Collection[float]]:
    """The numbers that a question about the subject asks for: the configured dimension and temperature."""
    return {"dimensions": (subject.target.dim,), "temperatures": (float(subject.configuration.temperature),)}


def configured_scope(subject: Subject, configuration: Configuration, any_gradient: bool = False) -> Scope:
    """The scope of an answer that was computed at the configured setting and at nothing else."""
    c, schedule = configuration, configuration.schedule
    friction = f", D = {c.friction:g}" * ("D" in subject.scheme.dynamics.parameters)
    return Scope(
        dimensions=tried(f"dimension {subject.target.dim}", (subject.target.dim,)),
        steps=tried(f"h = {schedule.step:g}" if schedule.step else "the computed steps"),
        temperatures=tried(f"T = {c.temperature:g}{friction}", (float(c.temperature),)),
        targets=tried(subject.target.name),
        gradients=EVERY if any_gradient else tried(c.gradient.kind),
        dtypes=tried(c.dtype),
    )


AS_A_SERIES = tried("h -> 0")


def proof_scope(dimensions: Extent, steps: Extent = AS_A_SERIES, gradients: Extent = EVERY) -> Scope:
    """The scope of a statement that is proved of a definition, which has no clock, for every smooth potential."""
    return Scope(
        dimensions=dimensions,
        steps=steps,
        temperatures=EVERY,
        states=EVERY,
        targets=EVERY,
        gradients=gradients,
        time=EVERY,
    )


def held_of(subject: Subject, scope: Scope) -> Scope:
    """What an adapter held of somebody's code although a step depends on it, and its options on which none depends.

    An answer that examined the steps of a run has seen what a counter does that is held elsewhere.
    """
    texts = getattr(subject.scheme, "held", {})
    extents = {axis: held(told) for axis, told in texts.items() if axis != "time" or scope.time is None}
    told, given = getattr(subject.scheme, "idle", ("", False))
    return Scope(**extents).meet(Scope(options=tried(told, () if given else None)) if told else Scope())


def conclude(judgement: Judgement, scope: Scope, asked: Mapping[Axis, Collection[float]]) -> Judgement:
    """The judgement, made inconclusive where its scope does not reach what is asked for.

    >>> from sgverify.evidence import Scope, tried
    >>> shown = Judgement("conforms", False, "order 2")
    >>> conclude(shown, Scope(dimensions=tried("dimensions 1 to 3", (1, 2, 3))), {"dimensions": (7,)}).reason
    'dimension 7 was not examined, but dimensions 1 to 3; order 2'
    """
    missing = scope.missing(asked)
    kept = {axis: extent for axis, extent in missing.items() if extent.reach == "held"}
    narrow = {"conforms": missing, "violates": kept}.get(judgement.verdict, {})
    if not narrow:
        return judgement
    missed = "; ".join(_missed(axis, extent, asked.get(axis, ())) for axis, extent in narrow.items())
    return replace(judgement, verdict="inconclusive", sharp=False, reason=f"{missed}; {judgement.reason}")


def _missed(axis: Axis, extent: Extent, asked: Collection[float]) -> str:
    if extent.reach == "held":
        return f"the answer depends on {extent.told}, which was held"
    if not extent.values:
        return extent.told
    numbers = " and ".join(f"{number:g}" for number in asked)
    return f"{axis.removesuffix('s')} {numbers} was not examined, but {extent.told}"
