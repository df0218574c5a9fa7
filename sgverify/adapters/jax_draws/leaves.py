"""Does a step move every leaf of a pytree, and numbers of float32, as it moves one array, with noise of its own for each entry?

The step runs as it is, with the draws of jax.random, by many keys from one state: as one array, and as a pytree of a matrix, two
vectors and a number if it takes one, else as an array of float32. Entry by entry both must have one mean and one variance, and no
two entries may move together.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from sgverify.adapters.jax_draws.step import KEY, precision
from sgverify.schemes.torch_step import LifeCycle

SHAPES = {"bias": (3,), "offset": (3,), "scale": (), "weight": (3, 2)}
"""The leaves of the tree, two of one shape."""

LEAVES = ", ".join(f"{name} {shape}" for name, shape in SHAPES.items())

DIM = sum(int(np.prod(shape)) for shape in SHAPES.values())

H, CURVATURE = 0.1, 1.3
"""The step size, and the curvature of the quadratic potential."""

KEYS = 8_192
"""The number of keys, and so of steps."""

BEYOND = 6.2
"""The bound of each of some hundred tests in standard errors: a right step is alarmed once in a million."""

ROUNDING = 1e-4
"""The difference of two means or variances, as a share of their size, that counts as none: one is of float32."""


@dataclass(frozen=True)
class LeafQuadratic:
    """What a step is handed besides its key and state: a quadratic potential of every leaf."""

    settings: Mapping[str, Any]
    numbers: Mapping[str, float]
    h: float = H
    dim: int = DIM

    def grad(self, theta: Any) -> Any:
        """The gradient at theta, leaf by leaf."""
        return jax.tree_util.tree_map(lambda leaf: CURVATURE * leaf, theta)

    def log_density(self, theta: Any) -> Any:
        """Minus the potential at theta."""
        leaves = jax.tree_util.tree_leaves(theta)
        return -CURVATURE / 2 * sum(jnp.sum(leaf * leaf) for leaf in leaves)


@contextmanager
def _unfolded() -> Iterator[None]:
    """Context in which a number that is folded into a key changes no draw."""
    fold_in = jax.random.fold_in
    jax.random.fold_in = lambda key, data: fold_in(key, 0)
    try:
        yield
    finally:
        jax.random.fold_in = fold_in


@dataclass(frozen=True)
class LeafTrial:
    """The step `call`, with these settings, on states of which `vectors` says which variables are vectors.

    `returned` has the keys that the last call returned.
    """

    call: Callable[..., Sequence[Any]]
    vectors: tuple[bool, ...]
    settings: Mapping[str, Any]
    numbers: Mapping[str, float]
    returned: list[Any]

    def depends_on(self, name: str, count: int) -> bool:
        """Is a step another one where a setting is another number below `count`, or does it not take one that is traced?

        Folded into the key alone a number makes other draws of one law, unless it comes again.
        """
        try:
            own = self._numbered(name, count)
            with _unfolded():
                still = self._numbered(name, count)
        except Exception:
            # The checks say why it does not run.
            return True
        alike = np.allclose(own, own[0]) or len(np.unique(own, axis=0)) == count
        return not (alike and np.allclose(still, still[0]))

    def moved_with(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """What the step makes of one state and one key with these settings."""
        return self._moved(self._states(tree=False), jax.random.key(0), **values)

    def _numbered(self, name: str, count: int) -> np.ndarray:
        """What the step makes of one state and one key with each number: a row for each."""
        key, state = jax.random.key(0), self._states(tree=False)
        parts = jax.vmap(lambda number: self._moved(state, key, **{name: number}))(jnp.arange(count))
        return np.concatenate([np.asarray(part).reshape(count, -1) for part in parts], axis=1)

    def reuses_key(self) -> bool:
        """Does one key serve two draws of a step?"""
        with jax.debug_key_reuse(True):
            try:
                self._moved(self._states(tree=False), jax.random.key(0))
            except jax.errors.KeyReuseError:
                return True
            except Exception:
                return False
        return False

    def _of_keys(self) -> LifeCycle:
        """A chain by the keys that a step returns, if it returns any."""
        key, state = jax.random.key(0), self._states(tree=False)
        self.returned.clear()
        try:
            self._moved(state, key)
        except Exception:
            return LifeCycle()
        if not self.returned:
            return LifeCycle()
        told = "a chain by the keys that it returns"
        with jax.debug_key_reuse(True):
            try:
                for _ in range(2):
                    self._moved(state, key)
                    key = self.returned[-1]
            except jax.errors.KeyReuseError as error:
                fault = f"the key that it returns is one that it has used: {str(error).splitlines()[0]}"
                return LifeCycle((told,), (fault,))
        return LifeCycle((told,))

    def takes_trees(self) -> bool:
        """Does the step take a pytree, and return one with leaves of the same shapes?"""
        with precision(True):
            try:
                given = self._states(tree=True)
                found = tuple(jax.eval_shape(functools.partial(self._moved, given), self._keys(1)[0]))
            except Exception:
                # Code of arrays does with a dictionary what it likes.
                return False
            asked = jax.eval_shape(lambda: given)
            return [_shapes(each) for each in found] == [_shapes(each) for each in asked]

    def life_cycle(self) -> LifeCycle:
        """The step on trees, if it takes them, and in float32, held against one array in float64: a sentence for what differs."""
        tried, faults = [], []
        trees = self.takes_trees()
        with precision(True):
            flat = self._run(tree=False)
        for wide in (True, False)[not trees :]:
            shown = f"a pytree of the leaves {LEAVES}" if trees else "one array"
            told = f"{shown} in float{64 if wide else 32}"
            try:
                with precision(wide):
                    found = self._run(trees)
            except Exception:
                # Code of float64 alone, such as a loop whose values change their type, is judged in float64 alone.
                continue
            tried.append(f"{told} by {KEYS} keys of jax.random")
            faults += [f"on {told}, {fault}" for fault in itertools.islice(_faults(found, flat), 1)]
        keys = self._of_keys()
        return LifeCycle((*tried, *keys.tried), (*faults[:1], *keys.faults))

    def _run(self, tree: bool) -> np.ndarray:
        """The vectors of the state after one step, shape (keys, variables, DIM)."""
        one = jax.jit(jax.vmap(functools.partial(self._moved, self._states(tree))))
        moved = one(self._keys(KEYS))
        found = [
            np.asarray(jax.vmap(lambda value: ravel_pytree(value)[0])(value), dtype=float)
            for value, vector in zip(moved, self.vectors, strict=True)
            if vector
        ]
        return np.stack(found, axis=1)

    def _moved(self, state: Sequence[Any], key: Any, **numbered: Any) -> tuple[Any, ...]:
        given = LeafQuadratic({**self.settings, **numbered}, self.numbers)
        return tuple(self.call(key, tuple(state), given))

    def _states(self, tree: bool) -> list[Any]:
        random, found = np.random.default_rng(KEY), []
        for vector in self.vectors:
            flat = jnp.asarray(random.standard_normal(DIM))
            found.append((_tree(flat) if tree else flat) if vector else jnp.asarray(1.0))
        return found

    def _keys(self, count: int) -> Any:
        return jax.random.split(jax.random.PRNGKey(KEY), count)


def _tree(flat: Any) -> dict[str, Any]:
    sizes = [int(np.prod(shape)) for shape in SHAPES.values()]
    parts = jnp.split(flat, np.cumsum(sizes)[:-1])
    return {name: part.reshape(shape) for (name, shape), part in zip(SHAPES.items(), parts, strict=True)}


def _shapes(value: Any) -> Any:
    leaves, structure = jax.tree_util.tree_flatten(value)
    return structure, [jnp.shape(leaf) for leaf in leaves]


def _faults(tree: np.ndarray, flat: np.ndarray) -> Iterator[str]:
    """Sentences about entries that move otherwise than in one array, or together."""
    names = [
        f"{name}{list(place) if place else ''}"
        for name, shape in SHAPES.items()
        for place in np.ndindex(shape)
    ]
    entries = np.array(list(np.ndindex(tree.shape[1:])))
    one, other = (run.reshape(KEYS, -1) for run in (tree, flat))
    if not np.isfinite(one).all():
        yield "it returns numbers that are not finite"
        return
    for what, values in (
        ("mean", (one, other)),
        ("variance", tuple((run - run.mean(0)) ** 2 for run in (one, other))),
    ):
        means = [each.mean(axis=0) for each in values]
        bound = BEYOND * np.sqrt(sum(each.var(axis=0) for each in values) / KEYS)
        bound += ROUNDING * (np.abs(means[1]) + np.abs(means[1]).max())
        apart = np.abs(means[0] - means[1]) - bound
        worst = int(apart.argmax())
        if apart[worst] > 0:
            entry = names[entries[worst][1]]
            yield f"the entry {entry} moves with the {what} {means[0][worst]:.4g}, and in one array with {means[1][worst]:.4g}"
    spread = one.std(axis=0)
    moving = spread > ROUNDING * spread.max()
    stays = (one == one[:1]).mean(axis=0)
    if not moving.any() or ((stays > 0.01) & moving).any():
        # Where proposals are rejected, entries stay together.
        return
    scaled = np.where(moving, (one - one.mean(axis=0)) / np.where(moving, spread, 1.0), 0.0)
    together = scaled.T @ scaled / KEYS
    together[entries[:, None, 1] == entries[None, :, 1]] = 0.0
    i, j = np.unravel_index(int(np.abs(together).argmax()), together.shape)
    if abs(together[i, j]) > BEYOND / np.sqrt(KEYS):
        yield (
            f"{names[entries[i][1]]} and {names[entries[j][1]]} move together: their noise has correlation {together[i, j]:.3g}, "
            "where it has to be new for each entry; split the key, one for each leaf"
        )
