"""`identify`: the published scheme that a step is, by its law of one step beside those of the catalogue's schemes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from sgverify.advice.identification.candidates import (
    LONGEST,
    LONGEST_PALINDROME,
    cyclic_shifts,
    source_of,
)
from sgverify.advice.identification.comparing import AGREES, differences
from sgverify.advice.identification.conventions import factors_of
from sgverify.advice.identification.fitting import Solution
from sgverify.advice.identification.matching import (
    PLAUSIBLE,
    Match,
    Search,
    family_of,
    nearest,
    none_draws,
    of_other_draws,
    recovered_numbers,
    repeated_noise,
)
from sgverify.advice.identification.model import (
    IDENTIFIED,
    NONE,
    OPEN,
    OTHER_NUMBERS,
    Agreement,
    Equivalent,
    Identification,
    Nearest,
    Outcome,
)
from sgverify.configuration import Configuration, load_configuration
from sgverify.configuration.overrides import Overrides
from sgverify.errors import ConfigurationError, SgverifyError, Unreached
from sgverify.law.observed import (
    HandedNumbers,
    ObservedDefinition,
    ObservedTorch,
    observed_step,
)
from sgverify.schemes import Scheme, TorchStep
from sgverify.schemes.composites import Composite
from sgverify.schemes.loading import scheme_reference
from sgverify.subject.binding import make_subject, refuse_stray_tables
from sgverify.subject.momentum_unit import in_told_unit, told_unit
from sgverify.subject.subject import Subject
from sgverify.user_code import own_code

STEP = 0.1
"""The step size that is handed where none is configured."""

LEAST_STEP = 1e-6
"""The least step size: a state of size 1 is rounded by 1e-16, which is 1e-10 of so short a movement, below what equal laws may
differ by."""

OTHER_DIMENSIONS = (1, 3)

Source = Configuration | Mapping[str, Any] | str | Path | None

_FLOAT32 = 2.0**-24


def identify(
    scheme: Scheme | TorchStep | str | Any, config: Source = None, **overrides: Unpack[Overrides]
) -> Identification:
    """Which published scheme a step is, from the exact law of one step, with h, D, T and the scales of its state recovered.

    `scheme` is a scheme, torch code under `torch_step`, an object that an adapter makes a step of, or a reference to one. The
    step is handed h (`schedule.step`, by default 0.1), D (`friction`) and T (`temperature`), and other values of each. `target`
    and `gradient` give N and n alone, in which a factor of the gradient is named; the step is run on quartic and quadratic
    potentials of this package, in the dimension `proof_dim`, by default 2.

    >>> found = identify("sghmc-nogin")
    >>> found.scheme, found.outcome
    ('sghmc-nogin', 'identified')

    Raises `UserError` where scheme or configuration are wrong.
    """
    configuration = load_configuration(config, **overrides)
    with own_code():
        subject = make_subject(scheme, configuration)
        refuse_stray_tables(subject)
        if subject.composite is not None:
            raise _composite(subject.composite)
        found = _identified(replace(subject, scheme=in_told_unit(subject.scheme)))
        if found.identified or not (unit := told_unit(subject.scheme)):
            return found
        other = _identified(subject)
        return replace(other, convention=(unit, *other.convention)) if other.identified else found


def _composite(composite: Composite) -> ConfigurationError:
    return ConfigurationError(
        f"scheme={composite.reference or composite.name!r}: is a composite, whose swaps or weights no scheme has; expected its "
        f"scheme, {scheme_reference(composite)}"
    )


def _identified(subject: Subject) -> Identification:
    scheme, name = subject.scheme, subject.reference
    c = subject.configuration
    base = HandedNumbers(float(c.schedule.step or STEP), float(c.friction), float(c.temperature))
    if base.h < LEAST_STEP:
        raise ConfigurationError(
            f"schedule.step={c.schedule.step!r}: rounding hides what so small a step does; expected {LEAST_STEP:g} or more, or "
            "leave it out: a scheme is the same at all step sizes"
        )
    if not (base.D > 0 and base.T > 0):
        raise ConfigurationError(
            f"friction={c.friction!r}, temperature={c.temperature!r}: expected positive numbers, from which others are tried too"
        )
    if scheme.dynamics.positive:
        return _without(
            name,
            NONE,
            f"lives on theta > 0 alone ({scheme.dynamics.name}), and no scheme of the catalogue does",
        )
    dim = subject.proof_dimension
    step = observed_step(scheme, dim)
    try:
        other = step.other_draws(base)
        if other and isinstance(step, ObservedTorch):
            return _without(
                name,
                OPEN,
                f"it draws {other} numbers, which may become normal ones; its law is read for normal draws alone{none_draws()}",
            )
        search = Search(step, base, _factors(subject))
        search.run()
        found = _of_match(subject, search) if search.matches else _of_none(subject, search)
        return of_other_draws(found, other) if other else found
    except Unreached as error:
        return _without(name, OPEN, f"its law of one step is not read: {error}")


def _factors(subject: Subject) -> dict[str, float]:
    """The factors in which one of the gradient is named: of N and n where they were configured."""
    c, data = subject.configuration, subject.target.data
    if data is None or "target" not in c.model_fields_set:
        return {}
    return factors_of(len(data), c.gradient.batch if "batch" in c.gradient.model_fields_set else None)


def _without(name: str, outcome: Outcome, reason: str) -> Identification:
    nothing: dict[str, Any] = dict.fromkeys(("scheme", "source", "relation", "nearest", "agreement"))
    empty: dict[str, Any] = dict.fromkeys(("numbers", "convention", "family", "equivalents"), ())
    return Identification(name, outcome, reason, untested=_untested(), **nothing, **empty)


def _of_match(subject: Subject, search: Search) -> Identification:
    order = sorted(search.matches, key=_rank)
    best = order[0]
    apart, dimensions, failed, left = _other_dimensions(subject, search, best)
    label = _scheme_name(best.base, best.reading.gradient)
    repeated, unasked = repeated_noise(subject)
    if repeated or failed:
        law = f"one step with new draws has the law of {label}: {repeated}"
        if not repeated:
            law = f"in dimension {search.step.dim} its law is that of {label}, and {failed}"
        reason = f"no scheme of the catalogue{', though' if repeated else ':'} {law}"
        return replace(
            _without(subject.reference, NONE, reason), agreement=_agreement(search, best, apart, dimensions)
        )
    named = best.reading.named
    if named:
        how = "at the handed h, D and T" if _as_handed(best) else "by the convention below"
        reason = f"{label}; one step has its law, {how}"
    else:
        reason = f"{label} at other numbers than were handed: {'; '.join(best.reading.odd)}"
    shifts = () if best.candidate.shift is not None else tuple(cyclic_shifts(best.base.scheme))
    return replace(
        _without(subject.reference, IDENTIFIED if named else OTHER_NUMBERS, reason),
        scheme=label,
        source=source_of(best.candidate.name, best.base.scheme) or None,
        relation=_relation(best, shifts),
        numbers=recovered_numbers(best, search.step.state),
        convention=(*best.reading.sentences, *_idle(search)),
        family=family_of(best, search.noiseless),
        equivalents=(
            *(_equivalent(match) for match in order[1:] if match.reading.named),
            *(
                Equivalent(name, f"conjugate, a cyclic shift: {cut}", "the same h, D, T")
                for name, cut in shifts
            ),
        ),
        agreement=_agreement(search, best, apart, dimensions),
        untested=(*left, *_beyond(search, best), *unasked, *_untested()),
    )


def _beyond(search: Search, match: Match) -> tuple[str, ...]:
    """Where the law of torch code was not compared: code may branch on a number. A definition cannot."""
    if isinstance(search.step, ObservedDefinition):
        return ()
    theta, gradient, draw = match.first.extent
    ranges = [
        f"{name} outside {min(values):.3g} to {max(values):.3g}"
        for name in ("h", *(name for name in ("D", "T") if name in search.step.parameters))
        for values in ([at.numbers[name] for at in search.settings],)
    ]
    return (
        f"branches that these states and draws do not meet, as for |theta| > {theta:.3g}, |grad U| > {gradient:.3g} or |draw| > "
        f"{draw:.3g}; {'; '.join(ranges)}; dimensions above {max((search.step.dim, *OTHER_DIMENSIONS))}",
    )


def _rank(match: Match) -> tuple[int, bool, bool, bool]:
    """Named conventions first, then the scheme as it is, then without numbers of a family, then fewer remarks."""
    candidate = match.candidate
    return (
        len(match.reading.odd),
        candidate.shift is not None,
        bool(candidate.numbers),
        not _as_handed(match),
    )


def _as_handed(match: Match) -> bool:
    """Are h, D and T those that were handed, and the state the scheme's own?"""
    convention, handed = match.convention, ("h", "T", "D")
    scaled = any(abs(match.base.numbers[role] - 1) > AGREES for role in match.candidate.roles)
    return not scaled and all(str(convention.laws[name]) == name for name in handed[: 2 + convention.damped])


