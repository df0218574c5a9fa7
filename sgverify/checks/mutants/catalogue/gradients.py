"""Bugs of gradients and their estimators that show where all minibatches are enumerated: signs, divisors, random choices."""

from __future__ import annotations

from sgverify.checks.mutants.mutant import Mutant

IID = {"kind": "iid", "batch": 2}

LOGISTIC = {
    "target": {
        "name": "logistic-regression",
        "data": [[0.5, 1.0, 1], [1.0, -0.5, 0], [-2.0, 1.5, 1], [0.25, -2.0, 1]],
        "prior_precision": [[4.0, 1.0], [1.0, 2.0]],
        "prior_mean": [1.0, -0.5],
    },
    "sweep": {"lengths": [100, 200]},
}
"""Four labelled data, no conjugacy: no gradient is put into one product."""

MUTANTS = (
    Mutant(
        name="n-over-n-minus-one",
        family="gradient estimators",
        scheme="sghmc-aboba",
        place="sgverify.samplers.gradients:MinibatchEstimator.evaluate",
        was="/ self._batch",
        now="/ (self._batch - 1)",
        settings={**LOGISTIC, "gradient": {"kind": "without-replacement", "batch": 2}},
        reason="the divisor of a sample variance, N/(n - 1) for N/n",
    ),
    Mutant(
        name="minibatch-likelihood-sign",
        family="gradient estimators",
        scheme="sgld-euler",
        place="sgverify.samplers.gradients:MinibatchEstimator.evaluate",
        was="+ scale * self.potential",
        now="- scale * self.potential",
        settings={**LOGISTIC, "gradient": IID},
        reason="log likelihood for minus log likelihood",
    ),
    Mutant(
        name="full-likelihood-sign",
        family="gradient estimators",
        scheme="sgld-euler",
        place="sgverify.samplers.differentiation:Potential.full",
        was="return prior + self.sum_over",
        now="return prior - self.sum_over",
        settings={**LOGISTIC},
        reason="log likelihood for minus log likelihood",
    ),
    Mutant(
        name="double-well-half-gradient",
        family="gradient estimators",
        scheme="sghmc-baoab",
        place="sgverify.samplers.differentiation:Potential.full",
        was="if self.data is None:\n        return prior",
        now="if self.data is None:\n        return prior / 2",
        settings={"target": {"name": "double-well"}, "test_function": "theta**4", "steps": 200},
        reason="half the gradient where there are no data, as with the drift -1/2 grad U of chen2015 (10)",
    ),
    Mutant(
        name="hoisted-mean-of-n-minus-one",
        family="gradient estimators",
        scheme="sghmc-aboba",
        place="sgverify.samplers.gradients:MinibatchEstimator.prepare",
        was="total.div_(self._batch)",
        now="total.div_(self._batch - 1)",
        settings={"gradient": IID},
        reason="where the noise is added to the full gradient, N/(n - 1) leaves the mean right and the covariance wrong",
    ),
    Mutant(
        name="without-replacement-with-it",
        family="gradient estimators",
        scheme="sghmc-aboba",
        place="sgverify.samplers.minibatches:WithoutReplacement.block",
        was="for k in range(1, n):",
        now="for k in range(1, 1):",
        settings={"gradient": {"kind": "without-replacement", "batch": 2}},
        reason="data that are taken already are taken again",
    ),
    Mutant(
        name="floyd-without-the-end",
        family="gradient estimators",
        scheme="sghmc-aboba",
        place="sgverify.samplers.minibatches:WithoutReplacement.block",
        was="torch.arange(low + 1, self._size + 1",
        now="torch.arange(low, self._size",
        settings={"gradient": {"kind": "without-replacement", "batch": 2}},
        reason="Floyd's random t in 0..j drawn by a randint whose upper end is excluded",
    ),
    Mutant(
        name="shuffle-without-the-end",
        family="gradient estimators",
        scheme="sghmc-aboba",
        place="sgverify.samplers.minibatches:Reshuffle._permutation",
        was="torch.arange(size, 0, -1",
        now="torch.arange(size - 1, -1, -1",
        settings={"gradient": {"kind": "reshuffle", "batch": 2}},
        reason="Fisher and Yates' partner drawn by a randint whose upper end is excluded: the last datum stays last",
    ),
    Mutant(
        name="snapshot-of-a-minibatch",
        family="gradient estimators",
        scheme="sgld-euler",
        place="sgverify.samplers.gradients:SnapshotEstimator.begin",
        was="self.potential.full(at) - self.potential.prior(at)",
        now="len(self._data) / self._batch * self.potential.sum_over(at, self._data[self._drawn[step * self._per_step]])",
        settings={**LOGISTIC, "gradient": {"kind": "svrg", "batch": 2, "refresh": 2}},
        reason="the gradient at the snapshot is that of a minibatch, and not of all data",
    ),
    Mutant(
        name="additive-noise-once-per-step",
        family="gradient estimators",
        scheme="sghmc-baoab",
        place="sgverify.samplers.gradients:AdditiveEstimator.evaluate",
        was="self._drawn[step * self._per_step + evaluation]",
        now="self._drawn[step * self._per_step]",
        settings={"gradient": {"kind": "additive", "covariance": 4.0}},
        reason="the two kicks of a step share the noise that should be fresh at every evaluation",
    ),
    Mutant(
        name="clipped-by-the-square",
        family="gradient estimators",
        scheme="sgld-euler",
        place="sgverify.samplers.biased:Clipped.likelihoods",
        was=".tensor.sqrt()",
        now=".tensor",
        settings={**LOGISTIC, "gradient": {**IID, "clip": 0.5}},
        reason="gradients are clipped by their squared norm",
    ),
)
