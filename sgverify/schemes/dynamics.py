"""Diffusions that schemes discretise, each with the density that it is claimed to leave invariant.

The default densities are exp(-U/T), and exp(-(U + p.p/2)/T) with a momentum.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.abstract import check_returned, check_scalar, depends, run_abstractly, where
from sgverify.schemes.definition.abstract_value import SCALAR, VECTOR
from sgverify.schemes.definition.declaration import RESERVED, Declaration, check_state, read_signature
from sgverify.schemes.definition.foreign import in_own_terms
from sgverify.schemes.definition.mathematics import dot, log
from sgverify.schemes.numbers.constants import Constant

INGREDIENTS = ("U", "dim")
"""The ingredients of a density besides its parameters."""


@dataclass(frozen=True)
class Density:
    """A density rho up to its constant: the function returns log rho, `U(theta)` being the potential.

    `shapes` are those of the state, `parameters` the numbers that it depends on, such as T and D.
    """

    name: str
    shapes: dict[str, str]
    function: Callable[..., Any] = field(repr=False)
    declaration: Declaration = field(repr=False)
    constants: tuple[Constant, ...] = ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The numbers that the density depends on."""
        return self.declaration.parameters

    def log(self, state: tuple[Any, ...], **ingredients: Any) -> Any:
        """log rho at `state`; U, dim and the parameters by keyword."""
        return self.function(*state, **self.declaration.select(ingredients))


def density(**shapes: str) -> Callable[[Callable[..., Any]], Density]:
    """Declare a density: `@density(theta="vector", p="vector")` over `def boltzmann(theta, p, *, U, T)`.

    The function returns log rho, a scalar. Raises `DefinitionError` for another state, unknown ingredients or a
    value of another shape.
    """

    def decorate(function: Callable[..., Any]) -> Density:
        return make_density(function, shapes)

    return decorate


def make_density(function: Callable[..., Any], shapes: Mapping[str, str], name: str | None = None) -> Density:
    """The density of a plain function over a state of these shapes; raises `DefinitionError` as `density` does."""
    function = in_own_terms(function)
    declaration = read_signature(function, "density")
    check_state(function, declaration.state, tuple(shapes), "the density's state")
    for ingredient in declaration.ingredients:
        if ingredient in RESERVED and ingredient not in INGREDIENTS:
            raise DefinitionError(
                f"{where(function)}: density `{function.__name__}` may not ask for `{ingredient}`; expected U, dim and "
                "numbers such as T and D; write the potential as U(theta)."
            )
    value, census = run_abstractly(function, shapes, declaration.ingredients)
    check_scalar(function, value, "log rho")
    return Density(name or function.__name__, dict(shapes), function, declaration, census.constants)


def default_density(shapes: Mapping[str, str], parameters: Collection[str]) -> Density | None:
    """exp(-H/T) with H = U, or U + p.p/2 where the state is (theta, p); T = 1 where the dynamics has no T.

    None for any other state, whose density has to be stated.
    """
    energy = ENERGIES.get(tuple(shapes.items()))
    return (
        None if energy is None else make_density(_boltzmann(energy, "T" in parameters), shapes, "boltzmann")
    )


def overdamped_energy(theta: Any, *, U: Any) -> Any:
    """U."""
    return U(theta)


def kinetic_energy(theta: Any, p: Any, *, U: Any) -> Any:
    """U + p.p/2."""
    return U(theta) + dot(p, p) / 2


ENERGIES: dict[tuple[tuple[str, str], ...], Callable[..., Any]] = {
    (("theta", VECTOR),): overdamped_energy,
    (("theta", VECTOR), ("p", VECTOR)): kinetic_energy,
}
"""The energies of the states that have a usual one."""


@cache
def _boltzmann(energy: Callable[..., Any], tempered: bool) -> Callable[..., Any]:
    """-H/T, or -H where the dynamics has no T: one function of each kind, by which densities are compared."""

    def log_density(*state: Any, U: Any, T: Any = None) -> Any:
        return -energy(*state, U=U) / T if tempered else -energy(*state, U=U)

    names = [*inspect.signature(energy).parameters][:-1]
    return signed(log_density, names, ["U", "T"] if tempered else ["U"])


def signed(
    function: Callable[..., Any], positional: Iterable[str], keywords: Iterable[str]
) -> Callable[..., Any]:
    """The function, which takes any arguments, with the signature of these positional and keyword parameters."""
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in positional]
    parameters += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in keywords]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


