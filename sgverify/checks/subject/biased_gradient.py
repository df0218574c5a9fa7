"""Is a gradient estimate unbiased, and if not, how large is its error E dV_l in chen2015's Theorem 2?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sgverify.checks.subject.caching import cached_per_subject
from sgverify.checks.subject.subject import Subject
from sgverify.claims import Prediction
from sgverify.exact.affine.drift_change import DriftChange
from sgverify.rates import Judgement
from sgverify.schemes import exact
from sgverify.targets.scaled import with_scaled_likelihood

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
    return DriftChange.between(subject.target, subject.effective_target).vanishes


def gradient_error(subject: Subject) -> Fraction:
    """delta = gradient.scale - 1; without clipping, E g - grad U = delta sum_i grad likelihood(x_i)."""
    return Fraction(exact(subject.configuration.gradient.scale)) - 1


def unit_change(subject: Subject) -> DriftChange:
    """sum_i grad likelihood(x_i) as an affine function of theta: the change of the gradient at delta = 1."""
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


def as_theorem_2_allows(
    subject: Subject, prediction: Prediction, judgement: Judgement, what: str
) -> Judgement:
    """A sampled judgement, made conforming if a biased gradient explains an error that does not fall with L.

    `what` names the quantity in the reason. The judgement is returned unchanged if gradients are unbiased or the predicted
    rate falls.
    """
    if unbiased(subject) or prediction.exponent < 0 or judgement.verdict == "inconclusive":
        return judgement
    term = term_of_theorem_2(subject)
    if judgement.verdict == "conforms":
        return replace(judgement, reason=f"{judgement.reason}; {term}")
    return Judgement("conforms", False, f"{what} has a part that does not fall with L, as predicted: {term}")


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

    from sgverify.samplers.gradients.biased import effective_potential
    from sgverify.samplers.gradients.differentiation import Potential

    potential = Potential(subject.target, dtype=torch.float64, device="cpu", hoist=False)
    theta = torch.tensor([[list(map(float, state)) for state in states]], dtype=torch.float64)
    effective = effective_potential(potential, subject.configuration.gradient)
    rows: list[list[float]] = (effective.full(theta) - potential.full(theta))[0].tolist()
    return rows


def _number(value: Any) -> str:
    return f"{int(value.p) / int(value.q):.{DIGITS}g}"
