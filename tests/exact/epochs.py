"""Reshuffled minibatch noise by going through every permutation of tiny data, in fractions."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb_mat, fmpq, fmpq_mat

from sgverify.exact.ball import number
from sgverify.exact.chain import AffineChain, Problem, Quadratic
from sgverify.exact.epochs import Epoch
from sgverify.exact.minibatch import block_covariances


@dataclass
class PlainEpochs:
    """x' = M x + c + z + sum_a B_a g_a; g the consecutive blocks of a permutation; Cov z = drawn."""

    map: np.ndarray
    shift: np.ndarray
    drawn: np.ndarray
    injections: list[np.ndarray]
    vectors: list[list[Fraction]]
    batch: int
    start: np.ndarray
    start_covariance: np.ndarray
    constant: Fraction
    linear: np.ndarray
    quadratic: np.ndarray
    target: Fraction
    backward: bool = False

    @property
    def steps(self) -> int:
        sweep = len(self.vectors) // (self.batch * len(self.injections))
        return 2 * sweep if self.backward else sweep

    def errors(self, length: int) -> list[Fraction]:
        """E phi(X_l) - target for l = 1..length; an epoch is a mixture over its permutations."""
        mean, second = self.start, self.start_covariance + np.outer(self.start, self.start)
        found: list[Fraction] = []
        while len(found) < length:
            states = [(mean, second)] * len(self.noises)
            for position in range(self.steps):
                states = [
                    self._moved(m, s, noise[position])
                    for (m, s), noise in zip(states, self.noises, strict=True)
                ]
                mean = sum(m for m, _ in states) / Fraction(len(states))
                second = sum(s for _, s in states) / Fraction(len(states))
                value = self.constant + self.linear @ mean + (self.quadratic * second).sum()
                found.append(value - self.target)
        return found[:length]

    def _moved(self, mean: np.ndarray, second: np.ndarray, kick: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        step = self.shift + kick
        moved = self.map @ mean
        mixed = np.outer(moved, step)
        return moved + step, self.map @ second @ self.map.T + mixed + mixed.T + np.outer(
            step, step
        ) + self.drawn

    def __post_init__(self) -> None:
        dim, q = len(self.vectors[0]), len(self.injections)
        centre = [sum(v[k] for v in self.vectors) / len(self.vectors) for k in range(dim)]
        self.noises = []
        for order in itertools.permutations(self.vectors):
            blocks = [
                np.array(
                    [
                        sum(v[k] for v in order[b : b + self.batch]) / self.batch - centre[k]
                        for k in range(dim)
                    ]
                )
                for b in range(0, len(order), self.batch)
            ]
            if self.backward:
                blocks += blocks[::-1]
            self.noises.append(
                [sum(b @ blocks[s * q + a] for a, b in enumerate(self.injections)) for s in range(self.steps)]
            )

    def problem_at(self, bits: int) -> tuple[Problem, Epoch]:
        map_, drawn = balls(rational(self.map)), balls(rational(self.drawn))
        chain = AffineChain(
            map_,
            balls(rational(self.shift)),
            drawn,
            balls(rational(self.start)),
            balls(rational(self.start_covariance)),
        )
        phi = Quadratic(number(self.constant), balls(rational(self.linear)), balls(rational(self.quadratic)))
        own, other = (balls(m) for m in block_covariances(self.vectors, self.batch))
        injections = [balls(rational(b)) for b in self.injections]
        epoch = Epoch.of(map_, drawn, injections, (own, other), self.steps, backward=self.backward)
        return Problem(chain, phi, number(self.target)), epoch


def rational(values: np.ndarray) -> fmpq_mat:
    rows = values.reshape(len(values), -1)
    return fmpq_mat([[fmpq(x.numerator, x.denominator) for x in map(Fraction, row)] for row in rows])


def balls(values: fmpq_mat) -> arb_mat:
    return arb_mat(values)


def random_epochs(
    size: int, dim: int, seed: int, *, data: int, batch: int, blocks_per_step: int, backward: bool = False
) -> PlainEpochs:
    draw = np.random.default_rng(seed)

    def some(*shape: int) -> np.ndarray:
        flat = [Fraction(int(x), 10) for x in draw.integers(-9, 10, size=int(np.prod(shape)))]
        return np.array(flat, dtype=object).reshape(shape)

    raw, root, form, spread = some(size, size), some(size, size), some(size, size), some(size, size)
    widest = max(sum(abs(x) for x in row) for row in raw)
    return PlainEpochs(
        map=raw * Fraction(9, 10) / widest,
        shift=some(size),
        drawn=root @ root.T,
        injections=[some(size, dim) for _ in range(blocks_per_step)],
        vectors=[list(some(dim)) for _ in range(data)],
        batch=batch,
        start=some(size),
        start_covariance=spread @ spread.T,
        constant=Fraction(1, 3),
        linear=some(size),
        quadratic=form + form.T,
        target=Fraction(2, 7),
        backward=backward,
    )
