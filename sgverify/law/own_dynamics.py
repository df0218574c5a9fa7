"""Does torch code discretise another dynamics than the declared one, with the same invariant density?

Let H = U, or U + p.p/2. A drift -M grad H and a constant half squared diffusion a leave exp(-H/T) invariant for every smooth U
if and only if a = T (M + M^T)/2 (Ma, Chen, Fox 2015, equation (3), with D and Q constant). Examples are a friction for each
coordinate, constant preconditioners, skew drifts and another time scale. M and a are measured from one step at many states. A
dynamics that does not forget its start, such as one without friction and noise, is excluded: it is no sampler.

Where M depends on theta, T div M is due in the drift besides: that is looked at where the gradient is constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from random import Random
from typing import Any

import numpy as np

from sgverify.errors import SgverifyError, Unreached
from sgverify.exact.numbers.entrywise import EntrywiseMatrix, EntrywiseVector, coordinate_keys
from sgverify.exact.series.probe import PolynomialPotential, generic_potential
from sgverify.law.gaussian_setting import GaussianSetting
from sgverify.law.measured_order import PARAMETERS, STEPS, MeasuredOrder, measure_order
from sgverify.law.nodes import first_power, increments
from sgverify.schemes import Dynamics
from sgverify.schemes.definition.declaration import Declaration
from sgverify.schemes.dynamics import default_density
from sgverify.schemes.torch_step import TorchStep

SETTINGS = (PARAMETERS, {"T": Fraction(2), "D": Fraction(1, 2)})
"""The values of T and D at which M and a are measured: M may depend on both, and a = T (M + M^T)/2 must hold at each."""

SMALL = STEPS[3:]
"""The step sizes at which drift and diffusion are measured: from four of them the error of a series in h is O(h^3), 1e-8."""

MORE = 2
"""The number of states beyond those that determine M; the drift -M grad H must be confirmed at them."""

WITHIN = 1e-6
"""The tolerance of an identity, relative to its largest term: the measured numbers have errors of 1e-8 or less."""

DECAYS = 1e-6
"""Every eigenvalue of -M Hess H has a real part below minus this, at U = theta.P theta/2 with P alone and coupled."""


@dataclass(frozen=True)
class OwnDynamics:
    """M and a at `PARAMETERS`; `order` is the step's local order against exp(hL'), L' the generator of this dynamics."""

    names: tuple[str, ...]
    matrix: np.ndarray
    declared: np.ndarray
    order: MeasuredOrder

    @property
    def text(self) -> str:
        """The text of the components in which the drift differs from the declared one."""
        at = ", ".join(f"{name} = {float(value):g}" for name, value in PARAMETERS.items())
        share = float((self.matrix * self.declared).sum() / (self.declared**2).sum())
        if np.abs(self.matrix - share * self.declared).max() <= WITHIN:
            return f"at {at} a step of h is one of size {_number(share)} h"
        off = self.matrix - self.declared
        rows = []
        for i, name in enumerate(self.names):
            if np.abs(off[i]).max() > WITHIN:
                rows.append(
                    f"that of {name} is {self._drift(self.matrix[i])} and not {self._drift(self.declared[i])}"
                )
        return f"at {at} {', '.join(rows[:4])}{', ...' if len(rows) > 4 else ''}"

    def _drift(self, row: np.ndarray) -> str:
        parts = [
            f"{-value:+.6g} {'dU/d' if name.startswith('theta') else ''}{name}"
            for value, name in zip(row, self.names, strict=True)
            if abs(value) > WITHIN
        ]
        return " ".join(parts).lstrip("+") or "0"


def find_own_dynamics(step: TorchStep, dim: int) -> OwnDynamics | None:
    """The dynamics that the step discretises, if it has the declared density and the form of this file; else None."""
    stated = step.dynamics.density
    meant = default_density(step.dynamics.shapes, step.dynamics.parameters)
    if stated is None or meant is None or stated.function is not meant.function:
        return None
    try:
        found = [_measured(step, dim, setting) for setting in SETTINGS]
        declared = _declared(step, dim)
    except (SgverifyError, ArithmeticError):
        return None
    if any(part is None for part in found):
        return None
    matrix, diffusion = found[0]  # type: ignore[misc]
    # Where the dynamics is slow, by a small preconditioner for one, rounding would hide the order of a step of h.
    pace = min(1.0, float(np.abs(matrix).max()))

    @wraps(step.function)
    def in_own_time(*state: Any, h: float, **given: Any) -> Any:
        return step.function(*state, h=h / pace, **given)

    own = replace(
        step, function=in_own_time, dynamics=_dynamics(step.dynamics, matrix / pace, diffusion / pace, dim)
    )
    try:
        order = measure_order(own, dim)
    except SgverifyError:
        return None
    return OwnDynamics(_names(step, dim), matrix, declared, order)


