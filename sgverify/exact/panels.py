"""A function of one standard normal number on panels of its axis, halved towards every place where it is not smooth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Section = Callable[[np.ndarray], np.ndarray]
"""Values at points: shape (n,) -> (n, q)."""

END = 10.0
"""The axis is cut here: E |z|^8 beyond is 4e-15, and what a function adds at the ends is counted as error."""

COUNT = 21
"""Panels at first; an odd number, so that 0, the commonest threshold, is no end of any."""

ORDER = 16
"""A panel has ORDER + 1 nodes, Chebyshev's with both ends."""

TAIL = 4
"""So many of the last Chebyshev coefficients vanish where a function is smooth on a panel."""

SMOOTH = 1e-10
"""What they may be, next to the function's size; a jump has a tenth of its own height there, a kink of slope s on a panel of
width w about s w / 100."""

PARTS, DEPTH = 4, 23
"""A panel that is not smooth is cut in PARTS, DEPTH times at most: a width of 1e-14 is left."""

LIGHT, NOISY = 1e-14, 1e-8
"""A panel is cut no further where its tail adds less than LIGHT to an eighth moment, next to the whole; nor where it adds less
than NOISY and all its neighbours have one too: that is rounding, such as that of log(1 - u) where u is nearly 1."""

ROUGH = 8
"""Cuts from which on a panel is said to hold a place where the function is not smooth: it is 1e-5 wide."""


class UnresolvedError(Exception):
    """A function has more places where it is not smooth than are looked for."""


@dataclass(frozen=True)
class Panels:
    """Nodes with weights that stand for the normal law, and the function's values there. Shapes (n,), (n,), (n, q).

    `places`: where it is not smooth; `edges`: the ends of the panels, shape (k, 2).
    """

    nodes: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    places: np.ndarray
    edges: np.ndarray

    def refined(self, section: Section) -> Panels:
        """The same panels, each cut in two: other nodes, and a smaller error."""
        middle = self.edges.mean(1)
        edges = np.concatenate([np.stack([self.edges[:, 0], middle], 1), np.stack([middle, self.edges[:, 1]], 1)])
        return _made(edges, section(_points(edges).reshape(-1)), self.places)


def first_points() -> np.ndarray:
    """The nodes of the panels at first, shape (COUNT * (ORDER + 1),)."""
    return _points(_first_edges()).reshape(-1)


def rough_panels(values: np.ndarray, noise: np.ndarray | float) -> np.ndarray:
    """The ends of those panels on which these values at `first_points` are not smooth. Shape (k, 2).

    `noise`: how far rounding may put a value off, shape (q,) or one number.
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
    done_edges, done_values, places, spent = [], [], np.zeros(0), len(values)
    for depth in range(DEPTH + 1):
        tail = _tail(shaped)
        rough = (tail > allowed).any(1)
        adds = _heaviness(edges) * (tail / np.maximum(allowed / SMOOTH, 1e-300)).max(1)
        all_rough = rough.reshape(-1, PARTS if depth else 1).all(1).repeat(PARTS if depth else 1) & (depth > 0)
        rough &= (adds > LIGHT) & ~(all_rough & (adds < NOISY))
        keep = ~rough if depth < DEPTH else np.ones(len(edges), dtype=bool)
        done_edges.append(edges[keep])
        done_values.append(shaped[keep])
        if depth == ROUGH:
            close = edges[rough]
            places = close.mean(1)
        if keep.all():
            break
        edges = _cut(edges[rough])
        spent += len(edges) * (ORDER + 1)
        if spent > most:
            raise UnresolvedError
        shaped = section(_points(edges).reshape(-1)).reshape(len(edges), ORDER + 1, -1)
        if depth > ROUGH:
            places = _narrowed(close, edges, places)
    every = np.concatenate(done_edges)
    order = np.argsort(every[:, 0])
    kept = np.concatenate(done_values)[order].reshape(-1, values.shape[1])
    return _made(every[order], kept, _merged(places))


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
    """What a panel holds of E 1, or of E |z|^8 if that is more, next to the whole."""
    near = np.where(np.prod(edges, axis=1) > 0, np.abs(edges).min(1), 0.0)
    mass = np.exp(-(near**2) / 2) * np.diff(edges, axis=1)[:, 0] / np.sqrt(2 * np.pi)
    return np.asarray(mass * np.maximum(1.0, np.abs(edges).max(1) ** 8 / 105))


def _narrowed(close: np.ndarray, edges: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The middle of the narrow panels within each of the wider ones, and its place as it was where there are none."""
    middle = edges.mean(1)
    found = [middle[(middle >= a) & (middle <= b)] for a, b in close]
    return np.array([part.mean() if len(part) else was for part, was in zip(found, places, strict=True)])


def _merged(places: np.ndarray) -> np.ndarray:
    """One of each cluster of neighbours."""
    places = np.sort(places)
    return places[np.diff(places, prepend=-np.inf) > 1e-4] if len(places) else places


def _made(edges: np.ndarray, values: np.ndarray, places: np.ndarray) -> Panels:
    nodes = _points(edges)
    density = np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
    weights = density * _CLENSHAW_CURTIS * np.diff(edges, axis=1) / 2
    return Panels(nodes.reshape(-1), weights.reshape(-1), values, places, edges)


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

__all__ = ["END", "Panels", "Section", "UnresolvedError", "first_points", "resolve", "rough_panels"]
