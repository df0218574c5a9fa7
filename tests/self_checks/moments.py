"""Check: do momenta and thermostats have their exact moments, from the start on?

Three point nulls are tested, each if it applies:

1. The momentum starts from N(0, T I). Two temperatures are tested, so that at least one is not 1.
2. After L steps the momentum has the mean and covariance of the exact affine chain at this h and L, without burn-in.
3. A scalar of the dynamics, such as the friction xi of a thermostat, changes along every path by h times its drift: the
   path's average of p.p/dim - T is (xi_L - xi_0)/(h L).

The limit E p_i^2 -> T as h -> 0 is not tested here: claims about rates cover it with the test function p[0]**2. There is
no exact joint law yet for a move other than a step, such as a swap of momenta between chains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import flint
import numpy as np
import torch

from sgverify.checks.rates.sampled.method import share_of
from sgverify.errors import Unreached
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.chain.lyapunov import floats
from sgverify.rates.decision import Decision
from sgverify.rates.verdict import Judgement
from sgverify.samplers import GradientChoice, Settings, fixed
from sgverify.samplers.reading.binding import TENSORS
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes.definition.binding import FullGradientIngredient, bind
from sgverify.schemes.definition.mathematics import NORMAL
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject
from tests.sampled_states import sample_states
from tests.self_checks.finding import Finding, finding, unanswered
from tests.self_checks.nulls import Nulls, bounded_nulls, correlation_null, variance_tail
from tests.self_checks.point_null import decide_point_null
from tests.self_checks.run_transcript import transcribe
from tests.self_checks.running_average_law import is_normal
from tests.self_checks.transcripts import Runs, runs_of
from tests.self_checks.whiteness import law_distance, mean_size, variance_ratio

STAGE = "moments"

WARMER = 3.0
"""The second temperature of the start, over the configured one: one of the two is a factor of sqrt(3) or more from 1."""

STARTS = 512
"""The fewest momentum values at the start: with as many, a ratio of variances of 1.4 is beyond chance."""

LARGEST = 24
"""The largest number of coordinates of a state whose exact law is computed."""

CHAINS = 320
"""The number of chains in the first look at the law after L steps."""

LENGTH = 40
"""L, the number of steps after which the momentum's law is tested."""

MARGINS = {"mean": 0.5, "variance": math.log(2), "correlation": 0.5}
"""The deviations that the test must resolve: a mean off by half a standard deviation, a variance off by a factor of 2,
and a correlation of 1/2. Momenta drawn at another temperature, or never refreshed, deviate by more."""

WIDEST = 4
"""The number of coordinates of the momentum that are tested."""

RESOLVED = 1e4
"""The smallest standard deviation, in roundings of the largest state, that rounding does not distort."""

POINTS = 8
"""The number of random steps on which an identity of the definition is verified."""

SIZE = 0.125
"""The step size of these random steps: a power of two, so that products with it are exact."""

ROUNDING_RESOLVED = 2.0**-8
"""The largest ratio of rounding to the difference of the drifts before and after; beyond it no identity is verified."""


@dataclass(frozen=True)
class Identity:
    """X' - X = h ((1 - share) f(X) + share f(X')) of a scalar state variable, f its drift."""

    name: str
    place: int
    share: float


def check_moments(subject: Subject) -> Finding:
    """The momentum starts from N(0, T I), has the exact law after L steps, and a thermostat's friction obeys its drift.

    The module's docstring states the three parts. The certificate names the parts that do not apply.

    Cannot see: deviations smaller than its margins, coordinates of the momentum beyond the fourth and, where a step is
    not affine, the momentum's law after the start.
    """
    scalars = [name for name, kind in subject.scheme.dynamics.shapes.items() if kind == "scalar"]
    if "p" not in subject.scheme.dynamics.state and not scalars:
        return unanswered("the state has no momentum and no thermostat", "not-applicable")
    runs = runs_of(subject)
    if runs.diverged:
        reason = f"chains diverge at every step size tried; there are no moments ({runs.diverged})"
        return unanswered(reason, method="monte-carlo")
    certificate: dict[str, Any] = {"level": share_of(subject).point_null}
    settle = partial(finding, method="monte-carlo", certificate=certificate)
    shown: list[str] = []
    wrong = wrong_path(subject, runs, certificate, shown)
    if not wrong and "p" in subject.scheme.dynamics.state:
        wrong = _wrong_start(subject, runs, certificate, shown)
    if wrong:
        return settle(Judgement("violates", False, wrong))
    decision = _law_after_steps(subject, certificate) if "p" in subject.scheme.dynamics.state else None
    if decision is not None:
        certificate["law_after_steps"] = decision.certificate
        if decision.verdict != "conforms":
            return settle(Judgement(decision.verdict, False, decision.reason))
        shown.append(f"mean and covariance of p after {LENGTH} steps are the exact ones")
    return settle(Judgement("conforms", False, "; ".join(shown)))


