"""A wrong number in a step whose invariant law is of too low an order: which term has it, and which number is due?

The leading defect of the law is affine in a factor s of a term that first acts there, as the force gradient of a refined kick:
D(s) = D(0) + s (D(1) - D(0)). Where it vanishes at one s, s times the number that the term has is due, exactly.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from math import prod

from sgverify.advice.diagnosis.edits.expressions import Expressions, Factor, Term
from sgverify.advice.diagnosis.edits.rules import SIMPLE, Candidate
from sgverify.advice.diagnosis.model import Cause
from sgverify.advice.diagnosis.search import Mend
from sgverify.advice.diagnosis.source import Replacement, Text, replaced, texts_of
from sgverify.advice.diagnosis.trial import passes, proved
from sgverify.errors import DefinitionError, SgverifyError
from sgverify.evidence import Evidence
from sgverify.exact.rings.polynomials import check_time, to_fraction
from sgverify.exact.series.invariant_order import invariant_order
from sgverify.schemes import Scheme
from sgverify.subject.subject import Subject

ORDERS = 3
"""The highest order of a law whose leading defect is sought: one of 4 is proved to no more."""

Defect = tuple[Fraction, dict[tuple[int, ...], Fraction]]
"""The first power of h at which exp(-U/T) is not invariant in dimension 1, and the coefficients there."""


def due_coefficient(subject: Subject, failed: Sequence[Evidence]) -> tuple[Cause, Mend] | None:
    """The term that passes everything with another number, and the edit; None where there is none."""
    scheme = subject.scheme
    before = None if scheme.invariant_order is None or scheme.memory else _defect(scheme)
    for text in texts_of(scheme) if before is not None else ():
        for term in () if text.word else Expressions(text.text).terms:
            check_time()
            if before is None or not (share := _share(text, term, before)):
                continue
            own, was = _number(term), text.text[term.start : term.end]
            candidate = _with_number(text, term, share * own)
            try:
                made = text.made(candidate.applied(text.text))
            except DefinitionError:
                continue
            proof = proved(subject, made, max(1, scheme.order or 1))
            passed = None if proof is None else passes(subject, made, proof, failed)
            if passed is not None:
                number = (text.line or 0) + text.text.count("\n", 0, term.start)
                line = f" in line {number}" * (text.line is not None)
                own *= -1 if share < 0 and text.text[: term.start].rstrip().endswith("-") else 1
                sentence = (
                    f"{_whose(scheme, text)} the coefficient {own} of `{was}`{line}, where {share * own} is due: the invariant "
                    f"law is of order {before[0] - 1}, required >= {scheme.invariant_order}"
                )
                return Cause("substep-wrong", sentence), Mend(text, candidate, made, passed, scheme)
    return None


def _whose(scheme: Scheme, text: Text) -> str:
    name = Expressions(text.text).definition.name
    letters = {} if scheme.word is None else scheme.word.used.letters
    own = [symbol for symbol, letter in letters.items() if letter.function.__name__ == name]
    return f"the letter {' and '.join(own)} ({name}) has" if own else "the step has"


def _defect(scheme: Scheme) -> Defect | None:
    with suppress(SgverifyError, ArithmeticError, ValueError):
        law = invariant_order(scheme, 1, ORDERS)
        if law.power is not None and law.rest is not None:
            return law.power, {tuple(map(int, m)): to_fraction(c) for m, c in law.rest.to_dict().items()}
    return None


def _share(text: Text, term: Term, before: Defect) -> Fraction | None:
    """The factor of the term at which the leading defect vanishes; None where there is none."""
    without = Replacement(term.start, term.end, f"0*({text.text[term.start : term.end]})")
    after = None
    with suppress(SgverifyError, SyntaxError, ValueError):
        after = _defect(text.sketch(replaced(text.text, [without])))
    if after is None or after[0] != before[0]:
        return None
    pairs = [(after[1].get(m, Fraction(0)), before[1].get(m, Fraction(0))) for m in {*before[1], *after[1]}]
    shares = {none / (none - own) if none != own else None for none, own in pairs}
    return shares.pop() if len(shares) == 1 else None


def _is_number(factor: Factor) -> bool:
    return isinstance(factor.node, ast.Constant) and type(factor.node.value) in (int, float)


def _number(term: Term) -> Fraction:
    """The number of a product, 1 without one."""
    numbers = [(Fraction(factor.text), factor.over) for factor in term.factors if _is_number(factor)]
    return prod((1 / number if over else number for number, over in numbers), start=Fraction(1))


def _with_number(text: Text, term: Term, due: Fraction) -> Candidate:
    """The edit that gives a product another number; one below 0 changes the sign before it."""
    others = [factor for factor in term.factors if not _is_number(factor)]
    above = [str(abs(due.numerator))] * (abs(due.numerator) != 1) + [f.text for f in others if not f.over]
    below = [f.text for f in others if f.over] + [str(due.denominator)] * (due.denominator != 1)
    new, start = "/".join(["*".join(above) or "1", *below]), term.start
    if due < 0:
        ahead = text.text[:start].rstrip()
        signed = ahead.endswith(("+", "-"))
        new = ("+ " if ahead.endswith("-") else "- ") + new if signed else f"-{new}"
        start = len(ahead) - signed if signed else start
    return Candidate((Replacement(start, term.end, new),), SIMPLE, ("number",))
