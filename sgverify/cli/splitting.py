"""`sgverify bch`: which order and leading error has a splitting, by the Baker-Campbell-Hausdorff formula?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sgverify.cli.shared import output
from sgverify.cli.shared.options import JSON
from sgverify.errors import DefinitionError
from sgverify.evidence.documents import BCH
from sgverify.user_code import own_code

if TYPE_CHECKING:
    from sgverify.exact.splittings.bch import BCHResult
    from sgverify.exact.splittings.printed_decimals import WithinRounding


@click.command()
@click.argument("word")
@click.option(
    "--coefficients",
    metavar="1/2,1,1/2",
    help="One share of the step per letter; default: equal shares. Exact: 1/2, 0.25, sqrt(3)/6, 1/(2-2^(1/3)), "
    "root(48x^3-72x^2+38x-5, 0.19). Printed decimals: ~0.2146. By name: yoshida4, yoshida6, suzuki4, suzuki6.",
)
@click.option(
    "--decimals",
    type=click.Choice(["exact", "rounded"]),
    default="exact",
    show_default=True,
    help="exact: a decimal is the fraction that it writes, and beside the exact order stands the one within the rounding of "
    "printed decimals. rounded: each is any number that rounds to it, as if marked ~; that can refute an order, not prove it.",
)
@click.option("--degree", type=int, metavar="N", help="The highest degree searched for the leading error.")
@click.option(
    "--modified", is_flag=True, help="The modified generator Z, in the Lyndon basis, through --degree (5)."
)
@click.option(
    "--order-conditions",
    "conditions",
    type=click.Choice(["all", "symmetric"]),
    help="The equations that the coefficients of the word must satisfy, through --degree (3).",
)
@click.option(
    "--conjugate-to",
    "other",
    metavar="WORD",
    help="Ask whether the splitting is conjugate to WORD: word = u v and WORD = v u, one chain from another place of its step.",
)
@click.option(
    "--conjugate-coefficients", "other_coefficients", metavar="...", help="The shares of that WORD."
)
@JSON
def bch(
    word: str,
    coefficients: str | None,
    decimals: str,
    degree: int | None,
    modified: bool,
    conditions: str | None,
    other: str | None,
    other_coefficients: str | None,
    json_path: str | None,
) -> int:
    """Order and leading commutators of a splitting WORD, log(exp(c1 X1) exp(c2 X2) ...).

    WORD is capital letters, or a splitting of an alphabet, FILE.py:NAME or a name of the catalogue, with its own shares. Its
    letters are proved to be the flows that BCH takes them for; those that are not, as a force-gradient kick, are refused.

    Coefficients of the literature are decimals, rounded when they were printed. Read exactly they have some low order; within
    their rounding, half a unit in the last place, they may be consistent with a higher one. Both are said: the exact order is
    proved, the other is not. Decimals that are too short to tell one order from the next are named so.

    \b
    Examples:
      # Strang's splitting with equal shares of A: order 2 and its leading error
      sgverify bch ABA
      # shares of the literature, as printed decimals or by name (yoshida4)
      sgverify bch ABABA --coefficients "~0.1932,1/2,~0.6136,1/2,~0.1932"
      # a splitting of your own letters
      sgverify bch mine.py:aboba
      # the equations for symmetric shares of your own
      sgverify bch ABABA --order-conditions symmetric

    Exit codes: 0 with an answer, whatever the order is; 2 the call is wrong.
    """
    from sgverify.exact.splittings.bch import bch as compute
    from sgverify.exact.splittings.printed_decimals import within_rounding

    word, coefficients = _splitting(word, coefficients)
    if other is not None:
        other, other_coefficients = _splitting(other, other_coefficients)
    result = compute(word, coefficients, degree, decimals=decimals)
    within = result.rounding if result.rounded else within_rounding(word, coefficients, degree)
    document: dict[str, Any] = {
        "schema": BCH.name,
        "word": result.word,
        "coefficients": [str(c) for c in result.coefficients],
        "order": result.order,
        "order_within_rounding": None if within is None else within.order,
        "leading": [{"commutator": t.commutator, "coefficient": str(t.coefficient)} for t in result.leading],
        "symmetric": result.symmetric,
        "degree": result.degree,
        "proved": result.proved,
        "reason": result.reason,
        "within_rounding": _within_rounding(within),
    }
    lines = _answer(result, within)
    if not result.rounded:
        document["first_even_degree"], line = _time_symmetry(result)
        lines.append(line)
        document["up_to_conjugacy"], more = _up_to_conjugacy(result, degree)
        lines += more
    if other is not None or other_coefficients is not None:
        document["conjugate_to"], line = _conjugate(result, other, other_coefficients)
        lines.append(line)
    if modified:
        document["modified"] = _modified(word, coefficients, degree, decimals)
        lines.append("modified generator Z:")
        lines += [
            f"  ({t['coefficient']}) {t['commutator']}"
            for part in document["modified"]
            for t in part["terms"]
        ]
    if conditions:
        document["order_conditions"] = _conditions(word, degree, conditions)
        lines.append("order conditions:")
        lines += [f"  {c['word']}: {c['condition']}" for c in document["order_conditions"]]
    output.show_document(document, "\n".join(lines), json_path)
    return 0


def _splitting(word: str, coefficients: str | None) -> tuple[str, Any]:
    """The letters, and the shares that are given or those of a scheme: of one that is named, by its word over an alphabet.

    Raises `DefinitionError` where it has none, or a letter is not proved to be a flow.
    """
    from sgverify.schemes.catalogue import NAMED

    if ":" not in word and word not in NAMED:
        return word, coefficients
    from sgverify.configuration import Configuration
    from sgverify.subject.binding import make_subject

    with own_code():
        subject = make_subject(word, Configuration())
    splitting = getattr(subject.scheme, "word", None)
    instead = f"sgverify verify {word} and sgverify compare {word} tell its order"
    if splitting is None:
        raise DefinitionError(f"word={word!r}: is no splitting; expected a word over an Alphabet; {instead}")
    with own_code():
        proof = subject.alphabet
    if proof is None or not proof.proved:
        why = proof.faults[0] if proof is not None else "its letters are not read"
        raise DefinitionError(f"word={word!r}: BCH takes letters for exact flows, and {why}; {instead}")
    return splitting.merged, splitting.shares if coefficients is None else coefficients


def _answer(result: BCHResult, within: WithinRounding | None) -> list[str]:
    """The lines that say the order and the leading error: within the rounding of printed decimals first, then exactly read."""
    from sgverify.exact.splittings.bch import LeadingTerm

    order = "exact" if result.order is None else f"order {result.order}"
    exactly = [f"  {term}" for term in result.leading]
    if within is None:
        return str(result).split("\n")
    more = "" if within.refuted or within.order is None else " or more"
    rounded = f"order {within.order}{more} within the rounding of the printed decimals"
    if result.rounded:
        known = "no order can be told" if within.order is None else f"{rounded}, not proved"
        return [f"{result.word}: {known}; {result.reason}", *exactly]
    if within.order is None:
        told = f"  within the rounding of the printed decimals: {within.reason}"
        return [*str(result).split("\n"), told]
    if within.order == result.order:
        told = f"  {rounded} too: {within.reason}"
        return [*str(result).split("\n"), told]
    return [
        f"{result.word}: {rounded}; exactly read, {order}",
        f"  within the rounding, not proved: {within.reason}",
        *(f"    {LeadingTerm(*term)}" for term in within.leading.items()),
        f"  exactly read: {result.reason}",
        *(f"  {line}" for line in exactly),
    ]


def _within_rounding(within: WithinRounding | None) -> dict[str, Any] | None:
    if within is None:
        return None
    leading = [{"commutator": text, "coefficient": str(c)} for text, c in within.leading.items()]
    return {
        "refuted": within.refuted,
        "relative_radius": within.relative_radius,
        "leading": leading,
        "reason": within.reason,
    }


def _time_symmetry(result: BCHResult) -> tuple[int | None, str]:
    from sgverify.exact.splittings.bch import first_even_degree

    if result.symmetric:
        return None, "  time-symmetric: a palindrome, Z is odd at every degree"
    first = first_even_degree(result.word, result.coefficients, result.degree)
    if first is None:
        return None, f"  Z is odd through degree {result.degree}"
    return first, f"  not time-symmetric: Z has a part of degree {first}"


def _up_to_conjugacy(result: BCHResult, degree: int | None) -> tuple[dict[str, Any] | None, list[str]]:
    """The order up to conjugacy, if it is higher than the order, and the lines that print it."""
    from sgverify.exact.splittings.conjugacy import effective_order
    from sgverify.schemes.compositions import MOST_FLOWS

    if len(result.word) > MOST_FLOWS:
        return None, [
            f"  conjugate words are not looked for: {len(result.word)} letters, of at most {MOST_FLOWS}"
        ]
    found = effective_order(result.word, result.coefficients, degree)
    if not found.raised:
        return None, []
    shifts = {letter: str(share) for letter, share in (found.shifts or {}).items() if share != 0}
    cuts = [str(cut) for cut in found.cuts]
    off = " + ".join(f"({share}) {letter}" for letter, share in shifts.items())
    averages = f"are off by h E[Y f], Y = {off}" if off else f"keep the order {found.own.order}"
    lines = [f"  order {found.order} up to conjugacy: averages of f {averages}, unless they are read after u"]
    document = {"order": found.order, "cuts": cuts, "averages_off_by": shifts}
    return document, [*lines, *(f"    {cut}" for cut in cuts)]


def _conjugate(result: BCHResult, other: str | None, coefficients: str | None) -> tuple[dict[str, Any], str]:
    from sgverify.exact.splittings.conjugacy import conjugacy, product_text
    from sgverify.exact.splittings.splitting import Splitting, read_splitting

    if other is None:
        raise DefinitionError(
            f"conjugate-coefficients={coefficients!r}: expected the word that they are of; give --conjugate-to too"
        )
    two = read_splitting(other, coefficients)
    if result.rounded or two.rounded:
        raise DefinitionError(
            f"conjugate-to={other!r}: conjugacy is equality of shares; expected exact numbers; leave out the ~ of decimals"
        )
    found = conjugacy(Splitting(result.word, result.coefficients), two)
    if found is None:
        says = f"no: bent to circles, {result.word} and {two.word} are not the same letters and shares"
        return {"word": two.word, "conjugate": False}, f"  conjugate to {two.word}: {says}"
    identity = {"u": product_text(found.u), "v": product_text(found.v), "proved": found.proved}
    return {"word": two.word, "conjugate": True, **identity}, f"  conjugate to {two.word}: {found}"


def _modified(word: str, coefficients: str | None, degree: int | None, decimals: str) -> list[dict[str, Any]]:
    from sgverify.exact.splittings.bch import MODIFIED_DEGREE, bch_series

    series = bch_series(word, coefficients, MODIFIED_DEGREE if degree is None else degree, decimals=decimals)
    return [
        {"degree": d, "terms": [{"commutator": text, "coefficient": str(c)} for text, c in part.items()]}
        for d, part in series.items()
    ]


def _conditions(word: str, degree: int | None, which: str) -> list[dict[str, Any]]:
    from sgverify.exact.splittings.order_conditions import order_conditions

    found = order_conditions(word, degree, symmetric=which == "symmetric")
    return [{"degree": c.degree, "word": c.word, "condition": str(c)} for c in found]