def wrong_path(subject: Subject, runs: Runs, certificate: dict[str, Any], shown: list[str]) -> str:
    """A sentence about a scalar whose change along a path is not h times its drift; "" if there is none."""
    c = subject.configuration
    for identity in _identities(subject):
        unit = float(np.finfo(subject.configuration.dtype).eps)
        worst = 0.0
        for batch in runs.batches:
            states = tuple(batch.states[name] for name in subject.scheme.dynamics.state)
            off, bound = _residual(
                subject, identity, states, batch.steps[:, :, None], unit, c.friction, c.temperature
            )
            worst = max(worst, float((np.abs(off) / bound).max()))
            beyond = np.argwhere(np.abs(off) > bound)
            if len(beyond):
                step, row, chain = (int(i) for i in beyond[0])
                path = states[identity.place][:, row, chain, 0]
                h = batch.steps[:, row]
                path_states = tuple(state[:, row, chain] for state in states)
                drift = _drift(subject, identity.place, path_states, c.friction, c.temperature)
                mean = float(
                    (h * ((1 - identity.share) * drift[:-1] + identity.share * drift[1:])).sum() / h.sum()
                )
                return (
                    f"{identity.name} does not move by its drift; so from step {step + 1} of chain {batch.chains[chain]} on, along "
                    f"whose {batch.length} steps the drift averages {mean:.6g}, and ({identity.name}_L - {identity.name}_0)/(hL) "
                    f"is {float((path[-1] - path[0]) / h.sum()):.6g}"
                )
        certificate[f"drift_of_{identity.name}"] = {
            "share_of_the_new_state": identity.share,
            "error_over_bound": worst,
        }
        shown.append(
            f"{identity.name} moves by h times its drift; the drift averages to ({identity.name}_L - {identity.name}_0)/(hL)"
        )
    return ""