@dataclass(frozen=True)
class Dynamics:
    """An Ito diffusion dX = F dt + sigma dW with a sigma sigma^T that is diagonal, or has matrices on its diagonal.

    Its generator is L f = F . grad f + a : Hess f, a = sigma sigma^T / 2 (chen2015, equation (1) and below). The
    function returns the pair (F, a); a vector or a number in a stands for a diagonal, a matrix such as
    `metric.diffusion(theta)` for the block of its state variable. `density` is the density that the dynamics is claimed to
    leave invariant; None where none is claimed. `positive`: the dynamics lives on theta > 0 alone.
    `constants`: those by which it tells coordinates apart.
    """

    name: str
    shapes: dict[str, str]
    function: Callable[..., Any] = field(repr=False)
    declaration: Declaration = field(repr=False)
    density: Density | None = field(default=None, repr=False, compare=False)
    positive: bool = False
    constants: tuple[Constant, ...] = ()

    @property
    def state(self) -> tuple[str, ...]:
        """The names of the state variables, in order."""
        return tuple(self.shapes)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The numbers that the dynamics depends on, such as D and T."""
        return self.declaration.parameters

    @property
    def offered(self) -> tuple[str, ...]:
        """The ingredients that a step of the dynamics may take besides its step size."""
        metric = ("metric",) if self.riemannian else ()
        return ("grad", "noise", "dim", *metric, *self.parameters)

    @property
    def riemannian(self) -> bool:
        """Whether the dynamics asks for a metric."""
        return "metric" in self.declaration.ingredients

    @property
    def usual(self) -> bool:
        """Whether the claimed density is the default one: exp(-U/T) or exp(-(U + p.p/2)/T)."""
        return self.density is not None and self.density == default_density(self.shapes, self.parameters)

    def coefficients(
        self, state: tuple[Any, ...], **ingredients: Any
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Drift and half squared diffusion at `state`, each a tuple in the order of the state."""
        drift, diffusion = self.function(*state, **self.declaration.select(ingredients))
        return _as_tuple(drift), _as_tuple(diffusion)


def dynamics(
    *, density: Density | Callable[..., Any] | None = None, positive: bool = False, **shapes: str
) -> Callable[[Callable[..., Any]], Dynamics]:
    """Declare a diffusion: `@dynamics(theta="vector", p="vector")` over `def f(theta, p, *, grad, D, T)`.

    The function returns (drift, diagonal of sigma sigma^T / 2), each one value per state variable. `density` is the
    density that it is said to leave invariant, a function that returns log rho; by default exp(-U/T) for the state
    (theta) and exp(-(U + p.p/2)/T) for (theta, p), but none where theta moves by another function of p than p.
    `positive` says that it lives on theta > 0: what visits other states is then not checked.
    Raises `DefinitionError` for unknown shapes, other state names or wrong shapes of what is returned.
    """
    for name, shape in shapes.items():
        if shape not in (VECTOR, SCALAR):
            raise DefinitionError(f"dynamics({name}={shape!r}): expected 'vector' or 'scalar'")

    def decorate(function: Callable[..., Any]) -> Dynamics:
        function = in_own_terms(function)
        declaration = read_signature(function, "dynamics")
        if declaration.state != tuple(shapes):
            raise DefinitionError(
                f"{where(function)}: `{function.__name__}` takes ({', '.join(declaration.state)}); the decorator "
                f"declares ({', '.join(shapes)}); use the same names in the same order."
            )
        for ingredient in ("h", "t", "noise", "U"):
            if ingredient in declaration.ingredients:
                raise DefinitionError(
                    f"{where(function)}: dynamics `{function.__name__}` may not ask for `{ingredient}`"
                )
        value, census = run_abstractly(function, shapes, declaration.ingredients)
        if census.hessians or census.parts:
            raise DefinitionError(
                f"{where(function)}: dynamics `{function.__name__}` asks for Hessian-vector products, or for prior and likelihood "
                "apart; expected a drift of grad(theta), as generators and invariant laws are read; a step may ask for them"
            )
        if not (isinstance(value, tuple) and len(value) == 2):
            raise DefinitionError(
                f"{where(function)}: dynamics `{function.__name__}` must return the pair (drift, diffusion), "
                "each one value per state variable"
            )
        for part, matrices in zip(value, (False, True), strict=True):
            check_returned(function, part, shapes, zero=True, matrices=matrices)
        stated: Density | Callable[..., Any] | None = density
        if stated is None and not _velocity_of_another_energy(function, shapes, declaration.ingredients):
            stated = default_density(shapes, declaration.parameters)
        if stated is not None and not isinstance(stated, Density):
            stated = make_density(stated, shapes)
        if stated is not None and stated.shapes != shapes:
            raise DefinitionError(
                f"{where(function)}: dynamics `{function.__name__}` has the state {shapes}, its density "
                f"`{stated.name}` {stated.shapes}; expected the same."
            )
        return Dynamics(
            function.__name__, dict(shapes), function, declaration, stated, positive, census.constants
        )

    return decorate


