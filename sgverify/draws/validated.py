"""Subjects that were validated in this process already: a second call of `sample` does not repeat what the first one proved.

What is derived from a subject (its stability limit, the step that keeps the widths) lies with the subject, so that the latest ones
are kept. A subject is known again by its scheme, by the formula that the scheme prints now, and by every key of its configuration
but those of `FREE`; data of a file by their hash. A target made in Python is the object that was given, as long as U has the same
values at some points (its functions may read numbers that have changed) and data that can be written to are the same; then it is
a copy, which has derived nothing from what was. Targets that a configuration names in a user's file are never known again.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from contextlib import suppress
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch

from sgverify.configuration import Configuration
from sgverify.errors import SgverifyError
from sgverify.exact.readings.formula import formula
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject
from sgverify.targets import Target
from sgverify.targets.own.log_density import LogDensity
from sgverify.targets.registry import is_own

FREE = ("seed", "chains", "steps", "burn_in", "thinning")
"""The keys that neither validation nor the bias of a step reads."""

MOST = 8
"""The most subjects that are kept."""

MOST_DATA = 16 << 20
"""The most bytes of data that all kept subjects have, if they are more than the latest; what is derived takes 14 times that."""

MOST_TRIED = 64
"""The most data at which a likelihood is evaluated to see whether it has changed."""

_KNOWN: OrderedDict[str, Subject] = OrderedDict()

SPANS = (0.1, 1.0, 10.0)
"""The distances from the middle of a target at which its energies are compared, in standard deviations where these are known."""

_MADE: WeakKeyDictionary[Target | LogDensity, tuple[str, Target]] = WeakKeyDictionary()
"""By what was given in Python, the hash of its values, and the target of these."""


def target_of(given: Target | LogDensity) -> Target:
    """The target that was made in Python: the same one at every call, until its data or its energies are others."""
    known = _MADE.get(given)
    values = None if known is None else _values(known[1])
    if known is None or values != known[0]:
        # What a target derives from its data and functions lies with it, so that a copy derives it anew.
        made = given.target() if isinstance(given, LogDensity) else replace(given)
        known = _MADE[given] = _values(made), made
    return known[1]


def recall(subject: Subject, made: Target | None = None) -> Subject | None:
    """The subject that was validated before, under the configuration of this one; None if there is none.

    `made` is the subject's target, if it was made in Python.
    """
    found = _KNOWN.get(_key(subject, made) or "")
    if found is None or found.scheme is not subject.scheme or found.composite != subject.composite:
        return None
    return found.under(subject.configuration)


def remember(subject: Subject, made: Target | None = None) -> None:
    """Keep a subject that has been validated."""
    key = _key(subject, made)
    if key is not None:
        _KNOWN[key] = subject
        _KNOWN.move_to_end(key)
        while len(_KNOWN) > MOST or (len(_KNOWN) > 1 and sum(map(_size, _KNOWN.values())) > MOST_DATA):
            _KNOWN.popitem(last=False)


@cached_per_subject
def potential_of(subject: Subject, dtype: torch.dtype, device: torch.device) -> Potential:
    """The gradients and energies of the subject's target, whose matrix of a quadratic potential takes a pass over all data."""
    return Potential(subject.target, dtype=dtype, device=device)


def _key(subject: Subject, made: Target | None) -> str | None:
    """What a subject is known by; None if it cannot be known again."""
    given = _given(subject.configuration)
    target = given.get("target", {})
    # The configuration holds the hash of a data file that was read.
    if made is None and (is_own(target.get("name", "")) or ("file" in target and "sha256" not in target)):
        return None
    # The formula, since a definition may read numbers of its module, which may have changed.
    with suppress(SgverifyError, TypeError):
        scheme = [type(subject).__name__, subject.reference, formula(subject.scheme)]
        # A subject that is kept keeps its target, so that no other object has its number.
        by = [] if made is None else [id(made)]
        return json.dumps([*scheme, given, *by], sort_keys=True)
    return None


def _values(target: Target) -> str:
    """A hash of U at some points, with few of the data, and of all data that can be written to."""
    found = hashlib.blake2b()
    for part in (target.prior, target.likelihood):
        follow = getattr(part, "follow", None)
        if follow is not None:
            found.update(follow(target.data))
    if target.data is not None:
        if _writable(target.data):
            found.update(target.data.tobytes())
        target = replace(target, data=target.data[:: -(-len(target.data) // MOST_TRIED)])
    about = 0.0 if target.stated_location is None else target.stated_location
    unit = 1.0 if target.stated_spread is None else target.stated_spread
    directions = np.sin(np.arange(1, 2 * target.dim + 1)).reshape(2, -1)
    for span in SPANS:
        try:
            with np.errstate(all="ignore"):
                found.update(target.energy_float64(about + span * unit * directions).tobytes())
        except Exception as error:  # a user's function may raise anything outside of its support
            found.update(type(error).__name__.encode())
    return found.hexdigest()


def _writable(array: np.ndarray) -> bool:
    """Can the array be written to, by itself or by an array whose memory it shares?"""
    shared: Any = array
    while isinstance(shared, np.ndarray):
        if shared.flags.writeable:
            return True
        shared = shared.base
    return False


def _size(subject: Subject) -> int:
    """The bytes of the data of a subject's target."""
    return 0 if subject.target.data is None else subject.target.data.nbytes


def _given(configuration: Configuration) -> dict[str, Any]:
    return configuration.model_dump(exclude_unset=True, exclude=set(FREE))
