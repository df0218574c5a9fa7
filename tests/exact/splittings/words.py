"""The leading error of a composition as associative words."""

from __future__ import annotations

from typing import Any

from sgverify.exact.splittings.bch import BCHResult
from sgverify.exact.splittings.lyndon import expand


def as_operator_words(result: BCHResult) -> dict[str, Any]:
    """Return the leading error as associative words; "AB" is the operator product, (AB)f = A(Bf).

    >>> as_operator_words(bch("AB"))
    {'AB': Fraction(1, 2), 'BA': Fraction(-1, 2)}
    """
    return expand({term.commutator: term.coefficient for term in result.leading})
