"""Dynamics by the complete recipe of Ma, Chen and Fox (2015, equation (3)), from a diffusion, a curl and an energy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.abstract import where
from sgverify.schemes.definition.abstract_value import SCALAR
from sgverify.schemes.definition.declaration import read_signature
from sgverify.schemes.definition.foreign import in_own_terms
from sgverify.schemes.definition.reverse_mode import Tracked, gradient_of
from sgverify.schemes.dynamics import ENERGIES, Dynamics, default_density, dynamics, make_density, signed


def complete_recipe(
    *, energy: Callable[..., Any] | None = None, **shapes: str
) -> Callable[[Callable[..., Any]], Dynamics]:
    """Declare a dynamics by what it diffuses and rotates: the drift follows.

        @complete_recipe(theta="vector", p="vector")
        def kinetic(theta, p, *, D):
            return (0, D), {("theta", "p"): -1}

    The function returns (D, Q): D one number or scalar for each state variable; Q the blocks above the diagonal of the
    skew matrix, {(first, second): number or scalar}, first before second in the state, both of one shape. With the
    energy H, by default U or U + p.p/2, dX = [-(D + Q) grad H + T Gamma] dt + sqrt(2 T D) dW, Gamma_i = sum_j
    d_j (D_ij + Q_ij); the derivatives are taken automatically. That it leaves exp(-H/T) invariant is proved by
    `sgverify verify`, not assumed. Raises `DefinitionError` for blocks that are not there.
    """

    def decorate(function: Callable[..., Any]) -> Dynamics:
        function = in_own_terms(function)
        declaration = read_signature(function, "complete_recipe")
        hamiltonian = energy or ENERGIES.get(tuple(shapes.items()))
        if hamiltonian is None:
            raise DefinitionError(
                f"{where(function)}: no energy is stated for the state ({', '.join(shapes)}); write "
                "complete_recipe(energy=f, ...) with a function f(state, *, U) that returns H."
            )
        stated = make_density(hamiltonian, shapes, "energy")

        def drift_and_diffusion(*values: Any, **given: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            state = [Tracked(value, shapes[name]) for name, value in zip(shapes, values, strict=True)]
            grad, T = given.pop("grad"), given["T"]
            gradient = gradient_of(
                stated.log(tuple(state), **given, U=lambda theta: _potential(theta, grad)), state
            )
            diffusion, curl = function(*state, **declaration.select(given))
            squares = list(diffusion) if isinstance(diffusion, tuple) else [diffusion]
            drift: list[Any] = []
            for k, square in enumerate(squares):
                drift.append(T * gradient_of(square, state)[k] - _plain(square) * gradient[k])
            for (first, second), block in curl.items():
                i, j = _places(function, shapes, first, second)
                gamma = gradient_of(block, state)
                drift[i] = drift[i] - _plain(block) * gradient[j] + T * gamma[j]
                drift[j] = drift[j] + _plain(block) * gradient[i] - T * gamma[i]
            return tuple(drift), tuple(T * _plain(square) for square in squares)

        def boltzmann(*values: Any, **given: Any) -> Any:
            return -hamiltonian(*values, **stated.declaration.select(given)) / given["T"]

        asked = dict.fromkeys([*stated.declaration.ingredients, "T"])
        signed(boltzmann, shapes, asked)
        needed = dict.fromkeys(["grad", *declaration.ingredients, *(name for name in asked if name != "U")])
        signed(drift_and_diffusion, shapes, needed)
        drift_and_diffusion.__name__ = drift_and_diffusion.__qualname__ = function.__name__
        density = default_density(shapes, ("T",)) if energy is None else None
        return dynamics(density=density or make_density(boltzmann, shapes), positive=False, **shapes)(
            drift_and_diffusion
        )

    return decorate


def _potential(theta: Tracked, grad: Callable[[Any], Any]) -> Tracked:
    """U(theta) as a tracked value without a number: only its gradient is known."""
    force = grad(theta.value)
    return Tracked(None, SCALAR, [(theta, lambda a: force * a)])


def _plain(value: Any) -> Any:
    return value.known() if isinstance(value, Tracked) else value


def _places(function: Callable[..., Any], shapes: dict[str, str], first: str, second: str) -> tuple[int, int]:
    names = list(shapes)
    known = first in names and second in names and names.index(first) < names.index(second)
    if not known or shapes[first] != shapes[second]:
        raise DefinitionError(
            f"{where(function)}: the curl has the block ({first}, {second}); expected two variables of one shape among "
            f"({', '.join(names)}), in this order."
        )
    return names.index(first), names.index(second)
