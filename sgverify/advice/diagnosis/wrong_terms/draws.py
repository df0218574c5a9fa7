"""Is a draw used in several places that are to be independent? Asked of the printed formula, with a draw of its own for each.

A noise that is right when every use of a draw has its own draw, and wrong as it stands, was shared.

The cause where the step is a word: a letter that is not its exact flow, letters that act for the wrong time, no symmetry.

The cause where a step has no power series because of what it does: a gradient elsewhere, a memory that is never renewed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sgverify.advice.diagnosis.model import Cause
from sgverify.advice.diagnosis.wrong_terms.moments import number_text
from sgverify.errors import NotExpandableError, UserError
from sgverify.exact.readings.formula import define, formula
from sgverify.exact.series.carrier import ElsewhereError
from sgverify.exact.series.letters import AlphabetProof
from sgverify.exact.series.local_order import local_order
from sgverify.exact.splittings.bch import bch
from sgverify.schemes import Scheme
from sgverify.schemes.scheme import make_scheme
from sgverify.schemes.splittings import Word


def uses_of_one_draw(scheme: Scheme, dim: int) -> int:
    """How often the formula uses a draw whose uses, each with a draw of its own, would make the step consistent; 0 if none."""
    for times, other in _independent(scheme):
        try:
            if local_order(other, dim, 1).order >= 1:
                return times
        except NotExpandableError:
            continue
    return 0


def wrong_law(scheme: Scheme, dim: int, order: Fraction) -> Cause | None:
    """The cause where a step with normal draws in the place of others would have a higher order: their law has other moments."""
    laws = dict.fromkeys(law for law in scheme.laws if not law.normal)
    if not laws or scheme.memory:
        return None
    text = re.sub(r"noise\.(two_point|three_point|uniform)\(\)", "noise()", formula(scheme))
    name = text.split("(", 1)[0].removeprefix("def ")
    try:
        normal = make_scheme(define(text, name), scheme.dynamics, order=scheme.order)
        reached = local_order(normal, dim).order
    except (NotExpandableError, UserError):
        return None
    if reached <= order:
        return None
    law = next(iter(laws))
    found = ", ".join(f"E z^{n} = {law.moment(n)}" for n in (2, 3, 4) if law.moment(n))
    return Cause(
        "noise-law",
        f"the draws have another law than the order needs: noise.{law.name}() has {found}, where normal draws, for which the step "
        f"has order {reached}, have E z^2 = 1, E z^4 = 3",
    )


def _independent(scheme: Scheme) -> Iterator[tuple[int, Scheme]]:
    """The scheme with a new draw at each use of a draw, or of a value with draws; and how often it is used."""
    head, *lines = formula(scheme).split("\n")
    values = dict(line.strip().split(" = ", 1) for line in lines[:-1])
    noisy = {name: value for name, value in values.items() if "noise" in _names(value)}
    for name, value in values.items():
        times = sum(_names(line).count(name) for line in lines) - 1
        if times < 2 or not {"noise", *noisy} & {*_names(value)}:
            continue
        for other, draw in noisy.items():
            value = value if other == name else re.sub(rf"\b{other}\b", f"({draw})", value)
        edited = [head, *(line for line in lines if not line.strip().startswith(f"{name} = "))]
        text = re.sub(rf"\b{name}\b", f"({value})", "\n".join(edited))
        function_name = head.split("(", 1)[0].removeprefix("def ")
        try:
            function = define(text, function_name, f"<{scheme.name} with independent draws>")
            made = make_scheme(function, scheme.dynamics, order=scheme.order, memory=scheme.memory)
        except UserError:
            continue
        yield times, replace(made, name=scheme.name)


def _names(text: str) -> list[str]:
    return re.findall(r"(?<!\.)\b[A-Za-z_]\w*", text)


def wrong_word(word: Word, alphabet: AlphabetProof, order: Fraction, required: int) -> Cause | None:
    """The cause of a word's lower order where its letters or their places explain it.

    None where the letters are not proved because they sum to another generator: then the terms of that say more.
    """
    inexact = [fault for fault in alphabet.faults if "is not the flow" in fault]
    if not alphabet.faults or (inexact and order >= 1):
        if inexact:
            return Cause("letter-not-exact", _inexact(inexact[0], alphabet))
        return _by_shares(word) or _by_symmetry(word, order, required)
    return None


def _inexact(fault: str, alphabet: AlphabetProof) -> str:
    symbol = fault.split()[1]
    return f"{fault}; it flows along {alphabet.generators[symbol]}"


def _by_shares(word: Word) -> Cause | None:
    """A letter whose shares do not sum to 1."""
    merged = word.merged
    for letter in dict.fromkeys(merged):
        shares = [share for symbol, share in zip(merged, word.shares, strict=True) if symbol == letter]
        total = sum(shares[1:], shares[0])
        if total != 1:
            texts = " + ".join(map(str, shares))
            return Cause(
                "substep-wrong", f"letter {letter} acts for ({texts}) h = {total} h in all, where h is due"
            )
    return None


def _by_symmetry(word: Word, order: Fraction, required: int) -> Cause | None:
    """Order 1 of a word that does not read the same in both directions, or a claim beyond what a symmetric one has."""
    found = bch(word.merged, word.shares)
    leading = ", ".join(str(term) for term in found.leading[:3])
    if not word.palindromic:
        apart = next(
            place
            for place, pair in enumerate(zip(_steps(word), reversed(_steps(word)), strict=True))
            if pair[0] != pair[1]
        )
        first, last = _steps(word)[apart], _steps(word)[-1 - apart]
        return Cause(
            "word-not-symmetric",
            f"the word {word.text} is not symmetric: place {apart + 1} from the front is {_shown(first)}, and from the back "
            f"{_shown(last)}; its order is {order}, with the leading term {leading}",
        )
    return Cause(
        "claimed-order",
        f"the word {word.text} is symmetric and of order {order}, and {required} is claimed: its leading term is {leading}",
    )


def _steps(word: Word) -> list[tuple[str, object]]:
    return list(zip(word.text, word.shares, strict=True))


def _shown(step: tuple[str, object]) -> str:
    letter, share = step
    told = number_text(share) if isinstance(share, Fraction) else share
    return letter if share == 1 else f"{letter} for {told} h"


def without_series(scheme: Scheme, why: NotExpandableError) -> Cause | None:
    """The cause of a step that has no power series; None where the reason names none."""
    if isinstance(why, ElsewhereError):
        return Cause(
            "gradient-of-wrong-argument",
            f"{why.what} is evaluated at {why.where} as h -> 0, where theta is due",
        )
    for name in kept_for_ever(scheme):
        if scheme.starts.gradients:
            return Cause(
                "gradient-at-old-point",
                f"the memory {name} is returned as it was taken: the gradient of the start is never renewed",
            )
        return Cause("old-value", f"the memory {name} is returned as it was taken: it is never renewed")
    return None


def kept_for_ever(scheme: Scheme) -> list[str]:
    """The parts of its memory that a step returns as it took them, by its formula."""
    if not scheme.memory:
        return []
    (definition,) = ast.parse(formula(scheme)).body
    returned = zip(scheme.state, definition.body[-1].value.elts, strict=True)  # type: ignore[attr-defined]
    return [name for name, node in returned if name in scheme.memory and getattr(node, "id", "") == name]
