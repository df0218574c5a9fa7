"""How does torch code answer to a gradient that is given to it, and which noise goes with the answer?

At a state x, and with what it keeps at given values, the drift is -G g + s for constant gradients g, and half of the variance
of the noise per unit of h is a. The density exp(-U/T) is kept where a = T G and s = T dG/dx: a preconditioner in one of the two
alone, a correction that is missing or half there (Stratonovich), and a pull to a point are told by these three numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sgverify.advice.diagnosis.model import Cause
from sgverify.errors import SgverifyError
from sgverify.exact.series.probe import PolynomialPotential
from sgverify.law.nodes import increments
from sgverify.schemes.torch_step import TorchStep

STATES, MEMORIES = (-1.3, -0.4, 0.7, 1.6), (0.6, 1.7)
"""The states, and the values of everything that is kept."""

STEPS, PUSH, TEMPERATURE, APART = (2.0**-12, 2.0**-13), 0.5, 0.75, 2.0**-7
"""The step sizes, the gradient, the temperature, and the distance over which G is differentiated."""

FAR = (40.0, 80.0)
"""The large gradients to which a step answers as to a small one, unless it clips them."""

DIM, NEAR, SETTING = 2, 1e-3, {"T": Fraction(TEMPERATURE), "D": Fraction(1)}
"""The dimension, the relative error up to which numbers agree, and the numbers of the dynamics."""


@dataclass(frozen=True)
class Response:
    """G, s and a at one state, by coordinate, and by how much what is kept changes in a small step."""

    gain: np.ndarray
    rest: np.ndarray
    noise: np.ndarray
    kept: np.ndarray


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
    far = [] if step.memory else [push * answer(step, *places[0], push).gain / gain[0] for push in FAR]
    if far and _varies(np.array([far[0][0] / FAR[0], 1.0])):
        most = far[0][0] / (TEMPERATURE if step.tempered else 1)
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
    if moving and not _varies(noise / gain):
        return _follows(step, places[0], found[0])
    return None if moving or answering else _pulled(np.array(places), rest[:, 0], float(gain[0, 0]), step)


def _varies(values: np.ndarray) -> bool:
    return bool(np.ptp(values) > NEAR * np.abs(values).max())


def _follows(step: TorchStep, place: tuple[float, float], found: Response) -> Cause | None:
    """A preconditioner made of gradients that are kept, which depend on theta where they are at rest, without its correction."""
    fed = answer(step, *place, 2 * PUSH).kept
    if (
        not _varies(np.array([found.kept, fed]))
        or np.abs(found.rest).max() > NEAR * np.abs(found.noise).max()
    ):
        return None
    kept = ", ".join(str(item.name) for item in step.memory)
    return Cause(
        "drift-correction-missing",
        f"gradient and noise are multiplied by a preconditioner G of {kept} and by its root; {kept} follows the gradients, so that "
        "G is a function of theta, and the drift lacks T dG/dtheta (Gamma): the density is not exp(-U/T)",
    )


def _corrected(rest: np.ndarray, due: np.ndarray) -> Cause | None:
    """What is wrong with the drift that belongs to noise that depends on the state."""
    if np.abs(due).max() <= NEAR:
        return None
    share = float((rest * due).sum() / (due * due).sum())
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
            f"{prior[1]} pulls to another point than 0, as no prior does",
        )
    if abs(of_kept) > NEAR:
        strength, centre = of_kept, str(step.memory[0].name)
    elif abs(slope) > NEAR:
        strength, centre = -slope, f"{-at_zero / slope:.4g}" if abs(at_zero) > NEAR * abs(slope) else "0"
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
    return max(float(np.abs(item.noise / TEMPERATURE - item.gain).max()) for item in found)


def answer(step: TorchStep, x: float, kept: float, push: float = PUSH) -> Response:
    """G, s and a at a state whose coordinates are all x, from the two steps for h -> 0."""
    keys = [(name, i) for name, size in zip(step.state, step.sizes(DIM), strict=True) for i in range(size)]
    state = {key: Fraction(x if key[0] == "theta" else kept) for key in keys}
    found = []
    for own in (push, -push):
        force = PolynomialPotential(DIM, dict.fromkeys(((1, 0), (0, 1)), Fraction(own)))
        ((mean, square),) = increments(step, state, DIM, SETTING, STEPS, potential=force)
        rates = [(mean[k, :DIM] / h, np.diag(square[k])[:DIM] / h) for k, h in enumerate(STEPS)]
        found.append(2 * np.array(rates[1]) - np.array(rates[0]))
    (up, wide), (down, other) = found
    return Response((down - up) / (2 * push), (up + down) / 2, (wide + other) / 4, mean[-1, DIM:])
