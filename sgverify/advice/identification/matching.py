"""The search for candidates that have the law of a step, at the base setting and at all others.

Also here, in words, are the numbers that the law of one step cannot separate: the gradient's factor, the mass, the step size,
friction and temperature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

import numpy as np

from sgverify.advice.identification.candidates import (
    CandidateScheme,
    families,
    named_candidates,
    shifted_candidates,
    word_candidates,
)
from sgverify.advice.identification.comparing import AGREES, Comparison, StepImages, compare, images_of
from sgverify.advice.identification.conventions import Convention, Reading, read_convention
from sgverify.advice.identification.fitting import ResponseFit, Solution, solved
from sgverify.advice.identification.model import OPEN, Identification, RecoveredNumber
from sgverify.advice.identification.starts import (
    Responses,
    carried,
    coordinates,
    respond,
    set_units,
    shapes_of,
    starts_of,
)
from sgverify.checks.code.pure_step import repetition
from sgverify.errors import SgverifyError
from sgverify.law.observed import HandedNumbers, Observed, settings_about
from sgverify.samplers.intercepted.repeated_step import Repetition
from sgverify.schemes import TorchStep
from sgverify.schemes.catalogue import NAMED
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.tempering import TOLD
from sgverify.subject.subject import Subject


def family_of(match: Match, noiseless: bool) -> tuple[str, ...]:
    """The sentences of the family: all numbers that have the law of this match."""
    numbers, scheme = match.base.numbers, match.base.scheme
    h, T = numbers["h"], numbers["T"]
    heat = "" if noiseless else f", T/g = {T:.9g}"
    if "V" in match.candidate.roles:
        floor = numbers.get("floor")
        told = "" if floor is None else f", floor/g = {floor:.9g}"
        return (
            f"the gradient times g (N/n, say) against the temperature and the floor: h = {h:.9g}{heat}{told} are fixed, and V "
            "grows with g^2",
        )
    if "D" not in scheme.parameters:
        return (
            f"the gradient times g (N/n, say) against step size and temperature: h g = {h:.9g}{heat} are fixed",
        )
    found = [
        f"the gradient times g (N/n, say) against step size and temperature, and the mass m against the unit of time: "
        f"h sqrt(g/m) = {h:.9g}, h D = {h * numbers['D']:.9g}{heat} are fixed",
    ]
    if "p" in match.candidate.roles and not scheme.dynamics.riemannian:
        s = numbers["p"]
        found.append(
            f"if its momentum is p itself, with dtheta = p/m dt, then m g = {s * s:.9g}, which leaves one of the two open; in "
            "another unit of momentum both"
        )
    if match.candidate.scalars:
        found.append(
            "a thermostat of mass m^2 goes with the mass m; an offset of xi changes nothing of theta"
        )
    return tuple(found)


STARTS = (4, 2, 1, 1)
"""The starts of Newton's method that are followed: of named schemes, of families, of shifted schemes and of words."""

PATIENCE = (12, 3, 3, 3)
"""The stalled steps in turn that end Newton's method, in the same order."""

PLAUSIBLE = 1e-7
"""The residual above which a solution is not compared further: it is not the observed law."""


@dataclass(frozen=True)
class Match:
    """A candidate whose law is the step's at every setting: its solutions there, the convention, and the largest difference.

    `first` is the comparison at the base setting.
    """

    solutions: tuple[Solution, ...]
    convention: Convention
    reading: Reading
    apart: float
    first: Comparison

    @property
    def base(self) -> Solution:
        """The solution at the base setting."""
        return self.solutions[0]

    @property
    def candidate(self) -> CandidateScheme:
        """The candidate."""
        return self.base.candidate


