"""The noise of `additive` gradients, read as a linear function of the normal numbers that it is made of."""

from __future__ import annotations

import numpy as np

from sgverify.checks.gradient_cases import parts_at, plain_ensemble, states, visited
from sgverify.checks.sampled_rung import run_seed
from sgverify.checks.subject import Subject
from sgverify.samplers.enumeration import additive_responses

STEPS = 2
_LARGEST = 60
"""Normal numbers whose shares are solved for, at most."""


def additive_defect(subject: Subject, unit: float) -> str | None:
    """What is wrong with the noise; None where it is A z with A^T A the configured covariance, fresh at each evaluation.

    With more chains than normal numbers, the shares of each number in each estimate are solved for, and what is left over
    would be no linear function of them. So the mean is exactly the full gradient, and the covariance exactly A^T A.
    """
    target = visited(subject)
    gradient = subject.configuration.gradient
    evaluations, dim = STEPS * max(1, subject.scheme.gradients), target.dim
    count = evaluations * dim
    if count > _LARGEST:
        return None
    ensemble = plain_ensemble(
        subject, target, gradient, 8 * count + 64, hoist=True, seed=run_seed(subject, "additive")
    )
    theta = states(subject)[0]
    parts = parts_at(target, theta, gradient)
    values, normals = additive_responses(ensemble, theta, STEPS)
    full = parts.full.astype(np.float64)
    columns = np.column_stack([np.ones(normals.shape[1]), normals.T])
    stacked = np.concatenate(values, axis=1)
    solved, *_ = np.linalg.lstsq(columns, stacked, rcond=None)
    covariance = np.array(
        [[float(int(x.p) / int(x.q)) for x in row] for row in subject.noise.covariance.tolist()]  # type: ignore[union-attr]
    )
    size = np.abs(stacked).max() + float((parts.size + parts.conditioning).max())
    # The columns are far from dependent: at least eight times as many chains as numbers.
    allowed = unit * (64 + len(parts.data)) * size * np.sqrt(len(columns))
    if np.abs(stacked - columns @ solved).max() > allowed:
        return "the noise of the gradients is no linear function of the normal numbers that are drawn for it"
    if np.abs(solved[0] - np.tile(full, evaluations)).max() > allowed:
        return f"the noise of the gradients has the mean {(solved[0] - np.tile(full, evaluations))[:3].tolist()}, expected 0"
    shares = solved[1:]
    expected = np.kron(np.eye(evaluations), covariance)
    found = shares.T @ shares
    off = np.abs(found - expected)
    if off.max() > 4 * allowed * (1 + np.abs(shares).max()) * count:
        i, j = np.unravel_index(np.argmax(off), off.shape)
        return (
            f"the noise of evaluation {i // dim + 1}, coordinate {i % dim}, and that of evaluation {j // dim + 1}, coordinate "
            f"{j % dim}, have the covariance {found[i, j]:.10g}, and the configuration asks for {expected[i, j]:.10g}"
        )
    return None
