"""The reading behind multiplicative noise: one step as words in the Hessians of its minibatches.

Where every datum has a Hessian of its own, grad(v) = H_B v + g_B on the minibatch B, and H_B commutes with no
other. A step is then X_1 = sum c w base, with scalars c, words w = H_B H_B' ... in the minibatches of the step,
and for bases the state variables, the noises, the g_B and the vector of ones. One reading serves every target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sgverify.exact.affine.carrier import AffineGradient, AffineValue, Base, read_affine
from sgverify.schemes import NoiseLaw, Scheme

Symbol = tuple[str, Any, tuple[int, ...]]
"""A word times a base: ('state', name, w), ('noise', k, w), ('gradient', minibatch, w) or ('ones', 0, w)."""


@dataclass(frozen=True)
class HessianProductStep:
    """One step: for every state variable its coefficients by symbol; `laws` of its draws, `minibatches` minibatches."""

    rows: dict[str, dict[Symbol, Any]]
    laws: tuple[NoiseLaw, ...]
    minibatches: int


def read_hessian_products(scheme: Scheme, ingredients: dict[str, Any]) -> HessianProductStep:
    """Read one step of `scheme`; `ingredients` holds h and the parameters as scalars.

    Raises `NotAffineError` where the step is not affine on a quadratic potential.
    """
    read = read_affine(scheme, ingredients, gradient=_OnMinibatch)
    rows = {
        name: {symbol(base): polynomial[0] for base, polynomial in row.items()}
        for name, row in read.rows.items()
    }
    return HessianProductStep(rows, read.laws, read.gradients)


class _OnMinibatch(AffineGradient):
    """grad(v) = H_B v + g_B."""

    def evaluate(self, position: AffineValue, number: int) -> AffineValue:
        return self.bend(position, number) + AffineValue({("gradient", number): (1,)})

    def bend(self, vector: AffineValue, number: int) -> AffineValue:
        return bent(vector, number)


def bent(vector: AffineValue, number: int) -> AffineValue:
    """H_B v."""
    moved: dict[Base, Any] = {}
    for base, polynomial in vector.blocks.items():
        kind, which, word = symbol(base)
        moved[kind, which, (number, *word)] = polynomial  # type: ignore[index]
    return AffineValue(moved)


def symbol(base: Any) -> Symbol:
    """The symbol of a base. A base that was never multiplied carries the empty word."""
    return base if len(base) == 3 else (*base, ())
