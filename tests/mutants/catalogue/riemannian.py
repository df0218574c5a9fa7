"""Bugs in the samplers with a metric."""

from __future__ import annotations

from typing import Any

from tests.mutants.mutant import Mutant

SHORT: dict[str, Any] = {
    "chains": 64,
    "schedule": {"kind": "fixed", "step": 0.1},
    "sweep": {"steps": [0.1]},
}
"""Rates of a step that is not affine are sampled: a short sweep at one step, so that they settle nothing."""

MATRIX: dict[str, Any] = {
    **SHORT,
    "metric": [["1 + theta[0]**2/10", "theta[1]/5"], ["theta[0]/10", "1"]],
    "schedule": {"kind": "fixed", "step": 0.01},
    "sweep": {"steps": [0.01]},
}
"""A root that is not symmetric, and whose entries move with both coordinates."""

MUTANTS = (
    Mutant(
        name="sgrld-without-divergence",
        family="Riemannian schemes",
        scheme="sgrld-euler",
        was="T*metric.divergence(theta) - metric.inverse(theta, grad(theta))",
        now="-metric.inverse(theta, grad(theta))",
        settings=SHORT,
        reason="the divergence of the metric is left out, as preconditioned SGLD does on purpose",
    ),
    Mutant(
        name="sgrld-divergence-twice",
        family="Riemannian schemes",
        scheme="sgrld-euler",
        was="T*metric.divergence(theta)",
        now="2*T*metric.divergence(theta)",
        settings=SHORT,
        reason="the divergence is counted twice, once for each factor of G",
    ),
    Mutant(
        name="sgrld-divergence-without-temperature",
        family="Riemannian schemes",
        scheme="sgrld-euler",
        was="T*metric.divergence(theta)",
        now="metric.divergence(theta)",
        settings=SHORT,
        reason="the correction stays at T = 1",
    ),
    Mutant(
        name="sgrld-noise-without-metric",
        family="Riemannian schemes",
        scheme="sgrld-euler",
        was="metric.root(theta, z1)",
        now="z1",
        settings=SHORT,
        reason="the gradient is preconditioned and the noise is not",
        source="SciML/DiffEqFlux.jl issue 695",
    ),
    Mutant(
        name="sgrld-noise-by-inverse-metric",
        family="Riemannian schemes",
        scheme="sgrld-euler",
        was="metric.root(theta, z1)",
        now="metric.inverse(theta, z1)",
        settings=SHORT,
        reason="the noise takes the preconditioner where its root is due",
    ),
    Mutant(
        name="sgrhmc-correction-of-wrong-sign",
        family="Riemannian schemes",
        scheme="sgrhmc-euler",
        was="T*metric.root_divergence(theta) - ",
        now="-T*metric.root_divergence(theta) - ",
        settings=SHORT,
        reason="the correction of the skew part has the wrong sign",
    ),
    Mutant(
        name="sgrhmc-without-correction",
        family="Riemannian schemes",
        scheme="sgrhmc-euler",
        was="T*metric.root_divergence(theta) - metric.transposed",
        now="-metric.transposed",
        settings=SHORT,
        reason="the correction is left out",
    ),
    Mutant(
        name="sgrhmc-friction-without-metric",
        family="Riemannian schemes",
        scheme="sgrhmc-euler",
        was="D*metric.inverse(theta, p)",
        now="D*p",
        settings=SHORT,
        reason="a constant friction beside noise that follows the metric",
    ),
    Mutant(
        name="sgrhmc-drift-without-metric",
        family="Riemannian schemes",
        scheme="sgrhmc-euler",
        was="theta + h*metric.root(theta, p1)",
        now="theta + h*p1",
        settings=SHORT,
        reason="the position ignores the metric that the momentum obeys",
    ),
    Mutant(
        name="sgrld-root-transposed",
        family="Riemannian schemes",
        scheme="sgrld-euler",
        place="sgverify.samplers.reading.motion:FullMetric.root",
        was="self._applied(self._metric.entries, theta, vector)",
        now="self._applied(tuple(zip(*self._metric.entries, strict=True)), theta, vector)",
        settings=MATRIX,
        reason="the noise is multiplied by the transposed root: B^T B for B B^T, an upper for a lower Cholesky factor",
    ),
    Mutant(
        name="sgrhmc-root-not-transposed",
        family="Riemannian schemes",
        scheme="sgrhmc-euler",
        place="sgverify.samplers.reading.motion:FullMetric.transposed",
        was="tuple(zip(*self._metric.entries, strict=True))",
        now="self._metric.entries",
        settings=MATRIX,
        reason="the force on the momentum takes B where B^T is due, which is the same for diagonal roots alone",
    ),
    Mutant(
        name="sgrhmc-divergence-of-rows",
        family="Riemannian schemes",
        scheme="sgrhmc-euler",
        place="sgverify.targets.metric:MatrixMetric.root_divergence",
        was="self.entries[j][i], j)",
        now="self.entries[i][j], j)",
        settings=MATRIX,
        reason="the divergence of the rows of B for that of its columns",
    ),
    Mutant(
        name="sgrld-divergence-of-transposed",
        family="Riemannian schemes",
        scheme="sgrld-euler",
        place="sgverify.targets.metric:MatrixMetric.divergence",
        was="_product(self.entries[i][k], self.entries[j][k])",
        now="_product(self.entries[k][i], self.entries[k][j])",
        settings=MATRIX,
        reason="the divergence of B^T B for that of B B^T",
    ),
)
