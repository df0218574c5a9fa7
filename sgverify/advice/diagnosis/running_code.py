"""The cause of failures of the running code, from what its checks measured: the gradient, the noise, the averages, the swaps.

Each check of the running code compares one thing with what the definition or the configuration says, and its certificate holds
the numbers. A cause is read from these numbers: the mean of the gradient's estimates is solved for the weights of prior and data,
the statistic of the draws that is beyond its bound says whether their law or their independence is wrong. Where several checks
fail, the one that looks closest at a part comes first: a gradient that is wrong makes every average wrong too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import nnls

from sgverify.advice.diagnosis.model import Cause, CauseName
from sgverify.checks.subject.subject import Subject
from sgverify.evidence import Evidence

SINGLE = 1e-5
"""A relative difference below this, and far above what rounding explains, is that of numbers in float32."""

NEAR = 1e-8
"""The relative residual within which a fit of a gradient holds: estimates are known to rounding."""

MOST = 64
"""The largest denominator of a weight that is read as a fraction."""

Reader = Callable[[Subject, Evidence], Cause | None]


def cause_in_running_code(subject: Subject, evidence: Sequence[Evidence]) -> Cause | None:
    """The cause of what fails in the running code; None where no check of it fails, or its numbers name none."""
    failed = {item.check: item for item in reversed(evidence) if item.outcome == "fail"}
    if "independent-chains" in failed and (copied := _of_copies(subject, failed["independent-chains"])):
        return copied
    for check, reader in READERS.items():
        # A wrong gradient moves the momenta as a wrong noise does.
        if check in failed and not (check == "moments" and "gradient-mean" in failed):
            found = reader(subject, failed[check])
            if found is not None:
                return found
    wrong = failed.get("gradient-mean")
    return Cause("gradient-biased", _clause(wrong)) if wrong is not None else None


def _says(name: CauseName) -> Reader:
    """The cause `name` with the first clause of the check's reason, which has the numbers."""
    return lambda subject, item: Cause(name, _clause(item))


def _of_purity(subject: Subject, item: Evidence) -> Cause | None:
    """A run that ends elsewhere when it is paused or drawn in blocks: an estimator's table is lost, or the noise begins anew."""
    if subject.black_box or subject.configuration.gradient.estimator.memory:
        return Cause("state-kept", _clause(item))
    return None


def _of_gradient(subject: Subject, item: Evidence) -> Cause | None:
    """The cause of a wrong mean, moment or dependence of the gradient's estimates."""
    statistic = item.certificate.get("statistic")
    if statistic in ("dependence", "two minibatches"):
        return Cause("minibatch-law", _clause(item))
    if statistic == "moments":
        return Cause("gradient-noise", _clause(item))
    means = item.certificate.get("means") or []
    if statistic in ("mean", "full") and means:
        plain = statistic == "full" or subject.configuration.gradient.estimator.plain
        found = _of_means(subject, means, plain=plain, drawn=statistic == "mean" and plain)
        if found is not None:
            return found
    return None


def _of_means(subject: Subject, means: Sequence[dict[str, Any]], *, plain: bool, drawn: bool) -> Cause | None:
    """mean = x grad prior + y sum_i g_i at every state; or mean = grad prior + sum_i w_i g_i, of minibatches that are `drawn`.

    `plain`: nothing else, such as a control variate, is part of an estimate.
    """
    mean = np.concatenate([row["mean"] for row in means])
    prior = np.concatenate([row["prior"] for row in means])
    data = np.concatenate([np.reshape(row["data"], (-1, len(row["mean"]))).T for row in means])
    whole = data.sum(1)
    scale = max(float(np.abs(np.stack([mean, prior, whole])).max()), 1e-300)
    off = float(np.abs(mean - prior - whole).max()) / scale
    if off < SINGLE:
        return Cause("precision", f"the gradient is off by {off:.2g} of its size, as of numbers in float32")
    columns = np.column_stack([prior, whole]) if whole.any() else prior[:, None]
    if (parts := _solved(columns, mean, scale, simple=plain)) is not None:
        return _of_parts(subject, float(parts[0]), float(parts[-1]))
    if not drawn or not data.size:
        return None
    weights, residual = nnls(data, mean - prior)
    holds = residual <= NEAR * scale
    if holds and abs(weights.sum() / len(weights) - 1) <= NEAR:
        listed = ", ".join(f"{weight:.4g}" for weight in weights)
        return Cause(
            "minibatch-law",
            f"the data are not drawn evenly: the mean of the estimates is that of weights such as {listed}, where each datum "
            "counts once",
        )
    return None


def _solved(columns: np.ndarray, wanted: np.ndarray, scale: float, *, simple: bool) -> np.ndarray | None:
    """The one x with columns x = wanted; None where there is none, or several.

    Of as many equations as unknowns something is always a solution: that counts where `simple` fractions may be expected.
    """
    if len(wanted) < columns.shape[1] or np.linalg.matrix_rank(columns, tol=1e-6 * scale) < columns.shape[1]:
        return None
    found: np.ndarray = np.linalg.lstsq(columns, wanted, rcond=None)[0]
    exact = len(wanted) > columns.shape[1] or (simple and all(_fraction(float(x)) is not None for x in found))
    return found if exact and np.abs(columns @ found - wanted).max() <= NEAR * scale else None


