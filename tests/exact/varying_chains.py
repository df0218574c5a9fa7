"""Affine chains whose step changes, as arrays for the package."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np

from sgverify.exact.chain.block_recursion import Array
from sgverify.exact.chain.varying_steps import StepArrays, VaryingProblem
from tests.exact.affine_chains import PlainChain


def dyadic(chain: PlainChain) -> PlainChain:
    """The chain with its numbers rounded to eighths, which float64 holds, and noise of odds 2:1:1."""

    def eighth(x: Fraction) -> Fraction:
        return Fraction(round(8 * x), 8)

    first, second = ([eighth(x) for x in atom] for atom in chain.atoms[:2])
    # The odds centre the noise with this third atom.
    third = [-(2 * a + b) for a, b in zip(first, second, strict=True)]
    return replace(
        chain,
        map=[[eighth(x) for x in row] for row in chain.map],
        shift=[eighth(x) for x in chain.shift],
        atoms=[first, second, third],
        weights=[Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
        start=[eighth(x) for x in chain.start],
        start_covariance=chain.start_covariance
        and [[eighth(x) for x in row] for row in chain.start_covariance],
        constant=eighth(chain.constant),
        linear=[eighth(x) for x in chain.linear],
        quadratic=[[eighth(x) for x in row] for row in chain.quadratic],
        target=eighth(chain.target),
    )


def at_step(chain: PlainChain, h: Fraction) -> PlainChain:
    """M = 1 + h (map - 1), c = h shift, xi = h g."""
    unit = [[Fraction(int(i == j)) for j in range(chain.size)] for i in range(chain.size)]
    return replace(
        chain,
        map=[
            [u + h * (m - u) for u, m in zip(*rows, strict=True)]
            for rows in zip(unit, chain.map, strict=True)
        ],
        shift=[h * x for x in chain.shift],
        atoms=[[h * x for x in atom] for atom in chain.atoms],
    )


def varying(chain: PlainChain) -> VaryingProblem:
    n = chain.size
    slots = [
        np.array(list(itertools.product(range(n), repeat=r))).reshape((n,) * r + (r,)) for r in (2, 3, 4)
    ]
    tensors = [
        np.apply_along_axis(lambda s: float(chain.cumulant(*(int(i) for i in s))), -1, x) for x in slots
    ]
    floats = np.vectorize(float, otypes=[float])
    base, shift = floats(np.array(chain.map)) - np.eye(n), floats(np.array(chain.shift))

    def arrays(h: Array) -> StepArrays:
        return StepArrays(
            np.eye(n)[:, :, None] + base[:, :, None] * h,
            shift[:, None] * h,
            tensors[0][:, :, None] * h**2,
            np.eye(n)[:, :, None] * h,
        )

    spread = chain.start_covariance or [[Fraction(0)] * n for _ in range(n)]
    return VaryingProblem(
        arrays=arrays,
        start_mean=floats(np.array(chain.start)),
        start_covariance=floats(np.array(spread)),
        constant=float(chain.constant),
        linear=floats(np.array(chain.linear)),
        quadratic=floats(np.array(chain.quadratic)),
        target=float(chain.target),
        third=tensors[1],
        fourth=tensors[2],
    )


def kinetic(seed: int) -> VaryingProblem:
    """Two coupled oscillators with friction and skewed noise, with entries as a caller computes them."""
    h_ = np.array([[3.0, 0.7], [0.7, 1.3]])
    draw = np.random.default_rng(seed)

    def arrays(h: Array) -> StepArrays:
        unit, decay = np.eye(2)[:, :, None], np.exp(-2.0 * h)
        pull = h_[:, :, None] * h
        top = np.concatenate([unit - h * pull, unit * (h * decay)], axis=1)
        low = np.concatenate([-pull, unit * decay], axis=1)
        b = np.concatenate([unit * h**2, unit * h], axis=0)
        q = np.einsum("iak,jak->ijk", b, b) * (4 / h + 0.5)
        return StepArrays(np.concatenate([top, low], axis=0), np.zeros((4, len(h))), q, b)

    third, fourth = np.zeros((2, 2, 2)), np.zeros((2, 2, 2, 2))
    third[0, 0, 0], third[1, 1, 1], fourth[0, 0, 0, 0] = 0.3, -0.2, 0.1
    form = draw.normal(size=(4, 4))
    return VaryingProblem(
        arrays,
        draw.normal(size=4),
        np.eye(4) / 3,
        0.25,
        draw.normal(size=4),
        form + form.T,
        0.5,
        third,
        fourth,
    )
