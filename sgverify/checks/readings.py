"""The order and the law that a subject is held to, the error of its gradient, and the orbits of starts far out.

Orders and laws are proved of a definition, and measured by quadrature of somebody's torch code.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sgverify.errors import InstabilityError, NotExpandableError, SgverifyError, Unreached, unreached
from sgverify.schemes import exact
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.definition.binding import parameters_of
from sgverify.subject.caching import Same, cached_by, cached_per_subject
from sgverify.subject.composite import TorchSubject
from sgverify.subject.subject import Subject
from sgverify.targets.derived import with_scaled_likelihood

if TYPE_CHECKING:
    from sgverify.exact.affine.expanded_step import DriftChange
    from sgverify.exact.readings.escape import Move, Orbits, Origin
    from sgverify.law.measured_order import MeasuredOrder

MOST_COORDINATES = 4
"""The most coordinates of a state for which the order is also measured in the target's dimension: there are 7^n moments."""

KNOWN = ("theta", "p")
"""The variables whose law under exp(-(U + p.p/2)/T) is Gaussian on a Gaussian target."""


def predicted_order(subject: Subject) -> int:
    """K in the predictions: the local order given the minibatch, proved or resolved by measurement, else the stated one; >= 1.

    The theorems speak of integrators of order K >= 1; one that is not even consistent is held to K = 1, else its wrong invariant
    law would conform to a rate of h^0. Torch code with memory is too: one step from a memory at rest says what the chain tends to
    as h -> 0, and not how fast.
    """
    if isinstance(subject, TorchSubject):
        if subject.law_alone:
            return cast(int, subject.scheme.invariant_order)
        if subject.scheme.memory:
            return 1
        measured = measured_order(subject)
        known = not isinstance(measured, str) and measured.resolved
        return max(1, int(measured.order) if known else subject.scheme.order or 1)  # type: ignore[union-attr]
    if isinstance(subject.order, NotExpandableError):
        found = measured_of_definition(subject)
        known = not isinstance(found, str) and found.resolved
        return max(1, int(found.order) if known else subject.scheme.order or 1)  # type: ignore[union-attr]
    return max(1, int(subject.order.order))


def held_to_flow(subject: TorchSubject) -> bool:
    """Is one step compared with the flow of the dynamics, and not only its invariant law with the target?

    A step that is known not to be consistent with the flow is reported by its own check; its invariant law may be right.
    """
    if subject.law_alone or subject.scheme.memory:
        return False
    measured = measured_order(subject)
    return isinstance(measured, str) or measured.order >= 1 or not measured.resolved


@cached_by(lambda subject: (Same(subject.scheme), subject.proof_dimension, subject.target.dim))
def measured_order(subject: TorchSubject) -> MeasuredOrder | str:
    """The local order of torch code, measured by quadrature; or the reason why it cannot be measured."""
    # Imported here: torch is loaded when a step runs, not when a subject is made.
    from sgverify.law.measured_order import measure_order

    if subject.scheme.memory:
        try:
            return measure_order(subject.step_at_rest, subject.proof_dimension)
        except Unreached as error:
            why = f"with a memory ({subject.kept}) one step has no order, and {error}"
            return f"{why}: {subject.way_on}"
    try:
        found = measure_order(subject.scheme, subject.proof_dimension)
    except Unreached as error:
        return str(error)
    # A step may treat its third coordinate differently; beyond four coordinates there are too many moments.
    dim = subject.target.dim
    if subject.proof_dimension < dim and dim * len(subject.scheme.state) <= MOST_COORDINATES:
        try:
            larger = measure_order(subject.scheme, dim)
        except Unreached:
            return found
        # Rounding accumulates over more nodes: a difference is still visible, while equality may not be provable.
        if larger.order < found.order or larger.resolved:
            return larger
    return found


@cached_by(lambda subject: (Same(subject.scheme), subject.proof_dimension, subject.target.dim))
def measured_of_definition(subject: Subject) -> MeasuredOrder | str:
    """The local order of a definition without a power series, measured as that of torch code; or why it cannot be measured."""
    from sgverify.checks.order.definition_as_code import as_torch_subject, measurable

    if not measurable(subject.scheme):
        return "it cannot be written as plain torch code"
    return measured_order(as_torch_subject(subject))


def measured_beyond_noise(subject: Subject) -> bool:
    """Is the local order that was measured, with full gradients, above the one that gradient noise leaves?

    Every term of the averaged step that differs from exp(hL) at h^2 then has a moment of the noise.
    """
    found = measured_order(subject) if isinstance(subject, TorchSubject) else measured_of_definition(subject)
    return not isinstance(found, str) and found.resolved and found.order >= 2


def noise_enters_as_drift(subject: Subject) -> bool:
    """Does gradient noise move one step of torch code, to leading order in h, by h times what it moves the drift?"""
    from sgverify.law.torch_chain import chain_of

    try:
        return chain_of(subject).noise_enters_as_drift
    except (Unreached, InstabilityError):
        return False


