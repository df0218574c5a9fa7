"""Is a run that goes on the run that was stopped? Its identity is compared part by part, so that what differs can be named."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from sgverify.draws.stored.source import DrawSource
from sgverify.errors import ConfigurationError
from sgverify.samplers.run.checkpoint import identity_of

LIBRARIES = ("numpy", "scipy", "torch", "xarray", "zarr")
"""The libraries that draw and write."""


def identity(source: DrawSource) -> dict[str, Any]:
    """The identity of a run, but for its number of steps: what its bits depend on, by name.

    `scheme`, `definition`, `target` and `potential` (gradients at two points, and all data) are those of
    `sgverify.samplers.run.checkpoint`; `schedule` and `configuration` every setting, `sources` the hashes of the files of the user
    that they are read from, `sgverify`, `libraries` and `system` what computes.
    """
    from sgverify.store import Circumstances, key_of

    ensemble, subject = source.ensemble, source.subject
    found = identity_of(ensemble.scheme, subject.target, ensemble.rows, ensemble.settings, [])
    keys = subject.configuration.as_dict()
    # The lengths are in `rows`; those of another run may be longer.
    keys.pop("steps")
    keys.pop("test_function", None)
    target = subject.configuration.target.name
    key = key_of("sample", {}, references=[subject.reference, target])
    here = Circumstances.here().value
    composite = subject.composite
    return {
        "scheme": subject.reference,
        "definition": found["definition"] + ("" if composite is None else f" {_digest(composite.rule)}"),
        "target": found["target"],
        "potential": found["potential"],
        "schedule": "; ".join(row.name for row in ensemble.rows),
        "configuration": _flat(keys),
        "energy": source.energy,
        "sources": _flat(key.content),
        "sgverify": here["sgverify"],
        "edits": here["edits"],
        "libraries": {name: here["libraries"].get(name) or _version(name) for name in LIBRARIES},
        "system": {name: here["platform"][name] for name in ("python", "system")},
    }


def check_identity(held: Mapping[str, Any], wanted: Mapping[str, Any], place: str) -> None:
    """Raise `ConfigurationError`, which names everything that differs, if the run that goes on is not the one that was stopped."""
    before, now = _flat(held), _flat(wanted)
    names = [name for name in dict.fromkeys([*before, *now]) if before.get(name) != now.get(name)]
    if not names:
        return
    said = [
        f"{_name(name)} was {_short(before.get(name))} and is {_short(now.get(name))}" for name in names[:4]
    ]
    more = f"; and {len(names) - 4} more" if len(names) > 4 else ""
    raise ConfigurationError(
        f"--resume {place!r}: is another run: {'; '.join(said)}{more}; expected the run that was stopped, whose draws this one "
        "would go on with; give it the same, or start anew with --force"
    )


def _flat(value: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, entry in value.items():
        if isinstance(entry, Mapping):
            found |= _flat(entry, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = list(entry) if isinstance(entry, tuple) else entry
    return found


def _name(name: str) -> str:
    return {"definition": "the definition's source", "potential": "the target's gradients or data"}.get(
        name, name.removeprefix("configuration.").removeprefix("sources.sources.")
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _version(name: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


__all__ = ["check_identity", "identity"]
