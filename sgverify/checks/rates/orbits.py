"""Does a subject's step carry starts far from the target off to infinity, so that its chain would be transient?"""

from __future__ import annotations

import numpy as np

from sgverify.checks.subject.caching import cached_per_subject
from sgverify.checks.subject.subject import Subject
from sgverify.errors import SgverifyError
from sgverify.exact.readings.escape import Move, Orbits, Origin, followed_orbits, step_of_many
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.definition.binding import parameters_of

SMALL = 10
"""What is slow beside the default step may turn later than an orbit ends."""

AFFINE = "one step is an affine map, and its spectral radius tells whether chains forget their start"


def orbits_of(subject: Subject) -> Orbits | str:
    """The orbits of starts far out in each state variable, or the reason why none was followed.

    An exception of the step itself is raised.
    """
    if subject.scheme.dynamics.positive:
        return "no start far out was followed, because theta > 0"
    if subject.black_box:
        return (
            "no start far out was followed, because the step is torch code"
            if subject.why_no_law
            else "one step is an affine map that contracts, at states out to 6 spreads, and no start far out was followed"
        )
    if subject.affine:
        return AFFINE
    move, begin = _step(subject)
    long_enough = subject.scale >= subject.usual_step / SMALL
    return followed_orbits(move, _origin(subject), subject.scale, begin, long_enough=long_enough)


@cached_per_subject
def followed(subject: Subject) -> Orbits | str:
    """The orbits from starts far out at the subject's step size, or the reason why none was followed."""
    try:
        return orbits_of(subject)
    except SgverifyError as error:
        return f"no start far out was followed: {error}"


def escape_of(subject: Subject) -> Orbits | None:
    """The orbits that escape at the subject's step size; None if none is seen to escape."""
    found = followed(subject)
    return found if isinstance(found, Orbits) and found.gone else None


def told_of_orbits(orbits: Orbits | str) -> str:
    """The condition of a conforming claim about ergodic chains, that ergodicity is assumed; "" for affine steps.

    The spectral radius of an affine step proves whether its chain is ergodic.
    """
    if orbits == AFFINE:
        return ""
    return f"; ergodicity is assumed, not proved: {orbits}"


def _origin(subject: Subject) -> Origin:
    """The centre and spread of a chain's state: theta about the target, vectors such as p about 0, a thermostat's xi about D."""
    c, target, scheme = subject.configuration, subject.effective_target, subject.scheme
    names, temperature = tuple(scheme.dynamics.state), float(c.temperature)
    theta = np.asarray(target.location_float64(temperature), dtype=float)
    others = [
        np.zeros(target.dim) if scheme.shapes[name] == VECTOR else np.array([float(c.friction)])
        for name in names[1:]
    ]
    spread = float(np.max(target.spread_float64(temperature)))
    return Origin(names, (theta, *others), (spread, *(temperature**0.5 for _ in others)))


def _step(subject: Subject) -> tuple[Move, Move]:
    given = parameters_of(subject.configuration)
    known = {name: given[name] for name in subject.scheme.dynamics.parameters}
    clip = subject.configuration.gradient.clip
    return step_of_many(subject.scheme, subject.effective_target, known, subject.metric, subject.scale, clip)


__all__ = ["escape_of", "followed", "orbits_of", "told_of_orbits"]
