"""The invariant law of torch code on a Gaussian target: its step is an affine map of state and draws, read off by evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from scipy.linalg import solve_discrete_lyapunov

from sgverify.checks.facts import facts_of
from sgverify.checks.injected import black_box
from sgverify.checks.making import make_evidence, unsettled
from sgverify.checks.subject import Subject
from sgverify.checks.torch_subject import limits
from sgverify.claims import Claim
from sgverify.errors import ConfigurationError, InstabilityError
from sgverify.evidence import Evidence, Point
from sgverify.exact.cubature import normal_cubature
from sgverify.exact.vanishing_steps import powers_of_h
from sgverify.rates import Judgement, Rate, judge_step_rate
from sgverify.samplers.intercepted import BlackBoxError, UnreadableDrawError
from sgverify.samplers.intercepted.dtypes import DtypeAudit, default_dtype
from sgverify.schemes.abstract_value import VECTOR

CHECK = "stationary-bias"

HALVINGS = 7
"""Steps h, h/2, h/4, ... at which the bias is computed."""

FEWEST = 4
"""Step sizes of a sweep: the fit loses one power to its error bound, and orders 1 and 2 are to be told apart."""

UNIT = 2.0**-53

AFFINE = 1e-9
"""A step is affine where it agrees with its affine map at other points to this share of what it moves them by."""

RARE = (2.5, 4.0, 6.0)
"""Sizes of normal draws beyond those that come by themselves."""

SMALLER = 30
"""How often a default step is halved in search of one at which the chain contracts."""

SEEN = 1e-8
"""A power of h counts where its share at the largest step exceeds this share of the average itself."""


class _NotReadError(Exception):
    """Why there is no law to speak of."""


def black_box_bias(subject: Subject, claim: Claim) -> Evidence:
    """E phi under the invariant law of X -> M X + B z + c less the posterior's, at h, h/2, ..., and its powers of h.

    M, B and c are differences of evaluations at unit vectors; the law is N(m, C) with C = M C M^T + B B^T.
    """
    try:
        steps = _steps(subject)
        points = [_bias(subject, float(h)) for h in steps]
    except (_NotReadError, BlackBoxError, UnreadableDrawError) as error:
        return unsettled(
            subject, claim, CHECK, f"its invariant law is not read: {error}", method="quadrature"
        )
    values, errors = (np.array(column)[:, None] for column in zip(*points, strict=True))
    fitted = powers_of_h(steps, values, errors)
    scale = max(abs(float(subject.truth)), float(np.abs(values).max()), 1e-300)
    found = Rate(None)
    for power in range(len(fitted.coefficients)):
        c = float(fitted.coefficients[power, 0])
        if fitted.seen(power)[0] and abs(c) * steps[0] ** power > SEEN * scale:
            found = Rate(Fraction(power), c)
            break
    prediction = claim.predict(CHECK, facts_of(subject, "fixed", None))
    what = f"the stationary bias of {subject.observable}"
    judgement = judge_step_rate(found, prediction.exponent, what)
    if found.exponent is None:
        seen = f"no power of h is seen in {what} through h^{len(fitted.coefficients) - 1}"
        judgement = Judgement("conforms", False, seen)
    elif judgement.verdict == "violates":
        judgement = _or_rounding(
            subject, judgement, abs(found.coefficient or 0.0) * steps[0] ** float(found.exponent or 0), scale
        )
    return make_evidence(
        subject,
        claim,
        CHECK,
        method="quadrature",
        judgement=judgement,
        prediction=prediction,
        found=found,
        points=[
            Point(step=float(h), value=value, error_bound=error)
            for h, (value, error) in zip(steps, points, strict=True)
        ],
        certificate={
            "powers_of_h": fitted.coefficients[:, 0].tolist(),
            "error_bounds": fitted.bounds[:, 0].tolist(),
            "read": "the affine map of one step, from evaluations at unit vectors of the state and of its normal draws",
            "affine_at": f"draws of up to {max(RARE):g} standard deviations; not examined beyond",
            "limits": limits(subject.target.dim),
        },
    )


def _steps(subject: Subject) -> np.ndarray:
    """Those of the sweep, from large to small; else halvings of the first step.

    Raises `ConfigurationError` for too few, `InstabilityError` where the chain does not contract at one of them.
    """
    given = subject.configuration.sweep.steps
    if not given:
        return np.array([_first_step(subject) * 2.0**-k for k in range(HALVINGS)])
    steps = np.array(sorted(set(given), reverse=True))
    if len(steps) < FEWEST:
        raise ConfigurationError(
            f"sweep.steps={list(given)}: {len(steps)} different step sizes; expected {FEWEST} at least, for the powers of h to be "
            "told apart, or leave it out"
        )
    for h in steps:
        radius = _affine_step(subject, float(h), 1.0).radius
        if not radius < 1:
            raise InstabilityError(
                f"sweep.steps has {h:.6g}: one step of {subject.reference} does not contract on this target, spectral radius "
                f"{radius:.6g}; expected smaller steps"
            )
    return steps


def _or_rounding(subject: Subject, judgement: Judgement, size: float, scale: float) -> Judgement:
    """Inconclusive where roundings to float32 within the step are as large as the bias: it says nothing of the method then."""
    audit = DtypeAudit(())
    run = _Map(subject, subject.step)
    run(np.zeros(len(run.centre)), np.zeros(run.draws), audit)
    possible = audit.operations * 2.0**-24 * scale
    if not audit.found or size > possible:
        return judgement
    return Judgement(
        "inconclusive",
        False,
        f"{judgement.reason}; but it is {size:.2g}, and the step's float32 roundings may do as much as {possible:.2g}: "
        "see the check dtype",
    )


def _first_step(subject: Subject) -> float:
    """The configured step; else the default one, halved until the chain contracts at twice as much.

    Raises `InstabilityError` for a configured step at which it does not.
    """
    h, chosen = subject.step, subject.configuration.schedule.step is not None
    for _ in range(1 if chosen else SMALLER):
        radius = _affine_step(subject, h, 1.0).radius
        if radius < 1:
            return h if chosen or h == subject.step else h / 2
        h /= 2
    if chosen:
        raise InstabilityError(
            f"schedule.step={subject.step:.6g}: one step of {subject.reference} does not contract on this target, spectral "
            f"radius {radius:.6g}; expected a smaller step; leave schedule.step out for one that is"
        )
    raise _NotReadError(
        f"the chain contracts at no step size from {subject.step:.3g} down to {2 * h:.3g}: spectral radius {radius:.6g}"
    )


def _bias(subject: Subject, h: float) -> tuple[float, float]:
    """The bias at a step size and what rounding may do to it: the law is read twice, from vectors of different length."""
    once, twice = (_average(subject, h, length) for length in (1.0, 2.0))
    truth = float(subject.truth)
    sizes = UNIT * max(abs(truth), abs(once[0])) / (1 - once[1])
    return once[0] - truth, 8 * abs(once[0] - twice[0]) + 64 * sizes


def _average(subject: Subject, h: float, length: float) -> tuple[float, float]:
    """E phi under the invariant law, and the spectral radius of M."""
    step = _affine_step(subject, h, length)
    if not step.radius < 1:
        raise _NotReadError(f"the chain does not contract at h={h:.3g}: spectral radius {step.radius:.6g}")
    n, dim = len(step.centre), subject.target.dim
    mean = step.centre + np.linalg.solve(np.eye(n) - step.matrix, step.still)
    covariance = solve_discrete_lyapunov(step.matrix, step.noise @ step.noise.T)
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    nodes, weights = normal_cubature(n, subject.observable.degree | 1)
    at = mean + nodes @ root.T
    return float(weights @ subject.observable(at[:, :dim], at[:, dim:] if n > dim else None)), step.radius


@dataclass(frozen=True)
class _AffineStep:
    """X - centre -> matrix (X - centre) + noise z + still. Shapes (n, n), (n, draws), (n,)."""

    centre: np.ndarray
    matrix: np.ndarray
    noise: np.ndarray
    still: np.ndarray

    @property
    def radius(self) -> float:
        return float(np.abs(np.linalg.eigvals(self.matrix)).max())


def _affine_step(subject: Subject, h: float, length: float) -> _AffineStep:
    """One step, from evaluations at unit vectors times `length`, held against itself at other points."""
    _refuse(subject)
    run = _Map(subject, h)
    n, m = len(run.centre), run.draws
    still = run(np.zeros(n), np.zeros(m))
    matrix = np.stack([run(length * e, np.zeros(m)) - still for e in np.eye(n)], axis=1) / length
    noise = np.zeros((n, 0))
    if m:
        noise = np.stack([run(np.zeros(n), length * e) - still for e in np.eye(m)], axis=1) / length
    random = np.random.default_rng(0)
    # Some draws are rare: what a step makes of them, or that it draws again, is seen all the same.
    scales = (1.0, 1.0, 1.0, *RARE)
    for scale in scales:
        x, z = random.standard_normal(n), scale * random.choice([-1.0, 1.0], m)
        z = random.standard_normal(m) if scale == 1.0 else z
        due = still + matrix @ x + noise @ z
        if not np.abs(run(x, z) - due).max() <= AFFINE * np.abs(due).max():
            raise _NotReadError("one step is not affine in the state and the draws on this target")
    return _AffineStep(run.centre, matrix, noise, still)


def _refuse(subject: Subject) -> None:
    gradient = subject.configuration.gradient
    if not subject.target.quadratic:
        raise _NotReadError(
            f"the potential of target.name={subject.configuration.target.name!r} is not quadratic"
        )
    if gradient.kind != "full" or gradient.clip is not None:
        raise _NotReadError(f"gradient.kind={gradient.kind!r}: it is read under full gradients alone")
    others = [name for name in subject.scheme.dynamics.state if name not in ("theta", "p")]
    if others:
        raise _NotReadError(f"the posterior's law of `{others[0]}` is not known")


class _Map:
    """(x, z) -> X_1 - centre from centre + x, all coordinates in one vector."""

    def __init__(self, subject: Subject, h: float) -> None:
        self._subject, self._h, self._box = subject, h, black_box(subject)
        dim = subject.target.dim
        parts = [
            subject.target.mean_float64() if name == "theta" else np.zeros(dim if shape == VECTOR else 1)
            for name, shape in subject.scheme.shapes.items()
        ]
        self.centre = np.concatenate(parts)
        with default_dtype(torch.float64):
            self.draws = self._box.census(self._state(self.centre), h)

    def __call__(self, x: np.ndarray, z: np.ndarray, witness: DtypeAudit | None = None) -> np.ndarray:
        chains = self._subject.scheme.chains  # type: ignore[attr-defined]
        draws = torch.tensor(z[None] if chains else z, dtype=torch.float64)
        with default_dtype(torch.float64):
            moved, _ = self._box.run(self._state(self.centre + x), draws, self._h, witness=witness)
        flat = torch.cat([value.to(torch.float64).reshape(-1) for value in moved])
        return np.asarray(flat.numpy() - self.centre)

    def _state(self, x: np.ndarray) -> tuple[torch.Tensor, ...]:
        dim = self._subject.target.dim
        chains = self._subject.scheme.chains  # type: ignore[attr-defined]
        parts = torch.tensor(x, dtype=torch.float64).split(dim)
        return tuple(part[None].clone() if chains else part.clone() for part in parts)


__all__ = ["black_box_bias"]
