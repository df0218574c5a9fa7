"""Which subjects were validated in this process already? A second call of `sample` does not repeat what the first one proved.

What is derived from a subject (its stability limit, the step that keeps the widths) lies with the subject, so that the latest ones
are kept. A subject is known again by its scheme, by the formula that the scheme prints now, and by every key of its configuration
but those of `FREE`; data of a file by their hash. Targets made in Python or in a user's file are never known again: they may have
changed.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from contextlib import suppress
from typing import Any

import torch

from sgverify.checks.subject.caching import cached_per_subject
from sgverify.checks.subject.subject import Subject
from sgverify.configuration import Configuration
from sgverify.errors import SgverifyError
from sgverify.exact.readings.formula import formula
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.targets.registry import is_own

FREE = ("seed", "chains", "steps", "burn_in", "thinning")
"""The keys that neither validation nor the bias of a step reads."""

MOST = 8
"""The most subjects that are kept."""

MOST_DATA = 16 << 20
"""The most bytes of data that all kept subjects have, if they are more than the latest; what is derived takes 14 times that."""

_KNOWN: OrderedDict[str, Subject] = OrderedDict()


def recall(subject: Subject) -> Subject | None:
    """The subject that was validated before, under the configuration of this one; None if there is none."""
    found = _KNOWN.get(_key(subject) or "")
    if found is None or found.scheme is not subject.scheme or found.composite != subject.composite:
        return None
    return found.under(subject.configuration)


def remember(subject: Subject) -> None:
    """Keep a subject that has been validated."""
    key = _key(subject)
    if key is not None:
        _KNOWN[key] = subject
        _KNOWN.move_to_end(key)
        while len(_KNOWN) > MOST or (len(_KNOWN) > 1 and sum(map(_size, _KNOWN.values())) > MOST_DATA):
            _KNOWN.popitem(last=False)


@cached_per_subject
def potential_of(subject: Subject, dtype: torch.dtype, device: torch.device) -> Potential:
    """The gradients and energies of the subject's target, whose matrix of a quadratic potential takes a pass over all data."""
    return Potential(subject.target, dtype=dtype, device=device)


def _key(subject: Subject) -> str | None:
    """What a subject is known by; None if it cannot be known again."""
    given = _given(subject.configuration)
    target = given.get("target", {})
    # The configuration holds the hash of a data file that was read.
    if is_own(target.get("name", "")) or ("file" in target and "sha256" not in target):
        return None
    # The formula, since a definition may read numbers of its module, which may have changed.
    with suppress(SgverifyError, TypeError):
        return json.dumps(
            [type(subject).__name__, subject.reference, formula(subject.scheme), given], sort_keys=True
        )
    return None


def _size(subject: Subject) -> int:
    """The bytes of the data of a subject's target."""
    return 0 if subject.target.data is None else subject.target.data.nbytes


def _given(configuration: Configuration) -> dict[str, Any]:
    return configuration.model_dump(exclude_unset=True, exclude=set(FREE))


__all__ = ["FREE", "potential_of", "recall", "remember"]
