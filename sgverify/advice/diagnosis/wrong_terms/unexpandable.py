"""The cause where a step has no power series because of what it does: a gradient elsewhere, a memory that is never renewed."""

from __future__ import annotations

from sgverify.advice.diagnosis.model import Cause
from sgverify.errors import NotExpandableError
from sgverify.exact.numbers.entrywise import EntrywiseVector
from sgverify.exact.rings.power_series import EXACT, TruncatedSeries
from sgverify.exact.series.carrier import ElsewhereError, SeriesInterpreter
from sgverify.exact.series.operators import ring_of
from sgverify.schemes import NoiseLaw, Scheme

NORMAL = NoiseLaw("normal")


def without_series(scheme: Scheme, why: NotExpandableError) -> Cause | None:
    """The cause of a step that has no power series; None where the reason names none."""
    if isinstance(why, ElsewhereError):
        return Cause(
            "gradient-of-wrong-argument",
            f"{why.what} is evaluated at {why.where} as h -> 0, where theta is due",
        )
    kept = [name for name in scheme.memory if _is_kept(scheme, name)]
    if kept:
        name = kept[0]
        if scheme.starts.gradients:
            return Cause(
                "gradient-at-old-point",
                f"the memory {name} is returned as it was taken: the gradient of the start is never renewed",
            )
        return Cause("old-value", f"the memory {name} is returned as it was taken: it is never renewed")
    return None


def is_kept_for_ever(scheme: Scheme) -> bool:
    """Whether a step returns a part of its memory as it took it."""
    return any(_is_kept(scheme, name) for name in scheme.memory)


def _is_kept(scheme: Scheme, name: str) -> bool:
    """Whether a step returns a memory as it took it, read on symbols that nothing else stands for."""
    ring = ring_of(
        scheme.dynamics,
        1,
        depth=3,
        cap=4,
        draws=len(scheme.memory) + scheme.draws,
        minibatches=max(1, scheme.minibatches),
        parts=scheme.census.parts,
    )
    reading = SeriesInterpreter(ring)
    memory = []
    for k in range(len(scheme.memory)):
        reading.laws.append(scheme.laws[0] if scheme.laws else NORMAL)
        memory.append(EntrywiseVector([TruncatedSeries(ring, {0: ring.generator("z", k, 0)}, EXACT)]))
    try:
        after = reading.step(scheme, (*reading.state(), *memory))
    except NotExpandableError:
        return False
    place = list(scheme.memory).index(name)
    value = after[len(scheme.dynamics.state) + place]
    entry = value.entries[0] if isinstance(value, EntrywiseVector) else value
    return isinstance(entry, TruncatedSeries) and entry.terms == memory[place].entries[0].terms


__all__ = ["is_kept_for_ever", "without_series"]