@cached_per_subject
def why_no_law(subject: Subject) -> str | None:
    """The reason why the moments of the invariant law and of the posterior are not computed; None if they are."""
    from sgverify.exact.answers.invariant import InvariantLaw

    if subject.black_box:
        return _why_no_chain(subject)
    if not subject.affine:
        return "one step is not affine in the state on this target, so the moments of its invariant law are no closed system"
    others = [name for name in subject.scheme.dynamics.state if name not in KNOWN]
    if others:
        return f"the posterior's law of `{others[0]}` is not known; it is known for {' and '.join(KNOWN)}"
    if not subject.scheme.dynamics.usual:
        return (
            f"`{subject.scheme.dynamics.name}` states a density of its own; the moments are known of exp(-U/T) and "
            "exp(-(U + p.p/2)/T)"
        )
    return unreached(lambda: InvariantLaw(subject.model).answers)


def _why_no_chain(subject: Subject) -> str | None:
    """The reason why no chain of steps of torch code is read as a linear map of its moments."""
    from sgverify.law.torch_chain import chain_of

    try:
        chain = chain_of(subject)
        chain.map(chain.first)
    except (Unreached, InstabilityError) as error:
        return str(error)
    return None


# The error E dV_l of a gradient estimate in chen2015's Theorem 2.


DIGITS = 12


@cached_per_subject
def unbiased(subject: Subject) -> bool:
    """Are E g and grad U equal as functions of theta?

    On a quadratic target both functions are affine and compared exactly. A clipped gradient counts as biased: it is
    unbiased only while no datum is clipped, and no computation here bounds the gradients over all states.
    """
    if (
        subject.configuration.gradient.clip is not None
        or not subject.configuration.gradient.estimator.unbiased
    ):
        return False
    if subject.effective_target is subject.target:
        return True
    if not subject.target.quadratic:
        return False
    from sgverify.exact.affine.expanded_step import DriftChange

    return DriftChange.between(subject.target, subject.effective_target).vanishes


def gradient_error(subject: Subject) -> Fraction:
    """delta = gradient.scale - 1; without clipping, E g - grad U = delta sum_i grad likelihood(x_i)."""
    return Fraction(exact(subject.configuration.gradient.scale)) - 1


def unit_change(subject: Subject) -> DriftChange:
    """sum_i grad likelihood(x_i) as an affine function of theta: the change of the gradient at delta = 1."""
    from sgverify.exact.affine.expanded_step import DriftChange

    return DriftChange.between(subject.target, with_scaled_likelihood(subject.target, Fraction(2)))


def mean_error(subject: Subject) -> dict[str, Any]:
    """E dV_l = -(E g - grad U) . grad_v, v the variable that the gradient drives, as text and at three states.

    The states are the posterior mean and one standard deviation to either side. Sums over all data: no minibatch is
    drawn, since each datum enters each minibatch with the same probability.
    """
    centre = subject.target.location_float64(subject.configuration.temperature)
    spread = subject.target.spread_float64(subject.configuration.temperature)
    states = {
        "mean": centre,
        "mean + standard deviation": centre + spread,
        "mean - standard deviation": centre - spread,
    }
    driven = "p" if "p" in subject.scheme.dynamics.state else "theta"
    clip = subject.configuration.gradient.clip
    found: dict[str, Any] = {"E dV_l": f"-(E g - grad U) . grad_{driven}"}
    if clip is None and subject.target.quadratic:
        found["E g - grad U"] = _formula(subject)
        found["at"] = {name: _exact_error(subject, list(state)) for name, state in states.items()}
        return found
    scale = subject.configuration.gradient.scale
    clipped = "g_i" if clip is None else f"g_i min(1, {clip:g}/|g_i|)"
    found["E g - grad U"] = f"sum_i ({scale:g} {clipped} - g_i), g_i = grad likelihood(x_i)"
    found["at"] = dict(zip(states, _summed_error(subject, list(states.values())), strict=True))
    return found


def term_of_theorem_2(subject: Subject) -> str:
    """The sentence about the term of Theorem 2's bound that does not fall with L."""
    error = mean_error(subject)
    at = ", ".join(f"{value:.6g}" for value in error["at"]["mean"])
    return (
        f"the gradient is biased (gradient.scale={subject.configuration.gradient.scale:g}"
        + (
            ""
            if subject.configuration.gradient.clip is None
            else f", gradient.clip={subject.configuration.gradient.clip:g}"
        )
        + f"), and Theorem 2's term sum_l |E dV_l|/L does not fall: E g - grad U is {at} at the posterior mean"
    )