def _scheme_name(solution: Solution, gradient: float = 1.0) -> str:
    """The catalogue's name of the scheme, with the recovered numbers of its family where the gradient has this factor."""
    candidate = solution.candidate
    if not candidate.numbers:
        return candidate.name
    return candidate.named_of(solution.numbers, gradient).name


def _relation(match: Match, shifts: Sequence[tuple[str, str]]) -> str:
    if match.candidate.shift is not None:
        return f"conjugate: {match.candidate.shift.text}"
    return "; ".join(f"a cyclic shift of {name}: {proof}" for name, proof in shifts) or "equal"


def _numbers_text(solution: Solution) -> str:
    return ", ".join(f"{name} = {value:.9g}" for name, value in solution.numbers.items())


def _equivalent(match: Match) -> Equivalent:
    shift = match.candidate.shift
    return Equivalent(
        _scheme_name(match.base, match.reading.gradient),
        "equal" if shift is None else shift.text,
        _numbers_text(match.base),
    )


def _idle(search: Search) -> tuple[str, ...]:
    """A sentence about variables on which no later position depends."""
    left = [name for place, name in enumerate(search.step.state) if place not in search.variables]
    return (f"no later position depends on its {', '.join(left)}",) if left else ()


def _other_dimensions(
    subject: Subject, search: Search, match: Match
) -> tuple[float, tuple[int, ...], str, tuple[str, ...]]:
    """The largest difference in other dimensions, the dimensions compared, where it differs, and what was left out."""
    apart, dimensions, left = match.apart, [search.step.dim], []
    for dim in OTHER_DIMENSIONS:
        if dim == search.step.dim:
            continue
        try:
            found = search.elsewhere(match, dim, observed_step(subject.scheme, dim))
        except (SgverifyError, ValueError) as error:
            left.append(f"dimension {dim}: {error}")
            continue
        if not found.agrees:
            where = f" in {found.variable}" if found.variable else ""
            return (
                apart,
                tuple(dimensions),
                f"in dimension {dim} it differs by {found.apart:.2g} of a step{where}",
                (),
            )
        apart = max(apart, found.apart)
        dimensions.append(dim)
    return apart, tuple(dimensions), "", tuple(left)


