"""A function of one standard normal number on panels of its axis, halved towards every place where it is not smooth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Section = Callable[[np.ndarray], np.ndarray]
"""Values at points: shape (n,) -> (n, q)."""

END = 10.0
"""The axis is cut here: E |z|^8 beyond is 4e-15, and the contribution of a function beyond the ends is counted as error."""

COUNT = 21
"""The initial number of panels; odd, so that 0, the commonest threshold, is no end of a panel."""

ORDER = 16
"""A panel has ORDER + 1 nodes, Chebyshev's with both ends."""

TAIL = 4
"""The number of last Chebyshev coefficients that nearly vanish where a function is smooth on a panel."""

SMOOTH = 1e-10
"""Their largest size, relative to the function's; a jump has a tenth of its own height there, a kink of slope s on a panel of
width w about s w / 100."""

PARTS, DEPTH = 4, 23
"""A panel on which a function is not smooth is cut in PARTS, DEPTH times at most, down to a width of 1e-14."""

LIGHT, NOISY = 1e-14, 1e-8
"""A panel is cut no further where its tail adds less than LIGHT to an eighth moment, next to the whole; nor where it adds less
than NOISY and all its neighbours have one too: that is rounding, such as that of log(1 - u) where u is nearly 1."""

MOVED = 1e-12
"""A few hundred roundings of an argument of size END."""

FAINT = 1e-12
"""Another function is smooth on the same panels where its tails add less than this to an eighth moment."""


class UnresolvedError(Exception):
    """A function is not smooth at more places than the panels can resolve."""


@dataclass(frozen=True)
class Panels:
    """Nodes with weights that stand for the normal law, and the function's values there. Shapes (n,), (n,), (n, q).

    `edges`: the ends of the panels, shape (k, 2); on the panels `left` the function is still not smooth, and contributes too
    little to matter.
    """

    nodes: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    edges: np.ndarray
    left: np.ndarray

    def halved(self) -> Panels:
        """The same panels, each cut in two: other nodes, and a smaller error; without values."""
        middle = self.edges.mean(1)
        edges = np.stack([self.edges[:, 0], middle, middle, self.edges[:, 1]], axis=1).reshape(-1, 2)
        return _made(edges, np.zeros((edges.shape[0] * (ORDER + 1), 0)), self.left.repeat(2))

    def fit(self, values: np.ndarray, *, noise: np.ndarray | float = 0.0) -> bool:
        """Is a function with these values at the nodes smooth on the panels, but for those too narrow to matter?"""
        tail = _tail(values.reshape(len(self.edges), ORDER + 1, -1))
        allowed = _allowed(values, noise)
        matters = _adds(self.edges, tail, allowed) > np.where(self.left, NOISY, LIGHT)
        return not bool(((tail > allowed).any(1) & matters).any())

    def scaled(self, factor: float) -> Panels:
        """The panels of x -> f(x / factor), within the axis; without values."""
        edges = np.clip(np.sort(self.edges * factor, axis=1), -END, END)
        return Panels(np.zeros(0), np.zeros(0), np.zeros((0, 1)), edges, self.left)


def whole_axis() -> Panels:
    """The initial panels, which suffice for a smooth function."""
    return _made(_first_edges(), np.zeros((COUNT * (ORDER + 1), 1)), np.zeros(COUNT, dtype=bool))


def first_points() -> np.ndarray:
    """The nodes of the initial panels, shape (COUNT * (ORDER + 1),)."""
    return _points(_first_edges()).reshape(-1)


def rough_panels(values: np.ndarray, noise: np.ndarray | float) -> np.ndarray:
    """The ends of those panels on which these values at `first_points` are not smooth. Shape (k, 2).

    `noise`: a bound of the rounding of a value, shape (q,) or one number.
    """
    edges = _first_edges()
    tail = _tail(values.reshape(COUNT, ORDER + 1, -1))
    return np.asarray(edges[(tail > _allowed(values, noise)).any(1)])


def resolve(section: Section, *, noise: np.ndarray | float = 0.0, most: int = 400_000) -> Panels:
    """Panels on each of which the function is smooth, but for those too narrow to matter.

    Raises `UnresolvedError` where more than `most` values would be needed.
    """
    edges = _first_edges()
    values = section(_points(edges).reshape(-1))
    allowed = _allowed(values, noise)
    shaped = values.reshape(len(edges), ORDER + 1, -1)
    done, spent = [], len(values)
    for depth in range(DEPTH + 1):
        tail = _tail(shaped)
        odd: np.ndarray = np.asarray((tail > allowed).any(1))
        adds = _adds(edges, tail, allowed)
        noisy = odd.reshape(-1, PARTS if depth else 1).all(1).repeat(PARTS if depth else 1) & (depth > 0)
        rough = np.asarray(odd & (adds > LIGHT) & ~(noisy & (adds < NOISY)) & (depth < DEPTH))
        done.append((edges[~rough], shaped[~rough], odd[~rough]))
        if not rough.any():
            break
        edges = _cut(edges[rough])
        spent += len(edges) * (ORDER + 1)
        if spent > most:
            raise UnresolvedError
        shaped = section(_points(edges).reshape(-1)).reshape(len(edges), ORDER + 1, -1)
    every, kept, left = (np.concatenate(parts) for parts in zip(*done, strict=True))
    order = np.argsort(every[:, 0])
    return _made(every[order], kept[order].reshape(-1, values.shape[1]), left[order])