@dataclass
class Search:
    """A step beside the candidates: `matches` have its law, `others` are the best solutions of candidates that have not."""

    step: Observed
    base: HandedNumbers
    factors: Mapping[str, float]
    matches: list[Match] = field(default_factory=list)
    others: list[Solution] = field(default_factory=list)
    tried: int = 0
    refused: str = ""
    unequal: dict[str, Comparison] = field(default_factory=dict)
    """By candidate: the comparison that refuted a solution with the observed responses."""

    def __post_init__(self) -> None:
        self.settings = settings_about(self.base)
        self.variables = carried(self.step, self.base)
        # At one setting a variable may happen to have no effect, as p has at 1 - h D = 0: that setting is no base then.
        further = carried(self.step, self.settings[-1])
        if not {*further} <= {*self.variables}:
            self.base, self.variables = self.settings[-1], further
            self.settings = (self.base, *self.settings[1:-1])
        set_units(self.step, self.base, self.variables)
        self._seen: dict[tuple[HandedNumbers, tuple[int, ...]], Responses] = {}
        self._images: dict[HandedNumbers, list[StepImages]] = {}
        self._begun: dict[Any, list[dict[str, float]]] = {}

    @property
    def noiseless(self) -> bool:
        """Does no draw reach the state?"""
        return self.seen(self.base, self.variables).noiseless

    def run(self) -> None:
        """Try the named schemes and families; where none fits by a named convention, recorded elsewhere; then words."""
        shapes = shapes_of(self.step, self.variables)
        riemannian = self.step.step.dynamics.riemannian
        stages: list[Iterable[CandidateScheme]] = [named_candidates(shapes, riemannian)]
        if not riemannian:
            stages.append(families(shapes, self.factors.values()))
            stages += [shifted_candidates(shapes), word_candidates(shapes)]
        for place, stage in enumerate(stages):
            for candidate in stage:
                self._try(candidate, place)
            if any(match.reading.named or (place and match.reading.hot) for match in self.matches):
                return

    def seen(self, at: HandedNumbers, order: tuple[int, ...]) -> Responses:
        """The responses at a setting, with the variables in this order."""
        if (at, order) not in self._seen:
            self._seen[at, order] = respond(self.step, at, coordinates(self.step, order))
        return self._seen[at, order]

    def _orders(self, candidate: CandidateScheme) -> Iterator[tuple[int, ...]]:
        """The orders of the step's variables in which they have the shapes of the candidate's, theta first."""
        wanted = tuple(candidate.scheme.shapes.values())
        for rest in permutations(self.variables[1:]):
            order = (self.variables[0], *rest)
            if shapes_of(self.step, order) == wanted:
                yield order

    def _try(self, candidate: CandidateScheme, stage: int) -> None:
        self.tried += 1
        best: Solution | None = None
        for order in self._orders(candidate):
            seen = self.seen(self.base, order)
            found = solved(
                candidate,
                seen,
                order,
                self.step.dim,
                self._starts(candidate, self.base, order),
                STARTS[stage],
                PATIENCE[stage],
            )
            if found is not None and (best is None or found.residual < best.residual):
                best = found
        if best is None:
            return
        match = self._confirmed(best) if best.residual <= PLAUSIBLE else None
        if match is None:
            self.others.append(best)
        else:
            self.matches.append(match)

    def _confirmed(self, base: Solution) -> Match | None:
        """The match, where the laws agree at every setting; None where they differ at one, or where others say more of the step."""
        comparisons = [self._compared(base, self.base)]
        solutions = self._at_all_settings(base) if comparisons[0].agrees else [base]
        if comparisons[0].agrees:
            if len(solutions) < len(self.settings):
                return None
            convention, reading = self._read(solutions)
            # Of numbers that are odd those are kept that need the fewest words, the first of these.
            if reading.odd and any(len(match.reading.odd) <= len(reading.odd) for match in self.matches):
                return None
            for at, found in zip(self.settings[1:], solutions[1:], strict=True):
                if comparisons[-1].agrees:
                    comparisons.append(self._compared(found, at))
        if not comparisons[-1].agrees:
            if solutions[len(comparisons) - 1].residual <= PLAUSIBLE:
                self.refused = comparisons[-1].why or self.refused
                self.unequal[base.candidate.name] = comparisons[-1]
            return None
        factor = base.candidate.factor
        if factor != 1.0 and abs(reading.gradient / factor - 1) > AGREES:
            return None
        apart = max(c.apart for c in comparisons)
        return Match(tuple(solutions), convention, reading, apart, comparisons[0])

    def _at_all_settings(self, base: Solution) -> list[Solution]:
        """The solutions at all settings, with the family's numbers of the base; those before the first where there is none."""
        order, candidate, solutions = base.order, base.candidate, [base]
        known = {name: value for name, value in base.numbers.items() if name in candidate.numbers}
        for at in self.settings[1:]:
            starts = [*(found.numbers for found in solutions), *self._starts(candidate, at, order)]
            given, seen = ({**start, **known} for start in starts), self.seen(at, order)
            found = solved(candidate, seen, order, self.step.dim, given, max(STARTS), max(PATIENCE))
            if found is None:
                break
            solutions.append(found)
        return solutions

    def _read(self, solutions: Sequence[Solution]) -> tuple[Convention, Reading]:
        """The convention of the solutions at all settings, and its meaning."""
        candidate, scheme = solutions[0].candidate, solutions[0].candidate.scheme
        names = (*candidate.roles, *(f"{name} offset" for name in candidate.scalars))
        convention = Convention.of(self.settings, solutions, names, candidate.numbers)
        overdamped = tuple(scheme.shapes.values()) == (VECTOR,)
        kind = "preconditioned" if scheme.memory else "overdamped" if overdamped else "kinetic"
        # A step that takes no T is given U/T; where it has no noise either, it was handed none.
        tempered = TOLD in getattr(self.step.step, "conventions", "")
        if kind == "preconditioned" and "gradient of U/T" in getattr(self.step.step, "conventions", ""):
            convention = convention.of_divided_gradients()
        declared = tuple(
            name for name in self.step.parameters if name != "T" or not (tempered and convention.noiseless)
        )
        return convention, read_convention(convention, declared, kind, self.factors)

    def _starts(
        self, candidate: CandidateScheme, at: HandedNumbers, order: tuple[int, ...]
    ) -> list[dict[str, float]]:
        """Where to start, the same for all candidates with one kind of state."""
        key = (at, order, candidate.roles, candidate.scalars)
        if key not in self._begun:
            chosen = coordinates(self.step, order)
            self._begun[key] = starts_of(
                candidate, self.step, self.seen(at, order), chosen, self.factors.values()
            )
        return self._begun[key]

    def _compared(self, solution: Solution, at: HandedNumbers) -> Comparison:
        order = solution.order
        if at not in self._images:
            self._images[at] = images_of(self.step, at)
        return compare(
            solution, self.step, self.seen(at, order), coordinates(self.step, order), self._images[at]
        )

    def elsewhere(self, match: Match, dim: int, step: Observed) -> Comparison:
        """The comparison of a match at the base setting in another dimension, where `step` is observed."""
        step.units = self.step.units
        chosen = coordinates(step, match.base.order)
        images = images_of(step, self.base)
        return compare(match.base, step, respond(step, self.base, chosen), chosen, images)


