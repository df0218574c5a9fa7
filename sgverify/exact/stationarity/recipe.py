"""The complete recipe of Ma, Chen and Fox (2015, equation (3) and theorem 2): every drift with a given density.

With H = -log rho a drift leaves rho invariant iff F = -(a + Q) grad H + Gamma, Gamma_i = sum_j d_j (a_ij + Q_ij), for some
skew matrix Q(x), a = sigma sigma^T / 2. Q is sought among polynomials by linear algebra over the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sgverify.exact.rings.differential_field import Element, Field
from sgverify.exact.rings.polynomials import parts_in
from sgverify.exact.stationarity.fokker_planck import (
    density_of,
    field_of,
    read_density,
    read_dynamics,
    velocity,
)
from sgverify.schemes import Density, Dynamics

Row = dict[int, Element]


@dataclass(frozen=True)
class Curl:
    """The skew matrix Q of a dynamics: `entries` holds Q_ij != 0 for i < j by the names of the coordinates.

    Q_ji = -Q_ij; H = -log rho, so that Q of kinetic dynamics at temperature T is -T between theta_i and p_i.
    """

    dim: int
    entries: dict[tuple[str, str], str]

    def __str__(self) -> str:
        return ", ".join(f"Q_({a},{b}) = {text}" for (a, b), text in self.entries.items()) or "Q = 0"


def find_curl(
    dynamics: Dynamics,
    density: Density | Callable[..., Any] | None = None,
    dim: int = 2,
    fixed: Mapping[str, Any] | None = None,
) -> Curl | None:
    """A skew Q, affine in the state (and in the entries of B), with which the recipe gives the drift of the dynamics.

    None where there is none: then either rho is not invariant, which `stationarity_residual` decides, or Q is not of
    this form. A Q is a proof that rho is invariant, for every smooth U. `fixed` sets parameters to numbers.

    >>> from sgverify.schemes import kinetic
    >>> print(find_curl(kinetic, dim=1))
    Q_(theta,p) = -T
    """
    stated = density_of(dynamics, density)
    field = field_of(dynamics, stated, dim, fixed)
    drift, squares = read_dynamics(dynamics, field)
    log_density = read_density(stated, field)
    size = len(drift)
    gradient = [field.derivative(log_density, k) for k in range(size)]
    current = velocity(drift, squares, gradient, field)
    basis = _basis(field, dynamics)
    unknowns = [(i, j, b) for i, j in combinations(range(size), 2) for b in range(len(basis))]
    columns: list[list[tuple[int, Element]]] = [[] for _ in range(size)]
    for number, (i, j, b) in enumerate(unknowns):
        columns[i].append((number, basis[b] * gradient[j] + field.derivative(basis[b], j)))
        columns[j].append((number, -(basis[b] * gradient[i] + field.derivative(basis[b], i))))
    rows: list[Row] = []
    for k in range(size):
        rows += _matched([*columns[k], (len(unknowns), current[k])], field)
    solved = _solve(rows, len(unknowns))
    if solved is None:
        return None
    found: dict[tuple[int, int], Element] = {}
    for number, value in solved.items():
        i, j, b = unknowns[number]
        found[i, j] = found.get((i, j), field.element(0)) + value * basis[b]
    names = [field.label(k)[0] for k in range(size)]
    return Curl(dim, {(names[i], names[j]): str(value) for (i, j), value in sorted(found.items()) if value})


def _basis(field: Field, dynamics: Dynamics) -> list[Element]:
    basis = [
        field.element(1),
        *(Element(field, field.coordinate(*coordinate)) for coordinate in field.coordinates),
    ]
    if dynamics.riemannian:
        here = (0,) * field.dim
        basis += [field.symbol("B", member, here) for member in range(field.dim**2)]
    return basis


def _matched(terms: Sequence[tuple[int, Element]], field: Field) -> list[Row]:
    """The equations between the coefficients of sum_n c_n terms_n, one for each monomial but for the parameters."""
    below = field.one
    for _, value in terms:
        below = below * value.below / below.gcd(value.below)
    rows: dict[tuple[int, ...], Row] = {}
    others = [k for k in range(len(field.keys)) if k not in field.parameter_positions]
    for number, value in terms:
        for monomial, part in parts_in(value.top * (below / value.below), others).items():
            rows.setdefault(monomial, {})[number] = Element(field, part)
    return list(rows.values())


def _solve(rows: list[Row], last: int) -> Row | None:
    """A solution of sum_n c_n row_n = row_last for every row, free unknowns 0; None where there is none."""
    pivots: dict[int, Row] = {}
    for row in sorted(rows, key=len):
        for column, pivot in pivots.items():
            if column in row:
                row = _minus(row, pivot, row[column])
        left = [column for column in row if column != last]
        if not left:
            if row:
                return None
            continue
        column = min(left)
        scale = row[column]
        normal = {n: value / scale for n, value in row.items()}
        pivots = {
            known: _minus(other, normal, other[column]) if column in other else other
            for known, other in pivots.items()
        }
        pivots[column] = normal
    return {column: row[last] for column, row in pivots.items() if last in row}


def _minus(row: Row, pivot: Row, factor: Element) -> Row:
    result = dict(row)
    for column, value in pivot.items():
        changed = result[column] - factor * value if column in result else -(factor * value)
        if changed:
            result[column] = changed
        else:
            result.pop(column, None)
    return result
