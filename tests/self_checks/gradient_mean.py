"""Check: does the running gradient estimator, over all its minibatches, have the mean and moments of its definition?"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

from sgverify.checks.rates.sampled.method import share_of
from sgverify.errors import DefinitionError, Unreached
from sgverify.exact.minibatch.law import (
    MinibatchNoise,
    block_covariances,
    with_replacement,
    without_replacement,
)
from sgverify.exact.numbers.matrix_series import multi_indices
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.gradients import FULL
from sgverify.rates.verdict import Judgement
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject
from tests.self_checks.enumeration import estimates, minibatches_of
from tests.self_checks.finding import Finding, finding, unanswered
from tests.self_checks.gradient_cases import (
    EstimatorProblem,
    History,
    at_step,
    elsewhere,
    ensemble_of,
    own_code,
    parts_at,
    plain_ensemble,
    problems,
    states,
    visited,
)
from tests.self_checks.gradient_parts import GradientParts
from tests.self_checks.index_stream import additive_defect, index_stream
from tests.self_checks.minibatches import draw_of, period_of

STAGE = "gradient-mean"

STEPS_OF_TABLES = 3
"""The number of steps for which a table of gradients is compared on random minibatches."""

COORDINATES = 3
"""Coordinates whose second and third moments are compared."""

ROUNDINGS = 4.0
"""The tolerated error of a gradient, in roundings of each operation, the state and the data; a sum of N data has N."""

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23}


def check_gradient_mean(subject: Subject) -> Finding:
    """Mean, covariance and third moments of the running estimator over all minibatches; then how it draws their indices.

    Cannot see: whether the potential is the posterior that was meant, moments beyond the third, and states other than
    the few that are tried.
    """
    if not subject.scheme.gradients:
        reason = "a step asks for no gradient"
        return unanswered(reason, "not-applicable")
    certificate: dict[str, Any] = {
        "tolerance": "rounding: every operation and the conditioning of the potential, times the precision of the dtype"
    }
    method = "exact"
    try:
        defect = _deterministic_defect(subject, certificate)
        if defect is None and subject.configuration.gradient.estimator.draws_data:
            seed = run_seed(subject, STAGE)
            defect, sampled = index_stream(subject, seed, share_of(subject).point_null)
            certificate["indices"] = sampled
            method = "exact" if defect is None or sampled["certain"] else "monte-carlo"
    except DefinitionError as error:
        reason = f"the derivatives of the potential are not read; {error}"
        return unanswered(reason)
    except Unreached as error:
        return unanswered(str(error))
    if defect is not None:
        judgement = Judgement("violates", False, defect)
    else:
        judgement = Judgement("conforms", False, _conforms(subject, certificate))
    return finding(method=method, judgement=judgement, certificate=certificate)


def _conforms(subject: Subject, certificate: dict[str, Any]) -> str:
    estimator = subject.configuration.gradient.estimator
    number = len(states(subject))
    full = f"autograd's gradient is exact at {number} states; up to rounding"
    if own_code(subject.target):
        full = f"the running gradient is that of autograd at {number} states; up to rounding"
    if not estimator.noisy:
        return full
    if not estimator.draws_data:
        return f"the noise has mean 0 and its covariance; it is linear in its normal draws, and fresh at every evaluation; {full}"
    enumerated = ", and ".join(certificate["enumerated"])
    return (
        f"minibatches have the right mean and moments; over {enumerated}, mean, covariance and third moments of the estimates are "
        f"those of its definition; its indices are spread evenly over all data; {full}"
    )


def _deterministic_defect(subject: Subject, certificate: dict[str, Any]) -> str | None:
    gradient = subject.configuration.gradient
    certificate["states"] = [point.tolist() for point in states(subject)]
    for wrong in _full_defects(subject, certificate):
        return wrong
    if not gradient.estimator.noisy:
        return None
    if not gradient.estimator.draws_data:
        return additive_defect(subject, ROUNDINGS * EPSILON[subject.configuration.dtype], certificate)
    certificate["enumerated"] = []
    for problem in problems(subject):
        for hoist in _hoists(subject):
            ensemble = ensemble_of(subject, problem, hoist=hoist)
            for theta in states(subject):
                found = _enumerated_defect(subject, problem, ensemble, theta, certificate)
                if found:
                    return f"{found} (gradients {'hoisted' if hoist else 'by autograd over the data'})"
        count = len(ensemble.chains)
        text = f"{count} equally likely draws of {problem}"
        if text not in certificate["enumerated"]:
            certificate["enumerated"].append(text)
    return _configured_defect(subject, certificate)


def _hoists(subject: Subject) -> tuple[bool, ...]:
    """The values of `hoist` to test: only affine gradients can be combined into one matrix product."""
    return (
        (True, False) if subject.target.quadratic and subject.configuration.gradient.clip is None else (True,)
    )


def _full_defects(subject: Subject, certificate: dict[str, Any]) -> Iterator[str]:
    """Sentences about states where autograd and forward differentiation in long double give different full gradients."""
    target = visited(subject)
    gradient = subject.configuration.gradient.model_copy(update={"kind": FULL.name})
    for hoist in _hoists(subject):
        ensemble = plain_ensemble(subject, target, gradient, 1, hoist=hoist)
        for theta in states(subject):
            parts = parts_at(target, theta, gradient)
            (value,) = estimates(ensemble, 1, at_step(subject, theta, gradient))
            off = np.abs(value[0] - parts.full)
            if not np.all(off <= _tolerance(subject, [parts], len(parts.data), 1)):
                certificate["statistic"] = "full"
                certificate["means"] = [
                    _mean_at(
                        estimates(ensemble, 1, at_step(subject, x, gradient))[0],
                        parts_at(target, x, gradient),
                    )
                    for x in states(subject)
                ]
            if not np.all(off <= _tolerance(subject, [parts], len(parts.data), 1)):
                yield (
                    f"the full gradient is {_short(value[0])}, required {_short(parts.full)}; what runs is {_shown(value[0])} at "
                    f"theta={_shown(theta)}, and grad U (scaled and clipped as configured) is {_shown(parts.full)}"
                )


def _mean_at(values: np.ndarray, parts: GradientParts) -> dict[str, list[Any]]:
    """The mean of estimates beside the parts of the gradient that it should be: what a cause is read from."""
    mean = values.astype(EXTENDED).mean(0)
    return {
        "mean": mean.astype(float).tolist(),
        "prior": parts.prior.astype(float).tolist(),
        "data": parts.data.astype(float).tolist(),
    }


def _tolerance(subject: Subject, parts: list[GradientParts], size: int, batch: int) -> np.ndarray:
    """A bound, shape (d,), of the rounding of an estimate. One datum has the weight N/n and may be drawn n times."""
    unit = EPSILON[subject.configuration.dtype]
    reach = sum(item.size + item.conditioning for item in parts)
    return np.asarray(ROUNDINGS * unit * (16 + size + batch) * max(1, size) * reach, dtype=np.float64)


def _enumerated_defect(
    subject: Subject, problem: EstimatorProblem, ensemble: Any, theta: np.ndarray, certificate: dict[str, Any]
) -> str | None:
    where = at_step(subject, theta, problem.gradient)
    values = estimates(ensemble, problem.numbers, where)
    per_step = max(1, subject.scheme.minibatches)
    size, batch, estimator = problem.size, int(problem.gradient.batch), problem.gradient.estimator
    deviations = []
    for number in range(problem.numbers):
        if number not in problem.decided:
            # Later steps may depend on the gradients that a table keeps of a minibatch.
            later = number // per_step > problem.decided[0] // per_step
            may = later and estimator.remembers_minibatches
            if not may and np.ptp(values[number], axis=0).any():
                certificate["statistic"] = "dependence"
                return (
                    f"minibatch {number + 1} depends on draws of minibatch {problem.decided[0] + 1}; the random numbers of one "
                    "move the estimate of the other"
                )
            continue
        step = number // per_step
        # The words before those of this minibatch are 0, so that the earlier minibatches hold datum 0.
        seen = [[0] * per_step * batch] * step
        run = History(problem.target, problem.gradient, where, step, seen)
        here, (there, kept) = run.parts(where(step)), elsewhere(estimator, run)
        vectors = here.data if kept is None else here.data - kept
        allowed = _tolerance(subject, [here, *there], size, batch)
        full = here.full
        found = values[number]
        # Summed in long double, so that the number of draws adds no rounding.
        mean = found.astype(EXTENDED).mean(0)
        what = f"over all draws of {problem}, minibatch {number + 1} of a run"
        if not np.all(np.abs(mean - full) <= allowed):
            certificate["statistic"] = "mean"
            certificate["means"] = [
                _mean_at(estimates(ensemble, 1, at)[0], parts_at(problem.target, at(0), problem.gradient))
                for at in (at_step(subject, x, problem.gradient) for x in states(subject))
                if number == 0
            ]
            return (
                f"minibatches have the mean {_short(mean)}, required {_short(full)}; {what}, the mean of the estimates is "
                f"{_shown(mean)} at theta={_shown(where(step))}, and the full gradient is {_shown(full)}"
            )
        exact = [tuple(Fraction(*x.as_integer_ratio()) * size for x in row[:COORDINATES]) for row in vectors]
        noise = (with_replacement if estimator.replaced else without_replacement)(exact, batch, order=3)
        deviation = (found - full)[:, :COORDINATES]
        deviations.append((deviation, allowed[:COORDINATES], exact))
        wrong = _moment_defect(deviation, allowed[:COORDINATES], noise)
        if wrong:
            certificate["statistic"] = "moments"
            return f"{wrong}; {what}"
    joint = None if len(deviations) < 2 else _joint_defect(problem, per_step, deviations)
    if joint is not None:
        certificate["statistic"] = "two minibatches"
    return joint


def _moment_defect(deviation: np.ndarray, allowed: np.ndarray, noise: MinibatchNoise) -> str | None:
    """A sentence about a wrong second or third central moment; these moments are the cumulants of the same orders."""
    reach = np.abs(deviation).max(0) + allowed
    for index in multi_indices(deviation.shape[1], 2, 3):
        places = [i for i, power in enumerate(index) for _ in range(power)]
        found = float(np.prod(deviation[:, places], axis=1).mean())
        expected = _float(noise.cumulants[index])
        bound = 2 * sum(
            allowed[i] * np.prod([reach[j] for b, j in enumerate(places) if b != a])
            for a, i in enumerate(places)
        )
        if not abs(found - expected) <= bound:
            name = "covariance" if len(places) == 2 else "third moment"
            return (
                f"{name} of minibatches {found:.4g}, required {expected:.4g}; that of the estimates, coordinates {places}, is "
                f"{found:.10g}, and that of the estimator is {expected:.10g}"
            )
    return None


def _joint_defect(problem: EstimatorProblem, per_step: int, deviations: list[Any]) -> str | None:
    """A sentence about a wrong covariance of two estimates.

    The covariance is V for one minibatch, -V n/(N - n) for two blocks of one permutation, and 0 otherwise.
    """
    gradient, asked = problem.gradient, (problem.size, problem.gradient, per_step)
    estimator, period = gradient.estimator, period_of(gradient.estimator, *asked)
    for later in range(len(deviations)):
        for earlier in range(later):
            (one, near, exact), (two, close, _) = deviations[earlier], deviations[later]
            due = None
            if draw_of(estimator, earlier, *asked) == draw_of(estimator, later, *asked):
                due = (with_replacement if estimator.replaced else without_replacement)(
                    exact, int(gradient.batch), order=2
                ).covariance
            elif estimator.exchangeable and earlier // period == later // period:
                _, due = block_covariances(exact, int(gradient.batch))
            expected = np.zeros((one.shape[1],) * 2)
            if due is not None:
                expected = np.vectorize(_float)(np.array(due.tolist(), dtype=object))
            found = one.T @ two / len(one)
            bound = 2 * (
                np.outer(near, np.abs(two).max(0) + close) + np.outer(np.abs(one).max(0) + near, close)
            )
            if not np.all(np.abs(found - expected) <= bound):
                i, j = np.unravel_index(np.argmax(np.abs(found - expected) - bound), found.shape)
                return (
                    f"two minibatches: covariance {found[i, j]:.4g}, required {expected[i, j]:.4g}; over all draws of {problem}, "
                    f"minibatches {earlier + 1} and {later + 1} of a run have the covariance {found[i, j]:.10g}, and "
                    f"{gradient.kind} asks for {expected[i, j]:.10g}"
                )
    return None


def _configured_defect(subject: Subject, certificate: dict[str, Any]) -> str | None:
    """A sentence about a random minibatch of the configured size whose estimate is not that of its drawn indices."""
    target = visited(subject)
    gradient, size = subject.configuration.gradient, target.size
    assert size is not None
    batch = min(gradient.batch, size)
    if gradient.estimator.exchangeable and size % batch:
        return None
    gradient = gradient.model_copy(update={"batch": batch})
    per_step = max(1, subject.scheme.minibatches)
    for hoist in _hoists(subject):
        ensemble = plain_ensemble(
            subject, target, gradient, 2, hoist=hoist, seed=run_seed(subject, "estimates")
        )
        where = at_step(subject, states(subject)[0], gradient)
        numbers = (STEPS_OF_TABLES if gradient.estimator.remembers_minibatches else 1) * per_step + 1
        values = estimates(ensemble, numbers, where)
        drawn = minibatches_of(ensemble, numbers + per_step)
        for number in range(numbers):
            step = number // per_step
            for chain in range(drawn.shape[2]):
                seen = [
                    drawn[k * per_step : (k + 1) * per_step, :, chain].ravel().tolist() for k in range(step)
                ]
                run = History(target, gradient, where, step, seen)
                here, (there, kept) = run.parts(where(step)), elsewhere(gradient.estimator, run)
                base, vectors = here.prior, here.data
                if kept is not None:
                    base, vectors = base + kept.sum(0), vectors - kept
                allowed = _tolerance(subject, [here, *there], size, batch)
                expected = base + vectors[drawn[number, :, chain]].sum(0) * size / batch
                value = values[number][chain]
                if not np.all(np.abs(value - expected) <= allowed):
                    certificate["statistic"] = "estimate"
                    return (
                        f"an estimate is {_short(value)}, its definition gives {_short(expected)}; {_shown(value)} and "
                        f"{_shown(expected)} on the data {drawn[number, :, chain][:8].tolist()}{' ...' if batch > 8 else ''} of "
                        f"{size}"
                    )
    return None


def _float(value: fmpq) -> float:
    return float(int(value.p) / int(value.q))


def _short(values: np.ndarray) -> str:
    """The first of the values, to four digits."""
    return f"{float(values[0]):.4g}{', ...' if len(values) > 1 else ''}"


def _shown(values: np.ndarray) -> str:
    text = [f"{float(value):.8g}" for value in values[:COORDINATES]]
    more = ", ..." if len(values) > COORDINATES else ""
    return text[0] if len(values) == 1 else f"({', '.join(text)}{more})"
