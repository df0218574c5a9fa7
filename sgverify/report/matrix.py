"""The matrix scheme x claim, one for each target, gradient and test function that occurs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgverify.evidence import Evidence
from sgverify.gradients import READERS
from sgverify.report.wording import claim_order, gradient_text

# Settings that do not distinguish questions: the claim itself sets the schedule and the sweep.
_ASIDE = ("schedule", "sweep", "steps", "seed", "chains", "dtype", "device")
_NAMED = ("gradient",)
_WORDS = {
    "test_function": "test function",
    "target.name": "target",
    "gradient.scale": "gradients times",
    "partition.zeta": "flattening (zeta)",
}
"""The names of settings that distinguish questions in words."""

_ALWAYS = ("test_function", "target.name")
"""The settings that every title shows if their values differ within a report."""

_NONE = "null"

_UNTOLD = {"gradient.scale": "1.0"}
"""Values that say nothing: the gradient as it is."""
PROOFS = "Proved: every smooth potential, every step size, in the dimensions that each answer names"


@dataclass(frozen=True)
class Group:
    """Evidence that was gathered under one target, gradient estimator and test function."""

    title: str
    evidence: tuple[Evidence, ...]

    @property
    def schemes(self) -> tuple[str, ...]:
        """The schemes of the group, in the order of the evidence."""
        return tuple(dict.fromkeys(item.scheme for item in self.evidence))

    @property
    def claims(self) -> tuple[str, ...]:
        """The claims of the group, in the order of their cards."""
        return tuple(sorted({item.claim for item in self.evidence}, key=claim_order))

    @property
    def judged(self) -> tuple[str, ...]:
        """The claims that apply to some scheme of the group."""
        spoken = {item.claim for item in self.evidence if item.verdict != "not-applicable"}
        return tuple(claim for claim in self.claims if claim in spoken)

    def cell(self, scheme: str, claim: str) -> tuple[Evidence, ...]:
        """The evidence on one scheme and one claim; empty if there is none."""
        return tuple(item for item in self.evidence if item.scheme == scheme and item.claim == claim)

    def answers(self, scheme: str, claim: str) -> tuple[Evidence, ...]:
        """The cell without repeated answers: a proof, for example, is the same under every gradient."""
        return _different(self.cell(scheme, claim))

    def answers_on(self, claim: str) -> tuple[Evidence, ...]:
        """The evidence on one claim without repeated answers, of whichever scheme."""
        return _different(item for item in self.evidence if item.claim == claim)


def _different(items: Iterable[Evidence]) -> tuple[Evidence, ...]:
    found: dict[tuple[object, ...], Evidence] = {}
    for item in items:
        answer = (item.scheme, item.check, item.verdict, item.refuted, item.method, item.found)
        found.setdefault(answer, item)
    return tuple(found.values())


def groups(evidence: Iterable[Evidence]) -> list[Group]:
    """The evidence in groups of equal configurations: proofs first, then configurations in the order of occurrence."""
    evidence = tuple(evidence)
    collected: dict[str, list[Evidence]] = {}
    for item, title in zip(evidence, _titles(evidence), strict=True):
        collected.setdefault(title, []).append(item)
    ordered = sorted(collected.items(), key=lambda entry: entry[0] != PROOFS)
    return [Group(title, tuple(items)) for title, items in ordered]


def settings_in_common(evidence: Iterable[Evidence]) -> list[str]:
    """The settings with a single value in the whole report; they are stated once and left out of titles."""
    values: dict[str, set[str]] = {}
    for item in evidence:
        if not _proved(item):
            for key, value in _every_setting(item.configuration).items():
                values.setdefault(key, set()).add(value)
    single = {key: next(iter(found)) for key, found in values.items() if len(found) == 1}
    return [_named(key, value) for key, value in single.items() if value != _UNTOLD.get(key)]


def _titles(evidence: Sequence[Evidence]) -> list[str]:
    """The title of each group: its gradient, then setting by setting those that still distinguish groups."""
    settings = [_settings(item.configuration) for item in evidence]
    keys = sorted(dict.fromkeys(key for row in settings for key in row), key=_place)
    classes: list[tuple[list[str], list[int]]] = []
    for gradient, alike in _split(range(len(evidence)), lambda i: _gradient(evidence[i])).items():
        classes.append(([gradient], alike))
    for key in keys:
        parted = []
        everywhere = {row.get(key, _NONE) for row in settings}
        for labels, members in classes:
            if labels == [PROOFS]:
                parted.append((labels, members))
                continue
            found = _split(members, lambda i, key=key: settings[i].get(key, _NONE))  # type: ignore[misc]
            for value, own in found.items():
                apart = len(found) > 1 or (key in _ALWAYS and len(everywhere) > 1)
                said = apart and value != _NONE
                parted.append(([*labels, _named(key, value)] if said else labels, own))
        classes = parted
    titles = [""] * len(evidence)
    for labels, members in classes:
        text = ", ".join(labels)
        for i in members:
            titles[i] = text[:1].upper() + text[1:]
    return titles


def _gradient(item: Evidence) -> str:
    return PROOFS if _proved(item) else gradient_text(item.configuration)


def _split(members: Iterable[int], value: Callable[[int], str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for i in members:
        found.setdefault(value(i), []).append(i)
    return found


def _place(key: str) -> tuple[bool, ...]:
    """The sort key of settings in a title: the target first, then the test function, then other keys of the target."""
    return (key != "target.name", key != "test_function", not key.startswith("target."))


def _named(key: str, value: str) -> str:
    return f"{_WORDS.get(key, key)} {_plain(value)}"


def _proved(item: Evidence) -> bool:
    """Is the evidence a proof? "not-applicable" does not count as one."""
    return item.method == "proof" and not item.points and item.verdict != "not-applicable"


def _settings(configuration: Mapping[str, Any]) -> dict[str, str]:
    """The dotted settings as JSON text, without values that are not told."""
    every = _every_setting(configuration)
    return {key: value for key, value in every.items() if value != _UNTOLD.get(key)}


def _every_setting(configuration: Mapping[str, Any]) -> dict[str, str]:
    """The dotted settings as JSON text, without those that do not distinguish questions or that are shown already."""
    flat: dict[str, str] = {}
    for key, value in configuration.items():
        if key in _ASIDE:
            continue
        if isinstance(value, Mapping):
            for name, inner in value.items():
                if key not in _NAMED or name not in ("kind", "batch"):
                    flat[f"{key}.{name}"] = json.dumps(inner, sort_keys=True)
        else:
            flat[key] = json.dumps(value, sort_keys=True)
    for key, kinds in READERS.items():
        if configuration.get("gradient", {}).get("kind") not in kinds:
            flat.pop(f"gradient.{key}", None)
    return flat


def _plain(text: str) -> str:
    """A value in words: titles stand in lists of contents."""
    text = text.strip('"').replace("**2", " squared")
    return text if len(text) <= 40 else text[:37] + "..."
