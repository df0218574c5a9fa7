"""Published coefficients: the order that rounded decimals are consistent with, and when they are too short to tell it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from sgverify.exact.splittings.bch import bch
from sgverify.exact.splittings.printed_decimals import (
    CLOSE,
    enclosures,
    mark,
    within_rounding,
)
from sgverify.exact.splittings.splitting import read_splitting
from tests.tables import each_row

# Blanes and Moan 2002, table 2, S6 of order 4: a1, b1, a2, b2, a3, b3, a4.
S6 = (
    "0.0792036964311957",
    "0.209515106613362",
    "0.353172906049774",
    "-0.143851773179818",
    "-0.0420650803577195",
    "0.434336666566456",
    "0.2193769557534996",
)
S6_WORD = "ABABABABABABA"

# McLachlan and Atela 1992, order 4 for [B,[B,[B,A]]] = 0, and of order 3 without it: b1, a1, b2, a2, ....
MCLACHLAN_ATELA = (
    "0.1344961992774310892,0.5153528374311229364,-0.2248198030794208058,-0.085782019412973646,"
    "0.7563200005156682911,0.4415830236164665242,0.3340036032863214255,0.1288461583653841854"
)

# Omelyan, Mryglod, Folk 2002, the position version of their optimised integrator of order 4 in four stages.
XI, LAMBDA, CHI = "0.1786178958448091", "-0.2123418310626054", "-0.06626458266981849"
OMELYAN = f"{XI},1/2-{LAMBDA},{CHI},{LAMBDA},1-2*({CHI}+{XI}),{LAMBDA},{CHI},1/2-{LAMBDA},{XI}"

# Yoshida 1990, Forest and Ruth 1990: the triple jump to 14 places.
OUTER, INNER = ("0.67560359597983", "1.35120719195966", "-0.17560359597983"), "-1.70241438391932"
TRIPLE_JUMP = ",".join([*OUTER, INNER, *OUTER[::-1]])


def mirrored(shares: tuple[str, ...]) -> str:
    return ",".join([*shares, *shares[-2::-1]])


@pytest.mark.parametrize(
    ("word", "shares", "exactly", "within"),
    [
        (S6_WORD, mirrored(S6), 2, 4),
        ("BABABABA", MCLACHLAN_ATELA, 1, 3),
        ("ABABABABA", OMELYAN, 2, 4),
        ("ABABABA", TRIPLE_JUMP, 2, 4),
    ],
)
def test_published_coefficients_are_consistent_with_their_order(
    word: str, shares: str, exactly: int, within: int
) -> None:
    found = within_rounding(word, shares)
    assert found is not None
    assert (bch(word, shares).order, found.order, found.refuted) == (exactly, within, within + 1)
    assert "proved" not in found.reason and found.relative_radius < 1e-10
    assert not any(term.low <= 0 <= term.high for term in found.leading.values())


@each_row("place", range(len(S6)))
def test_a_coefficient_that_is_wrong_by_1e_8_lowers_the_order(place: int) -> None:
    shares = list(S6)
    shares[place] = str(Decimal(shares[place]) + Decimal("1e-8"))
    found = within_rounding(S6_WORD, mirrored(tuple(shares)))
    # The shares of its letter no longer sum to 1.
    assert found is not None and (found.order, found.refuted) == (0, 1)
    assert "sum to 1" in found.reason


def test_wrong_digits_that_keep_the_sums_leave_order_two() -> None:
    a1, b1, a2, b2, a3, b3, a4 = S6
    wrong = (a1, str(Decimal(b1) + Decimal("1e-8")), a2, b2, a3, str(Decimal(b3) - Decimal("1e-8")), a4)
    found = within_rounding(S6_WORD, mirrored(wrong))
    assert found is not None and (found.order, found.refuted) == (2, 3)


@each_row("digits", range(2, 16))
def test_the_order_is_told_as_long_as_the_decimals_allow_it(digits: int) -> None:
    shares = tuple(f"{Decimal(share):.{digits}f}" for share in S6)
    found = within_rounding(S6_WORD, mirrored(shares))
    assert found is not None
    # Half a unit of the last place, thirteen times, and 24 = 4! of it: 1/1000 is passed below five digits.
    assert found.order == (4 if digits >= 5 else None)
    if found.order is None:
        assert "too short to tell" in found.reason and found.relative_radius > CLOSE
        assert found.refuted is None or f"order {found.refuted} is refuted" in found.reason


def test_rounded_decimals_of_an_exact_splitting_stay_consistent_with_its_order() -> None:
    """1/2 - sqrt(3)/6 to ten places: exactly read it is a neighbour, and the enclosures hold the true shares."""
    exact = bch("ABABABA", "yoshida4")
    texts = [f"{Decimal(float(share)):.12f}" for share in exact.coefficients]
    found = within_rounding("ABABABA", texts)
    assert found is not None and found.order == exact.order == 4
    leading = {term.commutator: float(term.coefficient) for term in exact.leading}
    assert all(term.low <= leading[text] <= term.high for text, term in found.leading.items())


def test_without_a_refuted_degree_the_order_is_a_lower_bound() -> None:
    found = within_rounding(S6_WORD, mirrored(S6), 4)
    assert found is not None and (found.order, found.refuted, found.leading) == (4, None, {})
    assert found.reason.endswith("no higher degree was examined")


def test_what_was_not_printed_has_no_rounding() -> None:
    for shares in (None, "1/2,1,1/2", "0.5,1.0,0.5", [0.5, 1, 0.5], [Fraction(1, 3), 1, Fraction(2, 3)]):
        assert within_rounding("ABA", shares) is None
    assert within_rounding("ABABABA", "yoshida4") is None


def test_floats_are_the_decimals_that_they_print_as() -> None:
    floats = [float(share) for share in mirrored(S6).split(",")]
    found = within_rounding(S6_WORD, floats)
    assert found is not None and found.order == 4


@each_row(
    ("given", "marked"),
    [
        ("0.2146,1,0.7854", "~0.2146,1,~0.7854"),
        ("~0.2146, 0.25, ~ -0.7854", "~0.2146, 0.25, ~ -0.7854"),
        # A decimal of few places beside long ones is meant, and so is a binary fraction.
        ("0.1,0.2113248654", "0.1,~0.2113248654"),
        ("0.1,0.2", "~0.1,~0.2"),
        ("0.0,0.2113248654,1.5", "0.0,~0.2113248654,1.5"),
        ("-.117767998417887E1", "-~.117767998417887E1"),
        ("root(48x^3-72x^2+38x-5, 0.1907),0.2146", "root(48x^3-72x^2+38x-5, 0.1907),~0.2146"),
        # Places are counted behind the point of the number, not of its mantissa.
        ("2.1E-3,0.0214", "~2.1E-3,~0.0214"),
    ],
)
def test_which_decimals_count_as_printed(given: str, marked: str) -> None:
    assert mark(given) == marked


def test_the_radius_is_in_units_of_the_condition() -> None:
    """2! P(AB) = 2 a1 b1 must be 1: known to 2 * 0.0005, as the sum a1 + a2 is."""
    found = enclosures(read_splitting("ABA", "~0.500,1,~0.500"), 2)
    assert [float(radius) for radius in found.radii] == pytest.approx([1e-3, 1e-3], rel=1e-6)
