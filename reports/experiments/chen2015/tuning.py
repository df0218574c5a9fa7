"""The paper's grid searches: the constant C or the first step h_1, and the friction D, with the smallest error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from reports.experiments.chen2015 import settings
from reports.experiments.chen2015.experiment import DataDraws, Experiment, experiment

APART = 5
"""The stride of the first search over the scales, before those around the best are computed."""


@dataclass(frozen=True)
class Contender:
    """A method of the comparison: its scheme, how a printed step size h enters it, and whether D is searched."""

    name: str
    scheme: str
    shrink: Fraction
    frictions: tuple[float, ...]


SGHMC = Contender("SGHMC", "sghmc-aboba", Fraction(1), settings.FRICTIONS)
SGLD = Contender("SGLD as Algorithm 1", "sgld-euler", Fraction(1), settings.FRICTIONS[:1])
HALVED = Contender("SGLD as equation (10)", "sgld-euler", Fraction(1, 2), settings.FRICTIONS[:1])
"""d theta = -1/2 grad U dt + dW, as equation (10) prints it: a step of h is a step of h/2 of Algorithm 1."""

CONTENDERS = (SGHMC, SGLD, HALVED)


@dataclass(frozen=True)
class Tuned:
    """The selected constants, the error they give at the length of the search, and what diverged on the grid.

    `scale` is C on h = C L^-alpha, h_1 on h_l = h_1 l^-alpha. `diverging` maps a friction to its diverging scales.
    """

    contender: Contender
    gradient: str
    kind: str
    alpha: Fraction
    friction: float
    scale: Fraction
    length: int
    error: float
    diverging: tuple[tuple[float, tuple[Fraction, ...]], ...]

    @property
    def chain(self) -> Experiment:
        """The experiment with the selected friction."""
        return experiment(self.contender.scheme, self.gradient, self.friction)

    @property
    def own_scale(self) -> Fraction:
        """The scale in the units of the scheme."""
        return self.scale * self.contender.shrink

    @property
    def on_the_edge(self) -> bool:
        """Whether the scale is the smallest or the largest of the printed grid."""
        grid = grid_of(self.kind)
        return self.scale in (grid[0], grid[-1])

    def value(self, quantity: str, length: int) -> float | None:
        """The exact error with the selected constants at another length; None where it diverges."""
        return _error(self.chain, self.kind, quantity, self.own_scale, self.alpha, length)


def grid_of(kind: str) -> tuple[Fraction, ...]:
    """The printed grid of C or of h_1."""
    return settings.SCALES if kind == "horizon" else settings.FIRST_STEPS


@cache
def tuned(
    contender: Contender, gradient: str, kind: str, quantity: str, length: int, thinning: int = 1
) -> Tuned:
    """The pair (D, C) of the grid with the smallest |bias| or mean square error at `length`.

    A diverging choice (unstable step, error beyond bounds) is never selected.
    """
    alpha = settings.BEST_RATES[contender.scheme][quantity]
    best: tuple[float, float, Fraction] | None = None
    diverging = []
    for friction in contender.frictions:
        chain = experiment(contender.scheme, gradient, friction)
        gone = []
        for scale in grid_of(kind)[::thinning]:
            found = _error(chain, kind, quantity, scale * contender.shrink, alpha, length)
            if found is None:
                gone.append(scale)
            elif best is None or abs(found) < best[0]:
                best = (abs(found), friction, scale)
        diverging.append((friction, tuple(gone)))
    if best is None:
        raise ValueError(f"{contender.name}: every choice of the grid diverges at L = {length}")
    error, friction, scale = best
    return Tuned(contender, gradient, kind, alpha, friction, scale, length, error, tuple(diverging))


@dataclass(frozen=True)
class TunedOver:
    """The constants (D, scale) that a search selects for each draw of the data, and the errors that they give."""

    contender: Contender
    gradient: str
    kind: str
    selected: tuple[tuple[float, Fraction], ...]
    draws: DataDraws

    def values(self, quantity: str, length: int) -> np.ndarray:
        """The exact errors at a length, each draw with its own constants; NaN where they diverge."""
        found = np.empty(len(self.selected))
        for friction, scale in dict.fromkeys(self.selected):
            seeds = [seed for seed, own in enumerate(self.selected) if own == (friction, scale)]
            found[seeds] = _over_draws(
                self.draws,
                self.contender,
                self.gradient,
                friction,
                self.kind,
                quantity,
                scale,
                length,
                seeds,
            )
        return found


@cache
def tuned_over(
    contender: Contender,
    gradient: str,
    kind: str,
    quantity: str,
    length: int,
    draws: DataDraws,
    thinning: int = 1,
) -> TunedOver:
    """What `tuned` finds, for each draw of the data.

    |bias| has a dip wherever the bias changes its sign, and is searched value by value. The mean square error, which costs
    more, is taken to have one valley over the scale: between the neighbours of the best of every `APART`-th value.
    """
    scales = grid_of(kind)[::thinning]

    def errors(friction: float, scale: Fraction) -> np.ndarray:
        sizes = abs(_over_draws(draws, contender, gradient, friction, kind, quantity, scale, length))
        return np.where(np.isnan(sizes), np.inf, sizes)

    choices: list[tuple[float, Fraction]] = []
    sizes: list[np.ndarray] = []
    for friction in contender.frictions:
        coarse = {
            k: errors(friction, scales[k]) for k in range(0, len(scales), APART if quantity == "mse" else 1)
        }
        best = np.array(list(coarse))[np.array(list(coarse.values())).argmin(axis=0)]
        near = {k for k in range(len(scales)) if abs(k - best).min() < APART} - set(coarse)
        for k, found in (*coarse.items(), *((k, errors(friction, scales[k])) for k in sorted(near))):
            choices.append((friction, scales[k]))
            sizes.append(found)
    selected = np.array(sizes).argmin(axis=0)
    return TunedOver(contender, gradient, kind, tuple(choices[place] for place in selected), draws)


def _over_draws(
    draws: DataDraws,
    contender: Contender,
    gradient: str,
    friction: float,
    kind: str,
    quantity: str,
    scale: Fraction,
    length: int,
    seeds: Sequence[int] | None = None,
) -> np.ndarray:
    """The exact errors with one pair of constants at every draw of the data, or at those of `seeds`."""
    alpha = settings.BEST_RATES[contender.scheme][quantity]

    def error(estimator: str, seed: int) -> float | None:
        chain = experiment(contender.scheme, estimator, friction, seed)
        return _error(chain, kind, quantity, scale * contender.shrink, alpha, length)

    return draws.errors(quantity, gradient, error, seeds)


@cache
def _error(
    chain: Experiment, kind: str, quantity: str, scale: Fraction, alpha: Fraction, length: int
) -> float | None:
    """One exact error, computed once: the searches of a draw, over draws and of other figures meet at many."""
    return chain.error(kind, quantity, scale, alpha, length)