def _wrong_start(subject: Subject, runs: Runs, certificate: dict[str, Any], shown: list[str]) -> str:
    """A sentence about momenta at l = 0 that are not N(0, T I); "" if they are."""
    row = fixed([runs.batches[0].rows[0].schedule.at(1)], [1])
    # The start takes half of the level, the law after L steps the other half.
    share = share_of(subject).point_null / 2 / 2 / 3
    # The start uses no gradient; full gradients are the cheapest to set up.
    quick = replace(runs.settings, chains=-(-STARTS // subject.target.dim), gradient=GradientChoice())
    for factor in (1.0, WARMER):
        temperature = factor * runs.settings.temperature
        seed = run_seed(subject, STAGE, "start", factor)
        settings = replace(quick, temperature=temperature, seed=seed)
        momenta = transcribe(subject.scheme, subject.target, row, settings).states["p"][0, 0]
        values = momenta / math.sqrt(temperature)
        ratio, low, high = variance_ratio(values, share)
        certificate.setdefault("start", {})[f"T={temperature:g}"] = {"E p^2/T": ratio, "bounds": [low, high]}
        where = f"the momentum that chains start with at T={temperature:g}"
        if not low <= ratio <= high:
            return (
                f"p starts with E p_i^2 = {ratio * temperature:.3g}, required T = {temperature:g}; {where}: the ratio "
                f"{ratio:.3g} lies outside {low:.3g} to {high:.3g}"
            )
        if mean_size(values, share).beyond:
            return f"p starts with the mean {momenta.mean():.3g}, required 0; {where}"
        if law_distance(values, NORMAL, share).beyond:
            return f"the start of p is not normal; {where}"
    settings = replace(quick, chains=4, start_momentum="zero")
    still = transcribe(subject.scheme, subject.target, row, settings).states["p"][0]
    if np.any(still != 0):
        return f"chains that start with the momentum zero start with {float(still[still != 0][0])!r}"
    shown.append("p starts from N(0, T I) at 2 temperatures; or from zero, where the configuration says so")
    return ""


def _law_after_steps(subject: Subject, certificate: dict[str, Any]) -> Decision | None:
    """The decision on the momentum after L steps, whitened by its exact law; None if no exact law is known."""
    law = _exact_momentum(subject)
    if isinstance(law, str):
        certificate["law_after_steps"] = f"not looked at: {law}"
        return None
    mean, root = law
    kept, normal = len(mean), is_normal(subject)

    def draw(chains: int) -> Nulls:
        settings = Settings.of(
            subject.configuration, chains=chains, seed=run_seed(subject, STAGE, chains), burn_in=0, thinning=1
        )
        found = sample_states(
            subject.scheme, subject.target, fixed([subject.step], [LENGTH]), at=[LENGTH], settings=settings
        )
        white = np.linalg.solve(root, (found.values["p"][0, 0, :, :kept] - mean).T)
        known = 0.0 if normal else None
        parts = [
            bounded_nulls(
                (f"mean of p[{i}]", f"variance of p[{i}]"), white[i], 0.0, 1.0, kurtosis=known, normal=normal
            )
            for i in range(kept)
        ]
        parts += [
            _correlation(f"correlation of p[{i}] and p[{j}]", white[i], white[j], normal)
            for i in range(kept)
            for j in range(i)
        ]
        return Nulls.joined(*parts)

    labels = [f"{word} of p[{i}]" for word in ("mean", "variance") for i in range(kept)]
    labels += [f"correlation of p[{i}] and p[{j}]" for i in range(kept) for j in range(i)]
    return decide_point_null(
        draw,
        first=CHAINS,
        level=share_of(subject).point_null / 2,
        margins={label: MARGINS[label.split()[0]] for label in labels},
        what=f"momenta after {LENGTH} steps, made white by their exact law",
    )


def _correlation(label: str, one: np.ndarray, other: np.ndarray, normal: bool) -> Nulls:
    """The null "correlation 0" of two whitened values; no null for constant values, since their variance is refuted.

    Without correlation, (one +- other) / sqrt 2 have variance exactly 1, which bounds the error rate of values that are
    not normal.
    """
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return Nulls.of(label, 0.0, math.inf, 1.0)
    null = correlation_null(label, one, other)
    if normal:
        return null
    tails = [
        variance_tail(squares, squares, None) for squares in ((one + other) ** 2 / 2, (one - other) ** 2 / 2)
    ]
    return null.bounded(min(1.0, 2 * min(tails)))


def _exact_momentum(subject: Subject) -> tuple[np.ndarray, np.ndarray] | str:
    """The exact mean of p_L and a root of its covariance, up to rounding in float64; or the reason why they are unknown."""
    if not subject.affine:
        return str(subject.why_not_affine)
    if subject.model.size > LARGEST:
        return f"the state has {subject.model.size} coordinates, more than {LARGEST}"
    if subject.noise.exchangeable or subject.noise.refresh is not None or not subject.noise.known:
        return f"the minibatches of {subject.noise.kind} are not independent from step to step"
    if subject.scheme.starts.gradients and subject.noise.covariance is not None:
        return "the memory starts from gradients with noise"
    try:
        with flint.ctx.workprec(128):
            chain = subject.model.chain(fixed_step(subject.step)())
            map_, shift, added = floats(chain.map), floats(chain.shift)[:, 0], floats(chain.covariance)
            mean = floats(chain.start_mean)[:, 0]
            spread = np.zeros_like(map_) if chain.start_covariance is None else floats(chain.start_covariance)
    except Unreached as error:
        return str(error)
    largest = float(np.abs(mean).max())
    for _ in range(LENGTH):
        mean, spread = map_ @ mean + shift, map_ @ spread @ map_.T + added
        largest = max(largest, float(np.abs(mean).max() + np.sqrt(np.diag(spread).max())))
    at = subject.target.dim * subject.scheme.state.index("p")
    kept = slice(at, at + min(WIDEST, subject.target.dim))
    values = np.linalg.eigvalsh(spread[kept, kept])
    unit = float(np.finfo(subject.configuration.dtype).eps)
    if not np.all(np.isfinite(values)) or values[0] <= (RESOLVED * unit * LENGTH * largest) ** 2:
        return "the momentum spreads no farther than rounding moves it"
    return mean[kept], np.linalg.cholesky(spread[kept, kept])


def _identities(subject: Subject) -> Iterator[Identity]:
    """The scalars whose change in one step of the definition is h times a weighted mean of the drifts before and after.

    The weight `share` of the later drift is fitted on random states, draws and step sizes; the identity must then hold on
    all of them up to rounding.
    """
    scheme = subject.scheme
    generator = np.random.default_rng(run_seed(subject, "scalar-drift"))
    shape = (1, POINTS)
    for place, (name, kind) in enumerate(scheme.dynamics.shapes.items()):
        if kind != "scalar" or scheme.memory:
            continue
        widths = [1 if other == "scalar" else subject.target.dim for other in scheme.dynamics.shapes.values()]
        before = [generator.standard_normal((*shape, width)) for width in widths]
        # An identity holds for all T and D, or for isolated values only. With T and D of order 1, rounding hides no term.
        friction, temperature = (float(number) for number in generator.uniform(0.5, 2.0, 2))
        dim = subject.target.dim
        values = bind(scheme, TENSORS, {"D": friction, "T": temperature}, dim=dim).step(
            [torch.from_numpy(state) for state in before],
            h=SIZE,
            grad=_ARBITRARY,
            draw=lambda law: torch.from_numpy(generator.standard_normal((*shape, dim))),  # noqa: B023
        )
        states = tuple(
            np.stack([old, value.expand(old.shape).numpy()])
            for old, value in zip(before, values, strict=True)
        )
        first, second = _drift(subject, place, states, friction, temperature)
        change = (states[place][1] - states[place][0])[..., 0] / SIZE - first
        turn = second - first
        if not np.all(np.isfinite(turn)) or not np.any(turn) or not np.all(np.isfinite(change)):
            continue
        share = float((change * turn).sum() / (turn**2).sum())
        identity = Identity(name, place, round(64 * share) / 64)
        unit = float(np.finfo(np.float64).eps)
        off, bound = _residual(
            subject, identity, states, np.full((1, 1, 1), SIZE), unit, friction, temperature
        )
        if bound.max() <= ROUNDING_RESOLVED * SIZE * np.abs(turn).max() and np.all(np.abs(off) <= bound):
            yield identity


_ARBITRARY = FullGradientIngredient(lambda theta: theta * 0.75)
"""A scalar's drift uses no gradient, and the identity must hold whatever moves the other variables."""


def _drift(
    subject: Subject, place: int, states: tuple[np.ndarray, ...], friction: float, temperature: float
) -> np.ndarray:
    """The drift, shape (...), of the scalar at `place` at states of shape (..., width)."""
    drift, _ = subject.scheme.dynamics.coefficients(
        tuple(Chains(torch.from_numpy(np.ascontiguousarray(state))) for state in states),
        grad=_ARBITRARY,
        dim=subject.target.dim,
        D=friction,
        T=temperature,
    )
    return np.asarray(drift[place].tensor.numpy()[..., 0])


def _residual(
    subject: Subject,
    identity: Identity,
    states: tuple[np.ndarray, ...],
    h: np.ndarray,
    unit: float,
    friction: float,
    temperature: float,
) -> tuple[np.ndarray, np.ndarray]:
    """X' - X - h (weighted mean of the drifts), and a bound of its rounding; states (L + 1, ...) give shape (L, ...).

    A drift sums dim products and a few terms no larger than T or the drift itself; the scalar is rounded once or twice a
    step. 2 dim + 16 roundings of the sum of all magnitudes bound both.
    """
    drift = _drift(subject, identity.place, states, friction, temperature)
    path = states[identity.place][..., 0]
    off = path[1:] - path[:-1] - h * ((1 - identity.share) * drift[:-1] + identity.share * drift[1:])
    size = np.abs(path) + np.max(h) * (np.abs(drift) + 2 * temperature)
    return off, (2 * subject.target.dim + 16) * unit * (size[1:] + size[:-1])