def _of_parts(subject: Subject, prior: float, data: float) -> Cause | None:
    temperature = float(subject.configuration.temperature)
    once = [abs(x - 1) <= NEAR for x in (prior, data)]
    said = f"the gradient of the prior enters {_text(prior)} times, that of the likelihood {_text(data)} times, each due once"
    if abs(prior - data) <= NEAR:
        by = {1 / temperature: "1/T", temperature: "T"}.get(prior) if temperature != 1 else None
        if by is not None and abs(prior - 0.5) > NEAR:
            return Cause("temperature-misplaced", f"{said}: a factor of {by}")
        return Cause("drift-sign" if prior < 0 else "drift-scaled", said)
    if once[0]:
        return Cause("data-scaling", said)
    if once[1]:
        return Cause("prior-scaled", said)
    return Cause("gradient-biased", said)


def _of_draws(subject: Subject, item: Evidence) -> Cause | None:
    """Which statistic of the draws is beyond its bound: those of one draw, or those of two."""
    statistic = item.certificate.get("statistic")
    if statistic is None:
        return None
    if statistic == "path" or statistic.startswith(("lag", "the sizes of")):
        return Cause("noise-correlated", _clause(item))
    if statistic.startswith(("mean of", "law of", "variance", "values")):
        return Cause("noise-law", _clause(item))
    if statistic == "reused minibatches":
        return Cause("minibatch-law", _clause(item))
    return Cause("noise-shared" if statistic == "one draw" else "noise-reused", _clause(item))


def _of_copies(subject: Subject, item: Evidence) -> Cause | None:
    """Draws of one chain that are found in another, bit for bit: these are looked for before any statistic is computed."""
    return None if "largest" in item.certificate else Cause("chains-coupled", _clause(item))


def _of_momenta(subject: Subject, item: Evidence) -> Cause | None:
    """The momentum at the start, or after some steps."""
    start = item.certificate.get("start", {})
    outside = [at for at, row in start.items() if not row["bounds"][0] <= row["E p^2/T"] <= row["bounds"][1]]
    if outside:
        return Cause("start-wrong", _clause(item))
    components = item.certificate.get("law_after_steps", {}).get("components", {})
    wrong = [
        name
        for name, row in components.items()
        if row.get("p") is not None and row["p"] <= item.certificate["level"]
    ]
    if wrong and all(name.startswith("correlation") for name in wrong):
        return Cause("noise-shared", _clause(item))
    return Cause("noise-reused", _clause(item)) if wrong else None


def _of_step(subject: Subject, item: Evidence) -> Cause | None:
    """Which variable ends elsewhere, and by how much."""
    gaps = item.certificate.get("largest_gap", {})
    if not gaps:
        return None
    if max(gaps.values()) < SINGLE:
        return Cause("precision", _clause(item))
    if subject.scheme.dynamics.riemannian:
        return Cause("metric-wrong", _clause(item))
    scalars = {name for name, shape in subject.scheme.shapes.items() if shape == "scalar"}
    if set(gaps) <= scalars:
        return Cause("thermostat-wrong", _clause(item))
    return None


def _of_average(subject: Subject, item: Evidence) -> Cause | None:
    differs = item.certificate.get("differs")
    names: dict[str, CauseName] = {
        "steps": "schedule-wrong",
        "states": "noise-reused",
        "average": "average-wrong",
    }
    return Cause(names[differs], _clause(item)) if differs in names else None


def _of_replicas(subject: Subject, item: Evidence) -> Cause | None:
    """A run of replicas: the start, the steps between swaps, or the swaps and what they compare."""
    kinds = item.certificate.get("kinds", [])
    if kinds[:1] == ["start"]:
        return Cause("start-wrong", _clause(item))
    if kinds[:1] == ["temperature"]:
        return Cause(
            "temperature-misplaced", f"a replica steps at the temperature of another: {_clause(item)}"
        )
    if kinds[:1] == ["step size"]:
        return Cause("schedule-wrong", f"a replica takes the step size of another: {_clause(item)}")
    if kinds[:1] == ["motion"]:
        return Cause("substep-wrong", _clause(item))
    return Cause("swap-rule", _clause(item))


def _clause(item: Evidence) -> str:
    """The first clause of a reason: what was compared, with the number found and the number required."""
    return item.reason.partition("; ")[0]


def _fraction(value: float) -> Fraction | None:
    found = Fraction(value).limit_denominator(MOST)
    return found if abs(float(found) - value) <= NEAR * max(1.0, abs(value)) else None


def _text(value: float) -> str:
    found = _fraction(value)
    return f"{value:.6g}" if found is None else str(found)


READERS: dict[str, Reader] = {
    "dtype": _says("precision"),
    "swap-bound": _says("swap-rule"),
    "energy-variance": _says("swap-rule"),
    "best-coefficient": _says("swap-rule"),
    "fixed-point": _says("weights-wrong"),
    "adaptation": _says("weights-wrong"),
    "exchange-run": _of_replicas,
    "swap-balance": _says("swap-rule"),
    "swap-rate": _says("swap-rule"),
    "averaging": _of_average,
    "gradient-mean": _of_gradient,
    "pure-step": _of_purity,
    "white-noise": _of_draws,
    "independent-chains": _says("chains-coupled"),
    "moments": _of_momenta,
    "one-step-law": _of_step,
}
"""The reader of each check of the running code, in the order in which they are asked."""

__all__ = ["cause_in_running_code"]
