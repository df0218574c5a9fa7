"""Design: which word over an alphabet, with which shares, has the smallest leading error of averages? Searched, then proved.

The search takes floats. What is shown is proved of the scheme as it is defined, by what judges any scheme: the order of one step
and of the invariant law for every smooth potential. The leading error on Gaussians is computed twice, from the coefficients of
words and from the exact law of the chain; a word on which the two differ is left out, and named.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import hypot, sqrt

import numpy as np
from flint import fmpq

from sgverify.advice.design.model import Design, DesignedWord
from sgverify.advice.design.searching import CandidateWord, Share, ShareSearch, candidates
from sgverify.advice.design.target_class import FRICTIONS, Member, Rows, conditions, members_of
from sgverify.checks.order.invariant_order import invariant_proof
from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError, DefinitionError, NotExpandableError, UnknownNameError
from sgverify.exact.answers.invariant import InvariantLaw
from sgverify.exact.rings.polynomials import to_fraction
from sgverify.exact.series.letters import prove_alphabet
from sgverify.keeping.stopping import late
from sgverify.schemes.catalogue import ALPHABETS, IN_METRIC
from sgverify.schemes.loading import load_scheme
from sgverify.schemes.splittings import Alphabet
from sgverify.subject.subject import Subject

MOST = {"order": 4, "gradients": 5, "show": 100}

LONGEST = 11
"""The most letters of a word."""

CLOSE = 1e-12
"""The distance of coefficients that are equal, where shares are roots and the law of the chain is one of balls."""


def design(
    dynamics: str,
    *,
    letters: str | None = None,
    gradients: int = 1,
    order: int = 2,
    show: int = 10,
    progress: Callable[[str, float, int], None] | None = None,
) -> Design:
    """The words over the letters of a dynamics with the smallest leading error of averages, proved.

    `dynamics`: kinetic, or the reference of a word of your own, whose alphabet is taken. `letters`: those of one alphabet, by
    default of the first. `gradients`: at most so many a step, one that the next step needs again counted once. `order`: that of
    the invariant law, at least. The search ends where the time of the command does. Raises `UserError` for what cannot be
    searched.
    """
    for name, value in {"order": order, "gradients": gradients, "show": show}.items():
        if type(value) is not int or not 1 <= value <= MOST[name]:
            raise ConfigurationError(
                f"{name}={value!r}: expected a whole number from 1 to {MOST[name]}; give one of these"
            )
    reference, alphabet = _alphabet(dynamics, letters)
    letters_of_order = 4 * gradients + 1 if order <= 2 else 2 * gradients + 2
    length = min(LONGEST, max(len(alphabet.letters), letters_of_order))
    try:
        proof = prove_alphabet(alphabet, 1, 2)
    except NotExpandableError as error:
        raise ConfigurationError(
            f"alphabet {alphabet.name}: it uses {error}; expected letters with a power series"
        ) from None
    if not proof.proved:
        raise ConfigurationError(
            f"alphabet {alphabet.name}: {proof.faults[0]}; expected exact flows that sum to the dynamics"
        )
    members = members_of(proof, alphabet.dynamics)
    errors = [member.errors(order + 1) for member in members]
    rows = np.array([row for one in errors for part in one for row in part], dtype=float) / sqrt(len(members))
    held = [conditions(members, d) for d in range(2, order + 1)]
    search = ShareSearch("".join(alphabet.letters), order, held, rows)
    listed = list(candidates(alphabet, proof, gradients, length, order))
    searched = 0
    found: list[tuple[float, int, CandidateWord, tuple[Share, ...]]] = []
    left_out: list[str] = []
    for candidate in listed:
        try:
            if (ended := late()) is not None:
                left_out.append(
                    f"{len(listed) - searched} words that were not reached within {ended.seconds:g} s"
                )
                break
            if progress:
                progress(candidate.word, searched, len(listed))
            x, searched = search.best(candidate), searched + 1
        except KeyboardInterrupt:
            if not late():
                raise
            continue
        if isinstance(x, tuple):
            found.append((round(search.error(candidate, x), 9), len(candidate.word), candidate, x))
        elif x:
            left_out.append(f"{candidate.word}: {x}")
    words: list[DesignedWord] = []
    for *_, candidate, x in sorted(found, key=lambda one: (*one[:2], one[2].word)):
        if len(words) < show:
            if progress:
                progress(f"proof of {candidate.word}", searched, len(listed))
            proved = proved_word(reference, alphabet, candidate, x, order, members, errors)
            (words if isinstance(proved, DesignedWord) else left_out).append(proved)  # type: ignore[arg-type]
    told = sorted({word.dimensions for word in words})
    return Design(
        alphabet.dynamics.name,
        search.letters,
        gradients,
        order,
        length,
        len(listed),
        searched,
        tuple(words),
        tuple(left_out),
        (
            f"the orders: every smooth potential, T and D; {' or '.join(told) or 'no word'}; h -> 0; full gradients",
            f"the error: the term of h^{order} in means and variances of theta, in h sqrt(k), on Gaussians in any dimension, at "
            f"any T, each mode of precision k with the friction D/sqrt(k) = {', '.join(map(str, FRICTIONS))}; beside them what a "
            "third and a fourth derivative of U do to first order",
            "not told: the largest stable step, minibatches, and targets far from Gaussians (sgverify verify and advise)",
        ),
    )


def _alphabet(dynamics: str, letters: str | None) -> tuple[str, Alphabet]:
    """The reference of a word or the beginning of one, and its alphabet."""
    every = ALPHABETS | IN_METRIC
    known = {
        f"{name}-{''.join(alphabet.letters).lower()}": alphabet
        for name, alphabet in every.items()
        if alphabet.dynamics.name == dynamics
    }
    if not known:
        try:
            word = load_scheme(dynamics).word
        except UnknownNameError:
            if ":" in dynamics:
                raise
            names = ", ".join(sorted({alphabet.dynamics.name for alphabet in every.values()}))
            raise ConfigurationError(
                f"dynamics={dynamics!r}: no alphabet here splits it; expected one of {names}, or path/to/file.py:scheme, a word "
                "over an alphabet of your own"
            ) from None
        if word is None:
            raise DefinitionError(
                f"dynamics={dynamics!r} is no word over an alphabet; expected one such as Alphabet(...).word('ABA')"
            )
        known = {dynamics: word.alphabet}
    # The letters of molecular dynamics come first: they leave the density invariant one by one or in pairs.
    chosen = sorted(known.items(), key=lambda item: not item[0].startswith("sghmc-md"))
    for reference, alphabet in chosen:
        if letters is None or sorted(letters) == sorted(alphabet.letters):
            return reference, alphabet
    able = ", ".join(f"{''.join(alphabet.letters)} of {alphabet.name}" for _, alphabet in chosen)
    raise ConfigurationError(
        f"letters={letters!r}: expected all letters of one alphabet of {dynamics}: {able}"
    )


def proved_word(
    reference: str,
    alphabet: Alphabet,
    candidate: CandidateWord,
    x: tuple[Share, ...],
    order: int,
    members: list[Member],
    errors: list[tuple[Rows, Rows]],
) -> DesignedWord | str:
    """The word with what is proved of it; a sentence where that is not what the search saw."""
    word, shares = candidate.word, [x[k] for k in candidate.places]
    scheme = alphabet.word(word, order={"invariant": order}, coefficients=[*map(str, shares)])
    subject = Subject(scheme, load_configuration({"target": {"name": "gaussian"}}), word)
    law, step = invariant_proof(subject), subject.order
    if isinstance(law, NotExpandableError) or isinstance(step, NotExpandableError):
        return f"{word}: no proof of its orders"
    if law.found.order < order or not law.found.mixes:
        return f"{word}: the order of its invariant law is {law.found.order}"
    found = candidate.series(x, "".join(alphabet.letters), order + 1)[-1]
    coefficients = [to_fraction(e) if isinstance(e, fmpq) else e for e in found]
    gaussian, near = (
        [
            sum((c * e for c, e in zip(row, coefficients, strict=True) if c), Fraction(0))
            for one in errors
            for row in one[part]
        ]
        for part in (0, 1)
    )
    for member, value in zip(members, gaussian, strict=True):
        told = {"target": {"name": "gaussian"}, "friction": float(member.friction)}
        exact = InvariantLaw(Subject(scheme, load_configuration(told), word).model).errors[: order + 1]
        for expected, entry in zip(
            [Fraction(0)] * order + [value], (e.covariance[0, 0] for e in exact), strict=True
        ):
            same = (
                to_fraction(entry) == expected
                if isinstance(entry, fmpq)
                else abs(float(entry) - float(expected)) < CLOSE
            )
            if not same:
                return f"{word}: on N(0, 1) with D = {member.friction} the exact law is off by {entry}, and not by {expected}"
    sizes = [sqrt(sum(float(value) ** 2 for value in part) / len(members)) for part in (gaussian, near)]
    orders = int(step.order), int(law.found.order)
    return DesignedWord(
        word,
        candidate.gradients,
        *orders,
        hypot(*sizes),
        sizes[0],
        sizes[1],
        not any(gaussian),
        tuple(map(str, shares)),
        law.dimensions.told or "every dimension",
        _definition(reference, word, [*map(str, shares)], orders),
    )


def _definition(reference: str, word: str, shares: list[str], orders: tuple[int, int]) -> str:
    """Python text; the letters are those of a shipped scheme, or of the file that was given."""
    place, _, name = reference.rpartition(":")
    taken = f'from sgverify import find_scheme\n\nalphabet = find_scheme("{reference}").word.alphabet'
    if place:
        module = place.rpartition("/")[2].removesuffix(".py")
        taken = f"from {module} import {name.partition('.')[0]}\n\nalphabet = {name}.word.alphabet"
    stated = f'{{"weak-finite-time": {orders[0]}, "invariant": {orders[1]}}}'
    listed = str(shares).replace("'", '"')
    return (
        f'{taken}\nbest = alphabet.word(\n    "{word}",\n    order={stated},\n    coefficients={listed},\n)'
    )
