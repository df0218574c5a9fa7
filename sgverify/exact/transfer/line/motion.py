"""One step of a scheme from many points of the line at once, its noise at the nodes of a quadrature."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sgverify.errors import DefinitionError, OutOfReachError
from sgverify.exact.numbers.entrywise import EntrywiseVector
from sgverify.exact.numbers.jets import Jet, taylor_of
from sgverify.exact.numbers.quadrature import EXTENDED, normal_quadrature
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import Carrier, bind, in_order
from sgverify.schemes.definition.gradient import FullGradientIngredient
from sgverify.schemes.definition.noise import NoiseLaw
from sgverify.targets import Target

MOST_DRAWS = 3
"""The largest number of draws of a step: the nodes of their quadratures multiply."""

ON_ARRAYS = Carrier(
    lambda array: EntrywiseVector([Jet(np.asarray(array, dtype=EXTENDED)[None])]),
    lambda value: Jet(np.array([value], dtype=EXTENDED)),
    lambda vector: vector.entries[0].c[0],
)
"""Points of the line, any shape: Taylor polynomials of degree 0, and vectors of one of them."""

MOST_DATA = 20_000
"""The largest number of data: a potential is evaluated datum by datum at every point."""


@dataclass(frozen=True)
class StepMap:
    """The map (x, z) -> X_1 of a scheme on the line, by its definition; `parameters` are T, D, ...

    The arrays have one axis for points and one for each draw. A vector is a list of one Taylor polynomial over them, so that
    scalar products of vectors are defined.
    """

    scheme: Scheme
    target: Target
    parameters: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        why = _why_not(self.scheme, self.target, self.parameters)
        if why:
            raise OutOfReachError(why)

    def after(self, x: np.ndarray, step: float, count: int) -> tuple[np.ndarray, np.ndarray]:
        """X_1 from each point at each node of the noise, and the nodes' weights. Shapes (n, m), (m,).

        A normal draw has `count` nodes, one of another law its atoms.
        """
        laws = [_nodes(law, count) for law in self.scheme.laws]
        weights = np.ones(1, dtype=EXTENDED)
        for _, shares in laws:
            weights = np.multiply.outer(weights, shares).ravel()
        moved = self._run(x, step, [values for values, _ in laws])
        return moved.reshape(len(x), -1), weights

    def without_noise(self, x: np.ndarray, step: float) -> np.ndarray:
        """X_1 from each point with every draw 0: the motion by the drift alone. Shape (n,) -> (n,)."""
        return self._run(x, step, [np.zeros(1, dtype=EXTENDED)] * self.scheme.draws).reshape(len(x))

    @property
    def normal(self) -> int:
        """The number of draws with a density, which quadrature nodes replace."""
        return sum(not law.atoms for law in self.scheme.laws)

    def _run(self, x: np.ndarray, step: float, draws: list[np.ndarray]) -> np.ndarray:
        shape = [len(x), *map(len, draws)]
        along = (
            values.reshape([-1 if axis == 1 + k else 1 for axis in range(len(shape))])
            for k, values in enumerate(draws)
        )
        start = np.asarray(x, dtype=EXTENDED).reshape(-1, *[1] * len(draws))
        bound = bind(self.scheme, ON_ARRAYS, self.parameters, dim=1)
        with np.errstate(all="ignore"):
            (moved,) = bound.step((start,), h=step, grad=_Gradient(self.target), draw=in_order(along))
        return np.broadcast_to(moved, shape)


class _Gradient(FullGradientIngredient):
    """grad U of a target on the line."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def __call__(self, position: EntrywiseVector) -> EntrywiseVector:
        return EntrywiseVector([self._derivative(self._target, position, 1)])

    def hessian(self, position: EntrywiseVector, vector: EntrywiseVector) -> EntrywiseVector:
        """U'' v."""
        return EntrywiseVector([self._derivative(self._target, position, 2) * 2 * vector.entries[0]])

    def prior(self, position: EntrywiseVector) -> EntrywiseVector:
        """The part of the prior."""
        return EntrywiseVector(
            [self._derivative(replace(self._target, likelihood=None, data=None), position, 1)]
        )

    @staticmethod
    def _derivative(target: Target, position: EntrywiseVector, order: int) -> Jet:
        """U^(order)/order!."""
        points = position.entries[0].c[0]
        return Jet(taylor_of(target, points.ravel(), order)[order].reshape(1, *points.shape))


def _nodes(law: NoiseLaw, count: int) -> tuple[np.ndarray, np.ndarray]:
    if law.normal:
        return normal_quadrature(count)
    if law.edge is not None:
        # Gauss-Legendre; its float64 nodes are good to 1e-15, which the bounds of the grids are above.
        nodes, weights = np.polynomial.legendre.leggauss(count)
        return EXTENDED(law.largest) * nodes.astype(EXTENDED), weights.astype(EXTENDED) / 2
    values, shares = zip(*law.atoms, strict=True)
    return (
        np.array([float(value) for value in values], dtype=EXTENDED),
        np.array([EXTENDED(share.numerator) / share.denominator for share in shares], dtype=EXTENDED),
    )


def _why_not(scheme: Scheme, target: Target, parameters: Collection[str]) -> str | None:
    if target.dim != 1:
        return f"the grids are those of one dimension, and the target has dim={target.dim}"
    if scheme.dynamics.state != ("theta",):
        return f"the state ({', '.join(scheme.dynamics.state)}) is no point of the line"
    if scheme.dynamics.riemannian:
        return f"`{scheme.name}` asks for a metric, which the grids do not supply"
    if scheme.memory:
        return f"the scheme carries memory ({', '.join(scheme.memory)}), so its state is no point of the line"
    foreign = sorted(set(scheme.declaration.ingredients) - {"h", "grad", "noise", "dim", *parameters})
    if foreign:
        return f"the step asks for `{foreign[0]}`, which the grids do not have"
    if scheme.draws > MOST_DRAWS:
        return f"one step draws {scheme.draws} times, and the quadrature of noise reaches {MOST_DRAWS} draws"
    if target.size is not None and target.size > MOST_DATA:
        return f"the target has {target.size} data, and the grids reach {MOST_DATA}"
    try:
        found = taylor_of(target, np.zeros(1, dtype=EXTENDED), 1)
    except DefinitionError as error:
        return f"the derivatives of the potential are not read off its definition: {error}"
    return None if found.dtype == EXTENDED else "the potential does not keep the precision of its points"
