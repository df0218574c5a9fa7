"""An affine Markov chain with independent noise, a quadratic test function, and their independent parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, arb_mat

from sgverify.errors import ConfigurationError


@dataclass(frozen=True)
class AffineChain:
    """X' = map X + shift + xi, with xi independent over steps and of zero mean.

    map, covariance: n x n; shift, start_mean: n x 1. `third` and `fourth` are the joint cumulants of xi as
    n x n^2 and n x n^3 matrices (entry [i, j n + k] is kappa_ijk), None where they vanish (Gaussian noise).
    X_0 is N(start_mean, start_covariance), a point where start_covariance is None.
    """

    map: arb_mat
    shift: arb_mat
    covariance: arb_mat
    start_mean: arb_mat
    start_covariance: arb_mat | None = None
    third: arb_mat | None = None
    fourth: arb_mat | None = None

    @property
    def size(self) -> int:
        """n, the number of state variables."""
        return self.map.nrows()


@dataclass(frozen=True)
class QuadraticForm:
    """phi(x) = constant + linear . x + x^T quadratic x; linear: n x 1, quadratic: n x n and symmetric.

    Entries are balls (arb, arb_mat) or, for exact expansions, fractions (fmpq, fmpq_mat).
    """

    constant: Any
    linear: Any
    quadratic: Any


@dataclass(frozen=True)
class ChainProblem:
    """A chain, a test function and the average that it should have, all at one working precision."""

    chain: AffineChain
    observable: QuadraticForm
    target: arb

    @property
    def constant(self) -> bool:
        """Whether the test function does not depend on the state."""
        phi = self.observable
        return all(entry == 0 for entry in phi.linear.entries() + phi.quadratic.entries())


ProblemAt = Callable[[int], ChainProblem]


def checked_length(length: int) -> int:
    """The number of steps L, if it is an integer of at least 1."""
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise ConfigurationError(f"length={length!r}: the number of steps is a positive integer, as 10000")
    return length


def split(problem: ChainProblem) -> list[ChainProblem]:
    """The independent parts of a problem; their test functions and targets sum to those of the problem."""
    return [part for _, part in independent_parts(problem)]


def independent_parts(problem: ChainProblem) -> list[tuple[list[int], ChainProblem]]:
    """The independent parts of a problem and the coordinates of each.

    Two coordinates belong together when the map, the noise, the start or the quadratic form couples them, so
    the parts are independent and phi is the sum of its parts. The first part carries the constant and the
    target.
    """
    chain, phi = problem.chain, problem.observable
    joined = [chain.map, chain.covariance, phi.quadratic]
    joined += [m for m in (chain.start_covariance, chain.third, chain.fourth) if m is not None]
    groups = components(chain.size, joined)
    if len(groups) == 1:
        return [(groups[0], problem)]
    constants = [(phi.constant, problem.target)] + [(arb(0), arb(0))] * (len(groups) - 1)
    return [
        (
            group,
            ChainProblem(
                _sub_chain(chain, group),
                QuadraticForm(constant, restricted(phi.linear, group), restricted(phi.quadratic, group)),
                target,
            ),
        )
        for group, (constant, target) in zip(groups, constants, strict=True)
    ]


def components(size: int, couplings: Iterable[Any]) -> list[list[int]]:
    """Connected components of 0..size-1, joined wherever a coupling has a non-zero entry.

    A coupling is an n x n^r array [i, j n^(r-1) + ...]; entry (i, j, k, ...) joins all its indices.
    """
    if size == 1:
        return [[0]]
    parent = list(range(size))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for coupling in couplings:
        width = coupling.ncols()
        for position, entry in enumerate(coupling.entries()):
            # A ball around 0 may hide a coupling: only an exact zero proves that there is none.
            if entry == 0:
                continue
            first, rest = divmod(position, width)
            span = width
            while span > 1:
                span //= size
                other, rest = divmod(rest, span)
                parent[root(other)] = root(first)
    groups: dict[int, list[int]] = {}
    for i in range(size):
        groups.setdefault(root(i), []).append(i)
    return list(groups.values())


def restricted(values: Any, group: Sequence[int]) -> Any:
    """The entries of an n x 1 or n x n^r array whose indices all lie in `group`; any flint matrix type."""
    size = values.nrows()
    columns = [0]
    span = 1
    while span < values.ncols():
        columns = [column * size + i for column in columns for i in group]
        span *= size
    return type(values)([[values[i, column] for column in columns] for i in group])


def _sub_chain(chain: AffineChain, group: Sequence[int]) -> AffineChain:
    def part(values: arb_mat | None) -> arb_mat | None:
        return None if values is None else restricted(values, group)

    return AffineChain(
        map=restricted(chain.map, group),
        shift=restricted(chain.shift, group),
        covariance=restricted(chain.covariance, group),
        start_mean=restricted(chain.start_mean, group),
        start_covariance=part(chain.start_covariance),
        third=part(chain.third),
        fourth=part(chain.fourth),
    )
