"""The orders of the invariant law of the geometric Langevin schemes, by a series of our own in sympy on a random quartic."""

from __future__ import annotations

import re
from fractions import Fraction
from math import factorial
from typing import Any

import numpy as np
import pytest
from sympy import QQ
from sympy.polys.rings import ring

from sgverify.exact.series.invariant_order import invariant_order
from sgverify.schemes import find_scheme

DEGREE = 5


def adjoints(seed: int) -> tuple[Any, dict[str, Any]]:
    """The ring of (theta, p, c), and X^*(g rho)/rho of each letter, rho = exp(-U - p^2/2), U a random quartic."""
    random = np.random.default_rng(seed)
    R, theta, p, _ = ring("theta,p,c", QQ)
    a = [QQ(int(random.integers(1, 9)), int(random.integers(1, 9))) for _ in range(5)]
    dU, D = a[0] + a[1] * theta + a[2] * theta**2 + a[3] * theta**3, a[4]

    def by_theta(g: Any) -> Any:
        return dU * g - g.diff(theta)

    def by_p(g: Any) -> Any:
        return p * g - g.diff(p)

    # A = p d_theta, B = -U' d_p, O = -D p d_p + D d_p^2, integrated by parts.
    return R, {
        "A": lambda g: by_theta(p * g),
        "B": lambda g: -by_p(dU * g),
        "O": lambda g: D * by_p(by_p(g)) - D * by_p(p * g),
    }


def order_on(word: str, shares: list[Any], seed: int, relation: Any) -> int:
    """r, where rho E f = rho f + h^(r+1) int f q rho + ... with a q that is not 0; `relation` reduces powers of c."""
    R, letters = adjoints(seed)
    density = [R(1), *(R(0) for _ in range(DEGREE))]
    for letter, share in zip(word, shares, strict=True):
        moved = [R(0)] * (DEGREE + 1)
        for k, g in enumerate(density):
            for n in range(DEGREE + 1 - k):
                moved[k + n] = relation(moved[k + n] + g * share**n / factorial(n))
                g = letters[letter](g)
        density = moved
    return next(k for k in range(1, DEGREE + 1) if density[k]) - 1


@pytest.mark.parametrize("name", ["sghmc-gla3", "sghmc-gla4"])
def test_the_order_is_that_of_the_proof(name: str, seed: int = 0) -> None:
    scheme = find_scheme(name)
    R, _ = adjoints(seed)
    c = R.gens[2]

    def relation(g: Any) -> Any:
        """c = 2^(1/3)."""
        return g.rem(c**3 - 2)

    shares = [
        R(QQ(s.numerator, s.denominator)) if isinstance(s, Fraction) else in_c(str(s), c)
        for s in scheme.word.shares
    ]
    found = order_on(scheme.word.text, shares, seed, relation)
    assert found == scheme.invariant_order == invariant_order(scheme, 1, found).order
    # Another share of the first letters loses orders.
    wrong = [shares[0] + QQ(1, 7), shares[1], shares[2] - QQ(1, 7), *shares[3:]]
    assert order_on(scheme.word.text, wrong, seed, relation) < found


def in_c(text: str, c: Any) -> Any:
    """A share as its text says, c being 2^(1/3)."""
    powers = text.replace("2^(1/3)", "c").replace("2^(2/3)", "c**2")
    return eval(re.sub(r"(\d+)/(\d+)", r"QQ(\1, \2)", powers), {"c": c, "QQ": QQ})
