"""Bugs of gradients and their estimators that show where all minibatches are enumerated: signs, divisors, random choices.

Bugs in gradients that subtract what a minibatch says elsewhere: a table of gradients, and a fixed centre.
"""

from __future__ import annotations

from typing import Any

from tests.mutants.catalogue.estimators import REGRESSION
from tests.mutants.mutant import Mutant

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

OF_GRADIENTS = (
    Mutant(
        name="n-over-n-minus-one",
        family="gradient estimators",
        scheme="sghmc-aboba",
        place="sgverify.samplers.gradients.estimators:MinibatchEstimator.evaluate",
        was="/ self._batch",
        now="/ (self._batch - 1)",
        settings={**LOGISTIC, "gradient": {"kind": "without-replacement", "batch": 2}},
        reason="the divisor of a sample variance, N/(n - 1) for N/n",
        cause="data-scaling",
    ),
    Mutant(
        name="minibatch-likelihood-sign",
        family="gradient estimators",
        scheme="sgld-euler",
        place="sgverify.samplers.gradients.estimators:MinibatchEstimator.evaluate",
        was="+ scale * self.potential",
        now="- scale * self.potential",
        settings={**LOGISTIC, "gradient": IID},
        reason="log likelihood for minus log likelihood",
        cause="data-scaling",
    ),
    Mutant(
        name="full-likelihood-sign",
        family="gradient estimators",
        scheme="sgld-euler",
        place="sgverify.samplers.gradients.differentiation:Potential.full",
        was="return prior + total",
        now="return prior - total",
        settings={**LOGISTIC},
        reason="log likelihood for minus log likelihood",
        cause="data-scaling",
    ),
    Mutant(
        name="double-well-half-gradient",
        family="gradient estimators",
        scheme="sghmc-baoab",
        place="sgverify.samplers.gradients.differentiation:Potential.full",
        was="if self.data is None:\n        return prior",
        now="if self.data is None:\n        return prior / 2",
        settings={"target": {"name": "double-well"}, "test_function": "theta**4", "steps": 200},
        reason="half the gradient where there are no data, as with the drift -1/2 grad U of chen2015 (10)",
        cause="drift-scaled",
    ),
    Mutant(
        name="hoisted-mean-of-n-minus-one",
        family="gradient estimators",
        scheme="sghmc-aboba",
        place="sgverify.samplers.gradients.estimators:MinibatchEstimator.prepare",
        was="total.div_(self._batch)",
        now="total.div_(self._batch - 1)",
        settings={"gradient": IID},
        reason="where the noise is added to the full gradient, N/(n - 1) leaves the mean right and the covariance wrong",
        cause="gradient-noise",
    ),
    Mutant(
        name="without-replacement-with-it",
        family="gradient estimators",
        scheme="sghmc-aboba",
        place="sgverify.samplers.gradients.minibatches:WithoutReplacement.block",
        was="for k in range(1, n):",
        now="for k in range(1, 1):",
        settings={"gradient": {"kind": "without-replacement", "batch": 2}},
        reason="data that are taken already are taken again",
        cause="minibatch-law",
    ),
    Mutant(
        name="floyd-without-the-end",
        family="gradient estimators",
        scheme="sghmc-aboba",
        place="sgverify.samplers.gradients.minibatches:WithoutReplacement.block",
        was="torch.arange(low + 1, self._size + 1",
        now="torch.arange(low, self._size",
        settings={"gradient": {"kind": "without-replacement", "batch": 2}},
        reason="Floyd's random t in 0..j drawn by a randint whose upper end is excluded",
        cause="minibatch-law",
    ),
    Mutant(
        name="shuffle-without-the-end",
        family="gradient estimators",
        scheme="sghmc-aboba",
        place="sgverify.samplers.gradients.minibatches:Reshuffle._permutation",
        was="torch.arange(size, 0, -1",
        now="torch.arange(size - 1, -1, -1",
        settings={"gradient": {"kind": "reshuffle", "batch": 2}},
        reason="Fisher and Yates' partner drawn by a randint whose upper end is excluded: the last datum stays last",
        cause="minibatch-law",
    ),
    Mutant(
        name="snapshot-of-a-minibatch",
        family="gradient estimators",
        scheme="sgld-euler",
        place="sgverify.samplers.gradients.estimators:SnapshotEstimator.begin",
        was="self.potential.full(at) - self.potential.prior(at)",
        now="len(self._data) / self._batch * self.potential.sum_over(at, self._data[self._drawn[step * self._per_step]])",
        settings={**LOGISTIC, "gradient": {"kind": "svrg", "batch": 2, "refresh": 2}},
        reason="the gradient at the snapshot is that of a minibatch, and not of all data",
        cause="gradient-noise",
    ),
    Mutant(
        name="additive-noise-once-per-step",
        family="gradient estimators",
        scheme="sghmc-baoab",
        place="sgverify.samplers.gradients.estimators:AdditiveEstimator.evaluate",
        was="self._drawn[step * self._per_step + evaluation]",
        now="self._drawn[step * self._per_step]",
        settings={"gradient": {"kind": "additive", "covariance": 4.0}},
        reason="the two kicks of a step share the noise that should be fresh at every evaluation",
        cause="gradient-noise",
    ),
    Mutant(
        name="clipped-by-the-square",
        family="gradient estimators",
        scheme="sgld-euler",
        place="sgverify.samplers.gradients.kinds:Clipped._clipped",
        was="root(dot(Chains(gradients), Chains(gradients)).tensor)",
        now="dot(Chains(gradients), Chains(gradients)).tensor",
        settings={**LOGISTIC, "gradient": {**IID, "clip": 0.5}},
        reason="gradients are clipped by their squared norm",
        cause="gradient-biased",
    ),
    Mutant(
        name="gradient-over-temperature",
        family="gradient estimators",
        scheme="sghmc-baoab",
        place="sgverify.samplers.gradients.estimators:Estimator.evaluate",
        was="return self.potential.full(theta)",
        now="return self.potential.full(theta) / 0.5",
        settings={"temperature": 0.5},
        reason="the gradient is that of U/T, and the noise has the temperature in it already: exp(-U/T^2) is sampled",
        cause="temperature-misplaced",
    ),
)