def nearest(search: Search) -> tuple[Solution, np.ndarray] | None:
    """The solution whose responses come nearest, and the step's coordinates in its order; None where nothing could be compared.

    Numbers as they were handed are preferred where they come about as near as the best ones: differences are then told in
    the terms of the step itself.
    """
    if not search.others:
        return None
    best = min(search.others, key=_distance)
    handed = [found for item in search.others if (found := _at_handed(search, item)) is not None]
    if handed:
        own = min(handed, key=_distance)
        if own.residual <= HANDED_FACTOR * best.residual:
            best = own
    return best, coordinates(search.step, best.order)


def _distance(item: Solution) -> float:
    """The residual; a scheme without a name is to be nearer than a named one by a factor, since there are many."""
    named = item.candidate.name in NAMED and item.candidate.shift is None
    return item.residual if named else UNNAMED_FACTOR * item.residual


UNNAMED_FACTOR = 4.0

HANDED_FACTOR = 20.0
"""Handed numbers whose responses differ by up to this many times what the best numbers leave are preferred."""


def _at_handed(search: Search, item: Solution) -> Solution | None:
    candidate = item.candidate
    if candidate.numbers or candidate.shift is not None:
        return None
    fit = ResponseFit(candidate, search.seen(search.base, item.order), item.order, search.step.dim)
    unit = {**dict.fromkeys(candidate.roles, 1.0), **{f"{name} offset": 0.0 for name in candidate.scalars}}
    vector = fit.start({**search.base.numbers, **unit})
    if vector is None:
        return None
    residual = float(np.abs(fit.residual(vector[None])[0]).max())
    numbers = {name: float(value) for name, value in fit.numbers(vector).items()}
    return Solution(candidate, item.order, numbers, residual) if np.isfinite(residual) else None


def recovered_numbers(match: Match, state: tuple[str, ...]) -> tuple[RecoveredNumber, ...]:
    """The numbers of a match, h, D and T first; `state` are the variables of the step."""
    meanings = {"h": "step size", "D": "friction", "T": "temperature of the noise"}
    for role, place in zip(match.base.scheme.state[1:], match.base.order[1:], strict=True):
        meanings[role] = f"{state[place]} is this many times the scheme's {role}"
        meanings[f"{role} offset"] = f"{state[place]} is the scheme's {role} plus this"
    laws = match.convention.laws
    return tuple(
        RecoveredNumber(
            name,
            meanings.get(name, "number of the family"),
            float(value),
            "0" if abs(value) < AGREES else None if laws.get(name) is None else str(laws[name]),
        )
        # h, D and T come first; what follows keeps its order.
        for name, value in sorted(
            match.base.numbers.items(), key=lambda item: ("h", "D", "T", item[0]).index(item[0])
        )
    )


def none_draws() -> str:
    """A clause about the catalogue, where all draws of all its schemes are normal."""
    others = [name for name, scheme in NAMED.items() if not all(law.normal for law in scheme.laws)]
    return (
        "" if others else f", and each of the {len(NAMED)} schemes of the catalogue draws normal ones alone"
    )


def repeated_noise(subject: Subject) -> tuple[str, tuple[str, ...]]:
    """Why the draws of torch code are not new at each step, "" if they are, and what of this was not asked."""
    if not isinstance(subject.scheme, TorchStep):
        return "", ()
    asked = "`sgverify verify` tries it (pure-step, long-run)"
    try:
        found = repetition(subject) if subject.scheme.as_it_is is None else Repetition()
    except SgverifyError:
        return "", (f"whether later steps draw anew: {asked}",)
    told = "; ".join(filter(None, [found.noise, found.unrepeated]))
    return told, (f"whether it keeps anything else between steps: {asked}",)


def of_other_draws(found: Identification, other: str) -> Identification:
    """The answer about a definition that was run with normal draws in the place of others of the same mean and variance."""
    same = f"{found.scheme}: " if found.scheme else ""
    reason = (
        f"it draws {other} numbers{none_draws()}; with normal ones of the same mean and variance in their place: {same}"
        f"{found.reason.removeprefix(f'{found.scheme}; ')}"
    )
    return replace(found, outcome=OPEN, reason=reason, scheme=None, source=None, relation=None)
