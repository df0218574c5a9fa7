"""Diffusions: the dynamics that schemes discretise, with the two that SG-MCMC uses most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.abstract import SCALAR, VECTOR, check_returned, run_abstractly, where
from sgverify.schemes.declaration import Declaration, read_signature
from sgverify.schemes.mathematics import dot


@dataclass(frozen=True)
class Dynamics:
    """An Ito diffusion dX = F dt + sigma dW with diagonal sigma sigma^T.

    Its generator is L f = F . grad f + a . (d^2 f / dx_i^2), a = diagonal of sigma sigma^T / 2
    (chen2015, equation (1) and below). The function returns the pair (F, a).
    """

    name: str
    shapes: dict[str, str]
    function: Callable[..., Any] = field(repr=False)
    declaration: Declaration = field(repr=False)

    @property
    def state(self) -> tuple[str, ...]:
        """The names of the state variables, in order."""
        return tuple(self.shapes)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The numbers that the dynamics depends on, such as D and T."""
        return self.declaration.parameters

    def coefficients(
        self, state: tuple[Any, ...], **ingredients: Any
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Drift and half squared diffusion at `state`, each a tuple in the order of the state."""
        drift, diffusion = self.function(*state, **self.declaration.select(ingredients))
        return _as_tuple(drift), _as_tuple(diffusion)


def dynamics(**shapes: str) -> Callable[[Callable[..., Any]], Dynamics]:
    """Declare a diffusion: `@dynamics(theta="vector", p="vector")` over `def f(theta, p, *, grad, D, T)`.

    The function returns (drift, diagonal of sigma sigma^T / 2), each one value per state variable.
    Raises `DefinitionError` for unknown shapes, other state names or wrong shapes of what is returned.
    """
    for name, shape in shapes.items():
        if shape not in (VECTOR, SCALAR):
            raise DefinitionError(f"dynamics({name}={shape!r}): expected 'vector' or 'scalar'")

    def decorate(function: Callable[..., Any]) -> Dynamics:
        declaration = read_signature(function, "dynamics")
        if declaration.state != tuple(shapes):
            raise DefinitionError(
                f"{where(function)}: `{function.__name__}` takes ({', '.join(declaration.state)}); the decorator "
                f"declares ({', '.join(shapes)}); use the same names in the same order."
            )
        for clock in ("h", "t", "noise"):
            if clock in declaration.ingredients:
                raise DefinitionError(
                    f"{where(function)}: dynamics `{function.__name__}` may not ask for `{clock}`"
                )
        value, _ = run_abstractly(function, shapes, declaration.ingredients)
        if not (isinstance(value, tuple) and len(value) == 2):
            raise DefinitionError(
                f"{where(function)}: dynamics `{function.__name__}` must return the pair (drift, diffusion), "
                "each one value per state variable"
            )
        for part in value:
            check_returned(function, part, shapes, zero=True)
        return Dynamics(function.__name__, dict(shapes), function, declaration)

    return decorate


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@dynamics(theta="vector")
def langevin(theta, *, grad, T):
    """Overdamped Langevin: d theta = -grad U dt + sqrt(2T) dW; invariant exp(-U/T)."""
    return -grad(theta), T


@dynamics(theta="vector", p="vector")
def kinetic(theta, p, *, grad, D, T):
    """Underdamped Langevin: d theta = p dt, dp = (-grad U - D p) dt + sqrt(2DT) dW; chen2015 section 1."""
    return (p, -grad(theta) - D * p), (0, D * T)


@dynamics(theta="vector", p="vector", xi="scalar")
def thermostat(theta, p, xi, *, grad, dim, D, T):
    """Nose-Hoover thermostat: friction xi, d xi = (p.p/dim - T) dt; chen2015 Algorithm 3, with its dt."""
    return (p, -grad(theta) - xi * p, dot(p, p) / dim - T), (0, D * T, 0)