def _agreement(search: Search, match: Match, apart: float, dimensions: tuple[int, ...]) -> Agreement:
    definition = isinstance(search.step, ObservedDefinition)
    return Agreement(
        "a definition, in long double" if definition else "intercepted torch code, in float64",
        apart,
        AGREES,
        tuple(map(str, search.settings)),
        match.first.potentials,
        match.first.points,
        dimensions,
        search.tried,
    )


def _of_none(subject: Subject, search: Search) -> Identification:
    name = subject.reference
    found = nearest(search)
    if found is None:
        state = ", ".join(search.step.state[i] for i in search.variables)
        return _without(
            name, NONE, f"no scheme of the catalogue: none carries a state of the shapes of ({state})"
        )
    solution, chosen = found
    seen = search.seen(search.base, solution.order)
    terms = differences(solution, search.step, seen, chosen)
    near = Nearest(_scheme_name(solution), _numbers_text(solution), solution.residual, terms)
    step = search.step
    outcome: Outcome = NONE
    if search.refused and solution.residual <= AGREES:
        outcome, reason = OPEN, f"it agrees with {near.scheme} on quadratic potentials, but {search.refused}"
    elif step.narrow and solution.residual <= step.operations * _FLOAT32:
        outcome = OPEN
        reason = (
            f"it differs from {near.scheme} by {solution.residual:.1g} of a step, and its float32 roundings may do as much "
            f"as {step.operations * _FLOAT32:.1g}"
        )
    else:
        unequal = search.unequal.get(solution.candidate.name)
        if terms:
            first = f"differs {terms[0].text}"
        elif unequal is not None and solution.residual <= PLAUSIBLE:
            where = f" in {unequal.variable}" if unequal.variable else ""
            first = f"differs by {unequal.apart:.2g} of a step{where} at other states and draws"
        else:
            first = f"differs by {solution.residual:.2g} of a step"
        reason = f"no scheme of the catalogue; nearest {near.scheme}, {first}"
    return replace(
        _without(name, outcome, reason),
        nearest=near,
        untested=(
            f"words of more than {LONGEST} letters, and palindromes of more than {LONGEST_PALINDROME}; words of unequal shares",
            *_untested(),
        ),
    )


def _untested() -> tuple[str, ...]:
    return (
        "minibatches: the gradient is the full one",
        "composites such as replica exchange; what a step does in float32",
    )
