"""python-flint and sympy's rings behind one reading: the same proofs to the letter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import pytest

from sgverify.errors import ConfigurationError
from sgverify.exact.series import LocalOrder, local_order
from sgverify.exact.series.letters import prove_alphabet
from sgverify.exact.series.polynomials import VARIABLE, library, rational
from sgverify.exact.series.ring import Ring
from sgverify.exact.series.sympy_polynomials import SympyPolynomial, SympyPolynomials
from sgverify.schemes import ALPHABETS, NAMED, Scheme, find_scheme, sqrt
from tests.exact.series.schemes import heun_of_two_minibatches

# What has a memory has no power series.
EXPANDED = [item for item in NAMED.values() if not item.memory]
SCHEMES: list[Scheme] = [*EXPANDED, find_scheme("sghmc-md-OBA"), heun_of_two_minibatches]


def on(monkeypatch: pytest.MonkeyPatch, name: str, question: Callable[[], object]) -> object:
    monkeypatch.setenv(VARIABLE, name)
    return question()


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("item", SCHEMES, ids=lambda item: item.name)
def test_both_libraries_prove_the_same(item: Scheme, dim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [on(monkeypatch, name, lambda: local_order(item, dim)) for name in ("flint", "sympy")]
    assert isinstance(found[0], LocalOrder)
    assert found[0] == found[1]


@pytest.mark.parametrize("alphabet", ALPHABETS.values(), ids=lambda a: a.name)
def test_both_libraries_prove_the_same_alphabets(alphabet, monkeypatch: pytest.MonkeyPatch) -> None:
    flint, sympy = (on(monkeypatch, name, lambda: prove_alphabet(alphabet, 1)) for name in ("flint", "sympy"))
    assert flint == sympy


def test_a_library_that_drops_a_power_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: sympy's side loses the highest power of each draw."""
    right = SympyPolynomials.powers
    scheme = NAMED["sghmc-aboba"]
    expected = on(monkeypatch, "flint", lambda: local_order(scheme, 1))

    def planted(self: SympyPolynomials, value: SympyPolynomial, position: int) -> list[SympyPolynomial]:
        return right(self, value, position)[:-1]

    monkeypatch.setattr(SympyPolynomials, "powers", planted)
    assert on(monkeypatch, "sympy", lambda: local_order(scheme, 1)) != expected


@pytest.mark.parametrize("name", ["flint", "sympy"])
def test_what_the_reading_asks_of_a_polynomial(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, name)
    ring = Ring(1, {"theta": "vector"}, ("D",), depth=2, draws=1, minibatches=1, cap=5)
    assert ring.library.name == name == library().name
    x, d = ring.generator("theta", 0), ring.generator("root", "D")
    value = 3 * x**2 * d + x * ring.constant(Fraction(2, 7)) - ring.one
    assert len(value) == 3 and value and not value - value
    assert [int(n) for n in value.degrees()][:2] == [2, 0]
    assert value.derivative(0) == 6 * x * d + ring.constant(Fraction(2, 7))
    assert ring.powers(value, 0) == [-ring.one, ring.constant(Fraction(2, 7)), 3 * d]
    assert divmod(value * x, x) == (value, ring.zero)
    assert divmod(x + d, x * d)[1] == x + d
    assert ring.one.is_constant() and not value.is_constant()
    assert rational(ring.constant(Fraction(-2, 7)).leading_coefficient()) == Fraction(-2, 7)
    assert ring.context.from_dict(value.to_dict()) == value
    assert sorted(value.monoms()) == sorted(value.to_dict())
    # Roots inside roots are carried out from the outermost in.
    inner = ring.sqrt(d**2 + ring.one)
    outer = ring.sqrt(inner + ring.one)
    assert ring.reduce(outer**4) == d**2 + 2 * inner + 2 * ring.one
    assert ring.text(ring.sqrt(ring.constant(12))) == "2 sqrt(3)"
    assert rational(ring.constant(sqrt(4)).leading_coefficient()) == 2


def test_an_unknown_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "ginac")
    with pytest.raises(ConfigurationError, match="SGVERIFY_POLYNOMIALS='ginac': expected 'flint'"):
        local_order(NAMED["sgld-euler"], 1)


def test_without_python_flint_the_reading_falls_back_to_sympy() -> None:
    program = """
import sys
sys.modules["flint"] = None
from sgverify.exact.series import local_order
from sgverify.exact.series.letters import prove_alphabet
from sgverify.exact.series.polynomials import library
from sgverify.schemes import ALPHABETS, find_scheme
print(library().name, local_order(find_scheme("sghmc-aboba"), 2).order, prove_alphabet(ALPHABETS["sghmc-md"], 1).proved)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["sympy", "2", "True"]
