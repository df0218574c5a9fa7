"""How does torch code answer to a gradient that is given to it, and which noise goes with the answer?

At a state x, and with what it keeps at given values, the drift is -G g + s for constant gradients g, and half of the variance
of the noise per unit of h is a. The density exp(-U/T) is kept where a = T G and s = T dG/dx: a preconditioner in one of the two
alone, a correction that is missing or half there (Stratonovich), and a pull to a point are told by these three numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from sgverify.advice.diagnosis.model import Cause
from sgverify.errors import SgverifyError
from sgverify.law.nodes import StepAtNodes
from sgverify.samplers.intercepted import BlackBox
from sgverify.schemes.torch_step import TorchStep

STATES, MEMORIES = (-1.3, -0.4, 0.7, 1.6), (0.6, 1.7)
"""The states, and the values of everything that is kept."""

STEPS, PUSH, TEMPERATURE, APART = (2.0**-12, 2.0**-13), 0.5, 0.75, 2.0**-7
"""The step sizes, the gradient, the temperature, and the distance over which G is differentiated."""

FAR = (40.0, 80.0)
"""The large gradients to which a step answers as to a small one, unless it clips them."""

DIM, NEAR, MOST_DRAWS = 2, 1e-3, 4
"""The dimension, the relative error up to which numbers agree, and the most draws that are integrated over."""


@dataclass(frozen=True)
class Response:
    """G, s and a at one state."""

    gain: float
    rest: float
    noise: float


def response_cause(step: TorchStep) -> Cause | None:
    """The cause that G, s and a of a step of the overdamped dynamics show; None where they are right, or it cannot be run so."""
    if step.dynamics.state != ("theta",) or step.own_loss is not None:
        return None
    try:
        places = (
            [(x, value) for x in STATES[:2] for value in MEMORIES]
            if step.memory
            else [(x, 0.0) for x in STATES]
        )
        found = [answer(step, *place) for place in places]
    except (SgverifyError, ArithmeticError, RuntimeError, TypeError, ValueError):
        return None
    gain, rest, noise = (
        np.array([getattr(item, name) for item in found]) for name in ("gain", "rest", "noise")
    )
    if not np.isfinite([gain, rest, noise]).all() or (gain <= 0).any() or (noise <= 0).any():
        return None
    # A preconditioner made of gradients that are kept answers to their size too.
    far = [] if step.memory else [push * answer(step, *places[0], push).gain / float(gain[0]) for push in FAR]
    if far and _varies(np.array([far[0] / FAR[0], 1.0])):
        most = far[0] / (TEMPERATURE if step.tempered else 1)
        clipped = not _varies(np.array(far))
        told = (
            f"one of {most:.4g}: it is clipped"
            if clipped
            else "one of another size: it is not proportional to it"
        )
        return Cause(
            "gradient-biased",
            f"a large gradient moves the step as {told}, and what is sampled is no exp(-U) of it",
        )
    moving, answering = _varies(noise), _varies(gain)
    if answering and not moving:
        return Cause(
            "preconditioner-in-one",
            "the gradient is multiplied by a preconditioner, and the noise is not by its root: each coordinate has a temperature "
            "of its own, T divided by the preconditioner; where that depends on theta, T dG/dtheta (Gamma) is due in the drift too",
        )
    if moving and not answering:
        return Cause(
            "preconditioner-in-one",
            "the noise is multiplied by a function of the state, and the gradient is not by its square: each state has a "
            "temperature of its own",
        )
    if moving and not _varies(noise / gain) and not step.memory:
        slopes = [
            (answer(step, x + APART, 0.0).gain - answer(step, x - APART, 0.0).gain) / (2 * APART)
            for x in STATES
        ]
        return _corrected(rest, np.array(slopes) * float(np.mean(noise / gain)))
    return None if moving or answering else _pulled(np.array(places), rest, float(gain[0]), step)


def _varies(values: np.ndarray) -> bool:
    return bool(np.ptp(values) > NEAR * np.abs(values).max())


def _corrected(rest: np.ndarray, due: np.ndarray) -> Cause | None:
    """What is wrong with the drift that belongs to noise that depends on the state."""
    share = float(rest @ due / (due @ due))
    if np.abs(rest - share * due).max() > 0.02 * np.abs(due).max() or abs(share - 1) <= 0.02:
        return None
    if abs(share) <= 0.02:
        return Cause(
            "drift-correction-missing",
            "gradient and noise are multiplied by G of theta and by its root, and the drift lacks T dG/dtheta (Gamma), by which "
            "the density exp(-U/T) becomes exp(-U/T)/G",
        )
    told = "1/2" if abs(share - 0.5) <= 0.02 else f"{share:.3g}"
    reading = ": the noise is read at its midpoint, Stratonovich for Ito" if told == "1/2" else ""
    return Cause(
        "stratonovich" if reading else "drift-scaled",
        f"the correction T dG/dtheta enters {told} times, where once is due{reading}",
    )


def _pulled(places: np.ndarray, rest: np.ndarray, gain: float, step: TorchStep) -> Cause | None:
    """A drift besides the gradient that pulls to one point, or to a state that is kept."""
    size = np.abs(rest).max()
    columns = np.hstack([places, np.ones((len(places), 1))])
    found, *_ = np.linalg.lstsq(columns, rest, rcond=None)
    if size <= NEAR or np.abs(columns @ found - rest).max() > NEAR * size:
        return None
    # What takes no T is given U/T, and runs T times as fast.
    slope, of_kept, at_zero = map(float, found / (gain * (TEMPERATURE if step.tempered else 1)))
    over = "" if step.tempered else "/T"
    prior = re.search(r"less (\w+) \|theta\|", step.conventions)
    if abs(of_kept) <= NEAR and abs(slope) <= NEAR and prior is not None:
        # An option that would be the precision of a prior: the gradient is given without that.
        return Cause(
            "localised",
            f"{prior[1]} pulls to another point than 0, as no prior does: the drift has {at_zero:+.4g} besides, and it samples "
            f"exp(-(U {_signed(-at_zero)} theta + {prior[1]} theta^2/2){over})",
        )
    if abs(of_kept) > NEAR:
        strength, centre = of_kept, str(step.memory[0].name)
    elif abs(slope) > NEAR:
        strength, centre = -slope, f"{-at_zero / slope:.4g}"
    else:
        return None
    where = f"(theta - {centre})" if centre != "0" else "theta"
    return Cause(
        "localised",
        f"the drift has {-strength:+.4g} {where} besides the gradient, which pulls to {centre}: it samples "
        f"exp(-(U {_signed(strength / 2)} {where}^2){over})",
    )


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'} {abs(value):.4g}"


def out_of_balance(step: TorchStep) -> float:
    """The largest distance between a and T G, in units of T, at some states and at values of what is kept."""
    found = [answer(step, x, value) for x in STATES[:2] for value in (MEMORIES if step.memory else (0.0,))]
    return max(abs(item.noise - TEMPERATURE * item.gain) / TEMPERATURE for item in found)


def answer(step: TorchStep, x: float, kept: float, push: float = PUSH) -> Response:
    """G, s and a at a state whose coordinates are all x, from the two steps for h -> 0."""
    values = np.array([[_moments(step, x, kept, own, h) for own in (push, -push)] for h in STEPS])
    (up, wide), (down, other) = 2 * values[1] - values[0]
    return Response((down - up) / (2 * push), (up + down) / 2, (wide + other) / 4)


def _moments(step: TorchStep, x: float, kept: float, push: float, h: float) -> tuple[float, float]:
    """Mean and variance of the increment of theta's first coordinate over h."""
    box = BlackBox(
        step,
        lambda theta, minibatch: torch.full_like(theta, push),
        DIM,
        {"T": TEMPERATURE} if "T" in step.parameters else {},
    )
    state = np.full(sum(step.sizes(DIM)), kept)
    state[:DIM] = x
    run = StepAtNodes(box, state, h)
    count = run.draws(h)
    points, weights = np.polynomial.hermite_e.hermegauss(5)
    if count > MOST_DRAWS:
        raise ValueError("more draws than are integrated over")
    nodes = np.array(list(product(points, repeat=count)))
    share = np.array([np.prod(item) for item in product(weights / weights.sum(), repeat=count)])
    moved = run.after(nodes, h)[:, 0] - x
    mean = float(share @ moved)
    return mean / h, float(share @ (moved - mean) ** 2) / h
