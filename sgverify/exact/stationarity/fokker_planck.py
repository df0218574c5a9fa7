"""The stationary Fokker-Planck equation of a dynamics and a density, decided for every smooth potential."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.exact.stationarity.carrier import read_density, read_dynamics
from sgverify.exact.stationarity.field import Element, Field
from sgverify.exact.stationarity.integrability import integrable
from sgverify.exact.stationarity.witness import find_witness
from sgverify.schemes import Density, Dynamics
from sgverify.schemes.density import make_density


@dataclass(frozen=True)
class Residual:
    """L* rho / rho, L* rho = -div(F rho) + sum_ij d_i d_j (a_ij rho), a = sigma sigma^T / 2.

    `density` is the name of rho, `log_density` its logarithm as text. `zero`: rho is invariant, for every smooth U (and
    every metric), at every value of the parameters that are not `fixed`. Where it is not zero `text` is what is left,
    and `witness` holds values of the state, the derivatives of U and the parameters with the value that it takes there;
    an empty witness says that none was found, and that nothing is decided. `integrable` is False where rho grows in a
    momentum-like variable at every theta, so that it is no density; None where that is not decided; True: as far as
    exp(-U/T) is one.
    """

    dynamics: str
    density: str
    log_density: str
    dim: int
    text: str
    zero: bool
    witness: dict[str, str]
    integrable: bool | None
    fixed: dict[str, str]

    @property
    def decided(self) -> bool:
        """Whether the residual is proved to be zero, or shown not to be at a point."""
        return self.zero or bool(self.witness)

    @property
    def invariant(self) -> bool:
        """Whether the density is proved to be an invariant one: residual zero, and nothing against its being a density."""
        return self.zero and self.integrable is not False


def stationarity_residual(
    dynamics: Dynamics,
    density: Density | Callable[..., Any] | None = None,
    dim: int = 2,
    fixed: Mapping[str, Any] | None = None,
) -> Residual:
    """The residual of Fokker-Planck in dimension `dim`; `density` is by default the one that the dynamics states.

    `fixed` sets parameters to numbers, {"T": 1} where a paper has no temperature. Raises `DefinitionError` where no
    density is stated, `NotExpandableError` where a definition asks for U away from theta.

    >>> from sgverify.schemes import kinetic
    >>> stationarity_residual(kinetic).zero
    True
    """
    stated = density_of(dynamics, density)
    field = field_of(dynamics, stated, dim, fixed)
    log_density = read_density(stated, field)
    left = residual_of(*read_dynamics(dynamics, field), log_density, field)
    return Residual(
        dynamics=dynamics.name,
        density=stated.name,
        log_density=str(log_density),
        dim=dim,
        text=str(left) if left else "0",
        zero=not left,
        witness=find_witness(left),
        integrable=integrable(log_density, field),
        fixed={name: str(value) for name, value in field.fixed.items()},
    )


def density_of(dynamics: Dynamics, density: Density | Callable[..., Any] | None = None) -> Density:
    """The density that is asked about: the one given, or the one that the dynamics states."""
    if isinstance(density, Density):
        stated: Density | None = density
    else:
        stated = dynamics.density if density is None else make_density(density, dynamics.shapes)
    if stated is None:
        raise DefinitionError(
            f"dynamics `{dynamics.name}` states no density; expected one for the state ({', '.join(dynamics.state)}); write "
            "@dynamics(..., density=f) with a function f(state, *, U, T) that returns log rho"
        )
    if stated.shapes != dynamics.shapes:
        raise DefinitionError(
            f"density `{stated.name}` has the state {stated.shapes}; dynamics `{dynamics.name}` has {dynamics.shapes}; "
            "expected the same"
        )
    return stated


def field_of(dynamics: Dynamics, density: Density, dim: int, fixed: Mapping[str, Any] | None) -> Field:
    """The field that holds a dynamics and a density."""
    parameters = (*dynamics.parameters, *density.parameters)
    return Field(
        dim,
        dynamics.shapes,
        parameters,
        metric=dynamics.riemannian,
        fixed=fixed,
        positive=dynamics.positive,
    )


def residual_of(
    drift: list[Element], squares: list[list[Element]], log_density: Element, field: Field
) -> Element:
    """L* rho / rho = -div J - J . grad log rho, J = F - a grad log rho - div a the current's velocity."""
    slope = [field.derivative(log_density, k) for k in range(len(drift))]
    total = field.constant(0)
    for k, current in enumerate(velocity(drift, squares, slope, field)):
        if current:
            total = total - field.derivative(current, k) - current * slope[k]
    return field.reduce(total)


def velocity(
    drift: list[Element], squares: list[list[Element]], slope: list[Element], field: Field
) -> list[Element]:
    """J_i = F_i - sum_j (a_ij d_j log rho + d_j a_ij): the probability current divided by rho."""
    found = []
    for f, row in zip(drift, squares, strict=True):
        for j, a in enumerate(row):
            if a:
                f = f - a * slope[j] - field.derivative(a, j)
        found.append(field.reduce(f))
    return found