def _formula(subject: Subject) -> str:
    """The text of E g - grad U = delta (H theta - r), with H and r from the likelihood alone."""
    change, delta = unit_change(subject), gradient_error(subject)
    rows, pull = change.precision.tolist(), change.pull.entries()
    if subject.target.dim == 1:
        sign = "+" if pull[0] < 0 else "-"
        return f"{float(delta):.{DIGITS}g} ({_number(rows[0][0])} theta {sign} {_number(abs(pull[0]))})"
    matrix = ", ".join("[" + ", ".join(_number(v) for v in row) + "]" for row in rows)
    return f"{float(delta):.{DIGITS}g} ([{matrix}] theta - [{', '.join(map(_number, pull))}])"


def _exact_error(subject: Subject, theta: Sequence[float]) -> list[float]:
    delta = gradient_error(subject)
    return [float(delta * value) for value in unit_change(subject).at([Fraction(float(t)) for t in theta])]


def _summed_error(subject: Subject, states: Sequence[Any]) -> list[list[float]]:
    """E g - grad U at each state: the full gradient of the estimate's potential less that of the target's."""
    # torch is loaded only where a gradient is not known in closed form.
    import torch

    from sgverify.samplers.gradients.differentiation import Potential
    from sgverify.samplers.gradients.kinds import effective_potential

    potential = Potential(subject.target, dtype=torch.float64, device="cpu", hoist=False)
    theta = torch.tensor([[list(map(float, state)) for state in states]], dtype=torch.float64)
    effective = effective_potential(potential, subject.configuration.gradient)
    rows: list[list[float]] = (effective.full(theta) - potential.full(theta))[0].tolist()
    return rows


def _number(value: Any) -> str:
    return f"{int(value.p) / int(value.q):.{DIGITS}g}"


# Starts far from the target, which a transient chain carries off to infinity.


SMALL = 10
"""What is slow beside the default step may turn later than an orbit ends."""

AFFINE = "one step is an affine map, and its spectral radius tells whether chains forget their start"


def orbits_of(subject: Subject) -> Orbits | str:
    """The orbits of starts far out in each state variable, or the reason why none was followed.

    An exception of the step itself is raised.
    """
    if subject.scheme.dynamics.positive:
        return "no start far out was followed, because theta > 0"
    if subject.black_box:
        return (
            "no start far out was followed, because the step is torch code"
            if why_no_law(subject)
            else "one step is an affine map that contracts, at states out to 6 spreads, and no start far out was followed"
        )
    return AFFINE if subject.affine else _orbits(subject)


def _of_full_gradient(subject: Subject) -> Hashable:
    """All that orbits depend on: not the minibatches, as the gradient is that of all data."""
    c = subject.configuration
    setting = c.target, c.gradient.scale, c.gradient.clip, c.temperature, c.friction, c.metric
    return Same(subject.scheme), repr(setting), subject.scale, subject.usual_step


@cached_by(_of_full_gradient)
def _orbits(subject: Subject) -> Orbits:
    from sgverify.exact.readings.escape import followed_orbits

    move, begin = _step(subject)
    long_enough = subject.scale >= subject.usual_step / SMALL
    return followed_orbits(move, _origin(subject), subject.scale, begin, long_enough=long_enough)


@cached_per_subject
def followed(subject: Subject) -> Orbits | str:
    """The orbits from starts far out at the subject's step size, or the reason why none was followed."""
    try:
        return orbits_of(subject)
    except SgverifyError as error:
        return f"no start far out was followed: {error}"


def escape_of(subject: Subject) -> Orbits | None:
    """The orbits that escape at the subject's step size; None if none is seen to escape."""
    found = followed(subject)
    return None if isinstance(found, str) or not found.gone else found


def told_of_orbits(orbits: Orbits | str) -> str:
    """The condition of a conforming claim about ergodic chains, that ergodicity is assumed; "" for affine steps.

    The spectral radius of an affine step proves whether its chain is ergodic.
    """
    if orbits == AFFINE:
        return ""
    return f"; ergodicity is assumed, not proved: {orbits}"


def _origin(subject: Subject) -> Origin:
    """The centre and spread of a chain's state: theta about the target, vectors such as p about 0, a thermostat's xi about D."""
    from sgverify.exact.readings.escape import Origin

    c, target, scheme = subject.configuration, subject.effective_target, subject.scheme
    names, temperature = tuple(scheme.dynamics.state), float(c.temperature)
    theta = np.asarray(target.location_float64(temperature), dtype=float)
    others = [
        np.zeros(target.dim) if scheme.shapes[name] == VECTOR else np.array([float(c.friction)])
        for name in names[1:]
    ]
    spread = float(np.max(target.spread_float64(temperature)))
    return Origin(names, (theta, *others), (spread, *(temperature**0.5 for _ in others)))


def _step(subject: Subject) -> tuple[Move, Move]:
    from sgverify.exact.readings.escape import step_of_many

    given = parameters_of(subject.configuration)
    known = {name: given[name] for name in subject.scheme.dynamics.parameters}
    clip = subject.configuration.gradient.clip
    return step_of_many(subject.scheme, subject.effective_target, known, subject.metric, subject.scale, clip)
