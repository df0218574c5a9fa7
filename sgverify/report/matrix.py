"""The matrix scheme x claim, one for each target, gradient and test function that occurs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sgverify.evidence import Evidence
from sgverify.report.wording import claim_order, gradient_text

# What a question is asked with, but not what it is about: the claim itself sets the schedule and the sweep.
_ASIDE = ("schedule", "sweep", "steps", "seed", "chains", "dtype", "device")
_NAMED = ("gradient", "test_function")
PROOFS = "Proved: every smooth potential, every step size, in the dimensions that each answer names"


@dataclass(frozen=True)
class Group:
    """Evidence that was gathered under one target, gradient estimator and test function."""

    title: str
    evidence: tuple[Evidence, ...]

    @property
    def schemes(self) -> tuple[str, ...]:
        """In the order in which the evidence names them."""
        return tuple(dict.fromkeys(item.scheme for item in self.evidence))

    @property
    def claims(self) -> tuple[str, ...]:
        """In the order of the cards."""
        return tuple(sorted({item.claim for item in self.evidence}, key=claim_order))

    def cell(self, scheme: str, claim: str) -> tuple[Evidence, ...]:
        """The evidence on one scheme and one claim; empty where the question was not put."""
        return tuple(item for item in self.evidence if item.scheme == scheme and item.claim == claim)

    def answers(self, scheme: str, claim: str) -> tuple[Evidence, ...]:
        """The cell with equal answers once: a proof is the same under every gradient that it was asked for."""
        different: dict[tuple[object, ...], Evidence] = {}
        for item in self.cell(scheme, claim):
            answer = (item.check, item.verdict, item.refuted, item.method, item.found)
            different.setdefault(answer, item)
        return tuple(different.values())


def groups(evidence: Iterable[Evidence]) -> list[Group]:
    """The evidence by what it was asked about: proofs first, then configurations as they first occur."""
    evidence = tuple(evidence)
    shared = _settings_in_common(evidence)
    collected: dict[str, list[Evidence]] = {}
    for item in evidence:
        collected.setdefault(_title(item, shared), []).append(item)
    ordered = sorted(collected.items(), key=lambda entry: entry[0] != PROOFS)
    return [Group(title, tuple(items)) for title, items in ordered]


def _title(item: Evidence, shared: frozenset[str]) -> str:
    if _proved(item):
        return PROOFS
    configuration = item.configuration
    words = [gradient_text(configuration)]
    if "test_function" in configuration:
        words.append(f"test function {configuration['test_function']}")
    settings = _settings(configuration)
    words += [f"{key} {_plain(value)}" for key, value in settings.items() if f"{key}={value}" not in shared]
    text = ", ".join(words)
    return text[:1].upper() + text[1:]


def _proved(item: Evidence) -> bool:
    return item.method == "proof" and not item.points


def _settings_in_common(evidence: tuple[Evidence, ...]) -> frozenset[str]:
    """The settings that all evidence which is not a proof has in common; they are said once, not in every title."""
    sets = [
        frozenset(f"{key}={value}" for key, value in _settings(item.configuration).items())
        for item in evidence
        if not _proved(item)
    ]
    return frozenset.intersection(*sets) if sets else frozenset()


def _settings(configuration: Mapping[str, Any]) -> dict[str, str]:
    """Dotted settings as JSON text, without those that are no part of the question or are named already."""
    flat: dict[str, str] = {}
    for key, value in configuration.items():
        if key in _ASIDE or key == "test_function":
            continue
        if isinstance(value, Mapping):
            for name, inner in value.items():
                if key not in _NAMED or name not in ("kind", "batch"):
                    flat[f"{key}.{name}"] = json.dumps(inner, sort_keys=True)
        else:
            flat[key] = json.dumps(value, sort_keys=True)
    if configuration.get("gradient", {}).get("kind") != "additive":
        flat.pop("gradient.covariance", None)
    if configuration.get("gradient", {}).get("scale") == 1:
        flat.pop("gradient.scale")
    return flat


def _plain(text: str) -> str:
    text = text.strip('"')
    return text if len(text) <= 40 else text[:37] + "..."