PLACE = "sgverify.samplers.gradients.control_variates"

TABLE: dict[str, Any] = {"gradient": {"kind": "saga", "batch": 2}, **REGRESSION}
CENTRE: dict[str, Any] = {"gradient": {"kind": "control-variate", "batch": 2}, **REGRESSION}


def bug(
    name: str, place: str, was: str, now: str, settings: dict[str, Any], reason: str, *, cause: str
) -> Mutant:
    """A bug of an estimator, under ABOBA."""
    return Mutant(
        name=name,
        family="gradient estimators",
        scheme="sghmc-aboba",
        place=f"{PLACE}:{place}",
        was=was,
        now=now,
        settings=settings,
        reason=reason,
        cause=cause,
    )


OF_CONTROL_VARIATES = (
    bug(
        "saga-table-updated-before-use",
        "TableEstimator._change",
        "return in_order(found - self._table.gather(0, _wide(drawn, found)))",
        "self._asked = {minibatch: (drawn, found)}; self._enter(); "
        "return in_order(found - self._table.gather(0, _wide(drawn, found)))",
        TABLE,
        "the new gradients enter the table before the old ones are subtracted: nothing of the change is left",
        cause="gradient-biased",
    ),
    bug(
        "saga-table-updated-for-half-the-minibatch",
        "TableEstimator._enter",
        "in zip(places.split(1), found.split(1), strict=True)",
        "in list(zip(places.split(1), found.split(1), strict=True))[: len(found) // 2]",
        TABLE,
        "half of the minibatch keeps its old gradients, as where only one of two accumulated batches is written back",
        cause="gradient-biased",
    ),
    bug(
        "saga-sum-left-behind",
        "TableEstimator._enter",
        "self._sum = self._sum + (value - self._table.gather(0, place))[0]",
        "self._sum = self._sum",
        TABLE,
        "the table is updated and its sum is not: subtracted and added gradients are no longer the same ones",
        cause="gradient-biased",
    ),
    bug(
        "saga-change-not-scaled",
        "TableEstimator.evaluate",
        "(len(self._data) / self._batch) * change",
        "change",
        TABLE,
        "N/n is missing in front of the change, as in a mean over the table that is taken for its sum",
        cause="gradient-biased",
    ),
    bug(
        "saga-duplicates-counted-twice",
        "TableEstimator._enter",
        "    for place, value in zip(places.split(1), found.split(1), strict=True):\n"
        "            self._sum = self._sum + (value - self._table.gather(0, place))[0]\n",
        "    self._sum = self._sum + in_order(found - self._table.gather(0, places))\n"
        "        for place, value in zip(places.split(1), found.split(1), strict=True):\n",
        TABLE,
        "a datum that the minibatch holds twice moves the sum twice, and its entry once",
        cause="gradient-biased",
    ),
    bug(
        "control-variate-of-wrong-sign",
        "CentredEstimator.evaluate",
        "self.potential.sum_over(theta, chosen) - there",
        "self.potential.sum_over(theta, chosen) + there",
        CENTRE,
        "the control variate is added where it is to be taken away",
        cause="gradient-biased",
    ),
    bug(
        "control-variate-change-not-scaled",
        "CentredEstimator.evaluate",
        "(len(self._data) / self._batch) * change",
        "change",
        CENTRE,
        "N/n is missing in front of the change from the centre",
        cause="gradient-biased",
    ),
    bug(
        "control-variate-prior-at-the-centre",
        "CentredEstimator.evaluate",
        "self.potential.prior(theta) + self._gradient",
        "self.potential.prior(self._centre) + self._gradient",
        CENTRE,
        "the full gradient at the centre takes the prior's along, which is then never asked at theta",
        cause="gradient-biased",
    ),
    bug(
        "saga-table-emptied-by-a-pause",
        "TableEstimator.begin",
        "self._table = wide.permute(2, 0, 1, 3).clone(",
        "self._table = wide.permute(2, 0, 1, 3).mul(0).clone(",
        TABLE,
        "a run that goes on begins with a table of zeros beside the sum of the old one",
        cause="state-kept",
    ),
    Mutant(
        name="svrg-snapshot-by-steps-of-the-block",
        family="gradient estimators",
        scheme="sghmc-aboba",
        place="sgverify.samplers.gradients.estimators:SnapshotEstimator.begin",
        was="(self._first + step) % self._refresh == 0",
        now="step % self._refresh == 0",
        settings={"gradient": {"kind": "svrg", "batch": 2}, **REGRESSION},
        reason="the snapshot is taken at the start of every block, however many steps are drawn at once",
        cause="state-kept",
    ),
)

MUTANTS = (*OF_GRADIENTS, *OF_CONTROL_VARIATES)