def smooth_on(panels: Sequence[Panels], section: Section, *, noise: np.ndarray | float = 0.0) -> bool:
    """Whether another function is smooth wherever all of these are: on the intersections of all their panels."""
    ends = np.unique(np.concatenate([part.edges.reshape(-1) for part in panels]))
    # A place may be the very end of a panel, and rounding moves it by a little.
    edges = np.stack([ends[:-1] + MOVED, ends[1:] - MOVED], axis=1)
    edges = edges[edges[:, 1] > edges[:, 0]]
    values = section(_points(edges).reshape(-1))
    tail, allowed = _tail(values.reshape(len(edges), ORDER + 1, -1)), _allowed(values, noise)
    odd = (tail > allowed).any(1) & (_adds(edges, tail, allowed) > FAINT)
    for low, high in np.concatenate([part.edges[part.left] for part in panels]):
        odd &= ~((edges[:, 0] > low) & (edges[:, 1] < high))
    return not bool(odd.any())


def _first_edges() -> np.ndarray:
    ends = np.linspace(-END, END, COUNT + 1)
    return np.stack([ends[:-1], ends[1:]], axis=1)


def _cut(edges: np.ndarray) -> np.ndarray:
    shares = np.arange(PARTS + 1) / PARTS
    ends = edges[:, :1] + (edges[:, 1:] - edges[:, :1]) * shares
    return np.stack([ends[:, :-1], ends[:, 1:]], axis=2).reshape(-1, 2)


def _points(edges: np.ndarray) -> np.ndarray:
    """Shape (panels, ORDER + 1)."""
    x = -np.cos(np.pi * np.arange(ORDER + 1) / ORDER)
    centre, half = edges.mean(1, keepdims=True), np.diff(edges, axis=1) / 2
    return np.asarray(centre + half * x)


def _allowed(values: np.ndarray, noise: np.ndarray | float) -> np.ndarray:
    size = np.ptp(values, axis=0).max(initial=0.0)
    return np.asarray(np.broadcast_to(SMOOTH * size + 4 * np.asarray(noise), values.shape[1:]))


def _tail(shaped: np.ndarray) -> np.ndarray:
    """The largest of the last Chebyshev coefficients. Shape (panels, q)."""
    return np.asarray(np.abs(np.einsum("ck,pkq->pcq", _TAIL, shaped)).max(axis=1))


def _heaviness(edges: np.ndarray) -> np.ndarray:
    """The larger of a panel's shares in E 1 and in E |z|^8."""
    near = np.where(np.prod(edges, axis=1) > 0, np.abs(edges).min(1), 0.0)
    mass = np.exp(-(near**2) / 2) * np.diff(edges, axis=1)[:, 0] / np.sqrt(2 * np.pi)
    return np.asarray(mass * np.maximum(1.0, np.abs(edges).max(1) ** 8 / 105))


def _adds(edges: np.ndarray, tail: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """A bound of the share that the tail on a panel adds to an eighth moment. Shape (panels,)."""
    share: np.ndarray = (tail / np.maximum(allowed / SMOOTH, 1e-300)).max(1)
    return _heaviness(edges) * share


def _made(edges: np.ndarray, values: np.ndarray, left: np.ndarray) -> Panels:
    nodes = _points(edges)
    density = np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
    weights = density * _CLENSHAW_CURTIS * np.diff(edges, axis=1) / 2
    return Panels(nodes.reshape(-1), weights.reshape(-1), values, edges, left)


def _chebyshev() -> np.ndarray:
    """Row k: the weights of values at the nodes in the coefficient of T_k."""
    k = np.arange(ORDER + 1)
    # T_k(-cos(pi j / n)) = (-1)^k cos(pi j k / n).
    rows = np.cos(np.pi * np.outer(k, k) / ORDER) * (-1.0) ** k[:, None] * 2 / ORDER
    rows[:, [0, -1]] /= 2
    rows[[0, -1]] /= 2
    return rows


_COEFFICIENTS = _chebyshev()
_TAIL = _COEFFICIENTS[-TAIL:]
_EVEN = np.arange(0, ORDER + 1, 2)
_CLENSHAW_CURTIS = (2 / (1 - _EVEN**2.0)) @ _COEFFICIENTS[_EVEN]