AROUND = (2.0**-6, 2.0**-7)
"""The distances over which M is differentiated, with an error of the fourth power of the smaller one."""

BALANCED = 1e-4
"""The relative error up to which the terms of a dynamics with M(theta) are right."""


def keeps_density_by_place(step: TorchStep, dim: int) -> bool:
    """Has an overdamped step the drift -M grad U + T div M and the half squared diffusion T M, with M a function of theta?

    At one state for each of `SETTINGS`: what holds there is no proof, and what does not is none of these dynamics.
    """
    if step.dynamics.state != ("theta",) or step.memory or step.dynamics.density is None:
        return False
    try:
        return all(
            _balanced(step, dim, setting, state)
            for setting, state in zip(SETTINGS, states_of(step, dim), strict=False)
        )
    except (SgverifyError, ArithmeticError):
        return False


def _balanced(
    step: TorchStep, dim: int, setting: Mapping[str, Fraction], state: dict[tuple[str, int], Fraction]
) -> bool:
    def column(
        i: int, j: int = 0, away: float = 0.0, size: int = 1
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Column i of M, the drift without a gradient, and half of the squared noise, with coordinate j moved."""
        place = {key: value + Fraction(away) * (key[1] == j) for key, value in state.items()}
        unit = tuple(int(k == i) for k in range(dim))
        found = [
            increments(
                step,
                place,
                dim,
                setting,
                SMALL,
                potential=PolynomialPotential(dim, {unit: Fraction(sign * size)}),
            )[0]
            for sign in (1, -1)
        ]
        (up, wide), (down, _) = ([first_power(SMALL, part) for part in pair] for pair in found)
        return (down - up) / (2 * size), (up + down) / 2, wide / 2

    columns = [column(i) for i in range(dim)]
    matrix, (_, rest, half) = np.array([item[0] for item in columns]).T, columns[0]
    slopes = []
    for j in range(dim):
        one, other = ((column(j, j, d)[0] - column(j, j, -d)[0]) / (2 * d) for d in AROUND)
        slopes.append((4 * other - one) / 3)
    T = float(setting["T"]) if "T" in step.dynamics.parameters else 1.0
    pairs = [(half, T * (matrix + matrix.T) / 2), (rest, T * np.sum(slopes, axis=0))]
    if _agree([(matrix[:, i], column(i, size=2)[0]) for i in range(dim)]):
        # Where M does not depend on the force, it is that of a force that varies: one that is read elsewhere has another drift.
        found = increments(step, state, dim, setting, SMALL)[0]
        drift, square = (first_power(SMALL, part) for part in found)
        force = matrix @ _gradients(generic_potential(dim), state, dim)
        pairs += [(drift, rest - force), (square / 2, half)]
    return _agree(pairs)


def _agree(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> bool:
    return all(np.abs(own - due).max() <= BALANCED * max(1.0, np.abs(due).max()) for own, due in pairs)


def _measured(
    step: TorchStep, dim: int, setting: Mapping[str, Fraction]
) -> tuple[np.ndarray, np.ndarray] | None:
    """M and a of the step; None unless they give drift and diffusion at every tried state."""
    potential = generic_potential(dim)
    gradients, drifts, squares = [], [], []
    for state in states_of(step, dim):
        drift, square = _leading(step, dim, setting, state)
        gradients.append(_gradients(potential, state, dim))
        drifts.append(drift)
        squares.append(square)
    gradient, drift, square = np.array(gradients), np.array(drifts), np.array(squares)
    solved, _, rank, _ = np.linalg.lstsq(gradient, -drift, rcond=None)
    if rank < gradient.shape[1] or not _near(gradient @ solved, -drift):
        return None
    matrix, diffusion = solved.T, square.mean(axis=0)
    T = float(setting["T"]) if "T" in step.dynamics.parameters else 1.0
    if not _near(square, np.broadcast_to(diffusion, square.shape)):
        return None
    if not _near(T * (matrix + matrix.T) / 2, diffusion) or not _forgets(matrix, dim):
        return None
    return matrix, diffusion


def _leading(
    step: TorchStep, dim: int, setting: Mapping[str, Fraction], state: dict[tuple[str, int], Fraction]
) -> tuple[np.ndarray, np.ndarray]:
    """The limits of E dX/h and E dX dX^T/(2h) for h -> 0 at one state."""
    (drift, square), other = (
        [first_power(SMALL, part) for part in found]
        for found in increments(step, state, dim, setting, SMALL, (0, 1))
    )
    if not (_near(drift, other[0]) and _near(square, other[1])):
        raise Unreached("two quadratures for its draws differ")
    return drift, square / 2


def states_of(step: TorchStep, dim: int) -> list[dict[tuple[str, int], Fraction]]:
    """States of size 1 with coordinates that float64 represents exactly."""
    random = Random(0)
    keys = coordinate_keys(step.dynamics.shapes, dim)
    return [
        {key: Fraction(random.choice((-1, 1)) * random.randint(3, 24), 16) for key in keys}
        for _ in range(len(keys) + MORE)
    ]


def _gradients(
    potential: PolynomialPotential, state: Mapping[tuple[str, int], Fraction], dim: int
) -> list[float]:
    """grad H at one state, with the coordinates of theta and, if the state has a momentum, p."""
    theta = [state["theta", i] for i in range(dim)]
    units = [tuple(int(i == j) for j in range(dim)) for i in range(dim)]
    return [
        float(potential.derivative(units[key[1]], theta) if key[0] == "theta" else value)
        for key, value in state.items()
    ]


def _declared(step: TorchStep, dim: int) -> np.ndarray:
    """M of the declared dynamics at `PARAMETERS`: its flow where H = |state|^2/2, in which all units are the same."""
    parameters = {name: float(PARAMETERS[name]) for name in step.dynamics.parameters}
    flow = GaussianSetting(step.dynamics, parameters, np.eye(dim), np.zeros(dim)).flow
    if flow is None:
        raise Unreached(f"the drift of `{step.dynamics.name}` is no multiple of grad H")
    return -flow[0]


def _dynamics(declared: Dynamics, matrix: np.ndarray, diffusion: np.ndarray, dim: int) -> Dynamics:
    """The dynamics with drift -M grad H and half squared diffusion a, with the declared name and state, in this dimension."""
    drift_rows = [[_number(value) for value in row] for row in matrix]
    square = [[_number(value) for value in row] for row in diffusion]

    def coefficients(*state: Any, grad: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        values = dict(zip(declared.state, state, strict=True))
        gradients = [
            entry
            for name, value in values.items()
            for entry in (grad(value) if name == "theta" else value).entries
        ]
        zero = 0 * gradients[0]
        flat = [sum((-c * s for c, s in zip(row, gradients, strict=True) if c), zero) for row in drift_rows]
        parts = range(0, len(flat), dim)
        return (
            tuple(EntrywiseVector(flat[k : k + dim]) for k in parts),
            tuple(
                EntrywiseMatrix([[zero + c for c in row[k : k + dim]] for row in square[k : k + dim]])
                for k in parts
            ),
        )

    declaration = Declaration(declared.state, ("grad",))
    return Dynamics(
        f"own {declared.name}", dict(declared.shapes), coefficients, declaration, declared.density
    )


def _number(value: float) -> Fraction:
    """The fraction with a small denominator within a tenth of the tolerance of a measured number, else the float's fraction."""
    near = Fraction(value).limit_denominator(1000)
    return near if abs(float(near) - value) <= WITHIN / 10 * max(1.0, abs(value)) else Fraction(value)


def _forgets(matrix: np.ndarray, dim: int) -> bool:
    """Does the dynamics relax on a Gaussian target with independent coordinates, and on one with coupled coordinates?"""
    size = len(matrix)
    alone = np.diag(1 + np.arange(dim) / 3)
    for precision in (alone, alone + 0.2 * (np.ones((dim, dim)) - np.eye(dim))):
        hessian = np.eye(size)
        hessian[:dim, :dim] = precision
        if not np.linalg.eigvals(-matrix @ hessian).real.max() < -DECAYS:
            return False
    return True


def _near(left: np.ndarray, right: np.ndarray) -> bool:
    return bool(np.abs(left - right).max() <= WITHIN * max(1.0, float(np.abs(right).max())))


def _names(step: TorchStep, dim: int) -> tuple[str, ...]:
    return tuple(
        f"{name}{i + 1 if dim > 1 else ''}" for name, i in coordinate_keys(step.dynamics.shapes, dim)
    )