def _velocity_of_another_energy(
    function: Callable[..., Any], shapes: Mapping[str, str], ingredients: Sequence[str]
) -> bool:
    """Does theta move by a function of p alone that is not p, so that p has another kinetic energy than p.p/2?"""
    if tuple(shapes) != ("theta", "p"):
        return False

    def velocity(theta: Any, p: Any, **given: Any) -> tuple[Any, Any]:
        moved = function(theta, p, **given)[0][0]
        return moved, 0 if getattr(moved, "mark", None) == p.mark else p

    moved_by = partial(depends, velocity, shapes, ingredients)
    return not moved_by("theta") and moved_by("p") == {"theta", "p"}


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


def _thermostatted(theta, p, xi, *, U, dim, D, T):
    return -(U(theta) + dot(p, p) / 2 + dim / 2 * (xi - D) ** 2) / T


@dynamics(theta="vector", p="vector", xi="scalar", density=_thermostatted)
def thermostat(theta, p, xi, *, grad, dim, D, T):
    """Nose-Hoover thermostat: friction xi, d xi = (p.p/dim - T) dt; chen2015 Algorithm 3, with its dt."""
    return (p, -grad(theta) - xi * p, dot(p, p) / dim - T), (0, D * T, 0)


@dynamics(theta="vector")
def riemannian_langevin(theta, *, grad, metric, T):
    """Langevin in a metric G: d theta = (-G^-1 grad U + T div G^-1) dt + sqrt(2T) G^(-1/2) dW."""
    force = -metric.inverse(theta, grad(theta))
    return force + T * metric.divergence(theta), T * metric.diffusion(theta)


@dynamics(theta="vector", p="vector")
def riemannian_kinetic(theta, p, *, grad, metric, D, T):
    """Kinetic in a metric, G^-1 = B B^T: d theta = B p dt, dp = (-B^T grad U + T div B^T - D G^-1 p) dt + noise."""
    force = -metric.transposed(theta, grad(theta)) + T * metric.root_divergence(theta)
    friction = D * metric.inverse(theta, p)
    return (metric.root(theta, p), force - friction), (0, D * T * metric.diffusion(theta))


@dynamics(theta="vector", positive=True)
def expanded_mean(theta, *, grad, T):
    """Langevin in the metric G^-1 = diag(theta): d theta = (T - theta grad U) dt + sqrt(2 T theta) dW, entry by entry.

    On theta > 0 it leaves exp(-U/T) invariant; T is the divergence of T G^-1. Patterson and Teh 2013, section 4.
    """
    return T - theta * grad(theta), T * theta


@dynamics(theta="vector", p="vector")
def kinetic_in_metric(theta, p, *, grad, metric, D, T):
    """Kinetic in a metric with the friction D: d theta = B p dt, dp = (-B^T grad U + T div B^T - D p) dt + sqrt(2DT) dW."""
    force = T * metric.root_divergence(theta) - metric.transposed(theta, grad(theta))
    return (metric.root(theta, p), force - D * p), (0, D * T)


def _geodesic(theta, p, *, U, T):
    # The sum of log theta is log of the square root of 1/det G, squared.
    return -(U(theta) + dot(p, theta * p) / 2) / T + dot(log(theta), 1 + 0 * theta) / 2


@dynamics(theta="vector", p="vector", positive=True, density=_geodesic)
def kinetic_on_simplex(theta, p, *, grad, D, T):
    """chen2015 (49) in the metric G^-1 = diag(theta), theta > 0, with the nu that leaves exp(-H/T) invariant, entry by entry.

    d theta = theta p dt, dp = (-grad U + T/(2 theta) - D theta p - p^2/2) dt + sqrt(2DT) dW; H = U + theta.p^2/2 - (T/2) sum log
    theta, so that theta has the density exp(-U/T): the Gaussian integral over p gives the factor sqrt(det G).
    """
    return (theta * p, -grad(theta) + T / (2 * theta) - D * theta * p - p * p / 2), (0, D * T)
