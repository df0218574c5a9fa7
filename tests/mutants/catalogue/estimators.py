"""Bugs in how minibatches are drawn and what is made of them."""

from __future__ import annotations

from typing import Any

from tests.mutants.mutant import Mutant

ABOBA = "sghmc-aboba"
MINIBATCHES = "sgverify.samplers.gradients.minibatches"
GRADIENTS = "sgverify.samplers.gradients.estimators"
ESTIMATE = "self.potential.prior(theta) + scale * self.potential.sum_over(theta, self._chosen_data(number))"

REGRESSION: dict[str, Any] = {
    "target": {
        "name": "linear-regression",
        "data": [[1.0, 0.0], [0.5, 2.0], [1.5, 1.0], [-0.5, 3.0]],
        "prior_precision": 5.0,
        "prior_mean": 1.0,
    },
    "test_function": "theta**2 + theta",
}
"""Every datum has a Hessian of its own, so that minibatches are looked at datum by datum; one dimension is enough."""

SNAPSHOT: dict[str, Any] = {"gradient": {"kind": "svrg", "batch": 2, "refresh": 5}, **REGRESSION}
"""Snapshots that grow old, so that the change since then matters."""


def drawn(kind: str, **rest: Any) -> dict[str, Any]:
    """Settings with minibatches of two data."""
    return {"gradient": {"kind": kind, "batch": 2}, **rest}


def bug(name: str, place: str, was: str, now: str, settings: dict[str, Any], **rest: Any) -> Mutant:
    """A bug of the running estimator, under ABOBA."""
    return Mutant(
        name=name,
        family="gradient estimators",
        scheme=ABOBA,
        place=place,
        was=was,
        now=now,
        settings=settings,
        **rest,
    )


MUTANTS = (
    bug(
        "iid-indices-without-last",
        f"{MINIBATCHES}:Iid.block",
        "self._size)",
        "self._size - 1)",
        drawn("iid"),
        reason="randint(0, N - 1) whose upper end is excluded: the last datum is never drawn",
        cause="minibatch-law",
    ),
    bug(
        "without-replacement-collision-at-first",
        f"{MINIBATCHES}:WithoutReplacement.block",
        "masked_fill_(taken, low + k)",
        "masked_fill_(taken, low)",
        drawn("without-replacement"),
        reason="what is taken already is replaced by one and the same datum",
        cause="minibatch-law",
    ),
    bug(
        "reshuffle-once-for-all",
        f"{MINIBATCHES}:Reshuffle._permutation",
        "if epoch != self._epoch:",
        "if self._epoch < 0:",
        drawn("reshuffle"),
        reason="every epoch has the order of the first",
        source="cszn/KAIR pull request 106",
        cause="minibatch-law",
    ),
    bug(
        "reshuffle-wrong-shuffle",
        f"{MINIBATCHES}:Reshuffle._permutation",
        "other = partner[k : k + 1] + k",
        "other = partner[k : k + 1]",
        drawn("reshuffle"),
        reason="Fisher and Yates without the offset: partners come from the front, and permutations are not equally likely",
        cause="minibatch-law",
    ),
    bug(
        "symmetric-not-mirrored",
        f"{MINIBATCHES}:Symmetric.block",
        "min(place, 2 * length - 1 - place)",
        "place % length",
        drawn("symmetric", schedule={"step": 0.3}),
        reason="the second sweep goes forward again, where it is to go back",
        cause="minibatch-law",
    ),
    bug(
        "minibatch-scale-missing",
        f"{GRADIENTS}:MinibatchEstimator.evaluate",
        "scale = len(self._data) / self._batch",
        "scale = 1.0",
        drawn("iid", **REGRESSION),
        reason="N/n is missing: the data count as much as one minibatch",
        source="izmailovpavel/understandingbdl issue 24 (left to the loss there)",
        cause="data-scaling",
    ),
    bug(
        "minibatch-mean-for-sum",
        f"{GRADIENTS}:MinibatchEstimator.evaluate",
        "scale = len(self._data) / self._batch",
        "scale = len(self._data)",
        drawn("iid", **REGRESSION),
        reason="N times the sum over the minibatch, where N times its mean is due",
        cause="data-scaling",
    ),
    bug(
        "prior-scaled-with-data",
        f"{GRADIENTS}:MinibatchEstimator.evaluate",
        ESTIMATE,
        "scale * (self.potential.prior(theta) + self.potential.sum_over(theta, self._chosen_data(number)))",
        drawn("iid", **REGRESSION),
        reason="the prior is inside the loss of a minibatch, and scaled by N/n with it",
        source="ruqizhang/csgmcmc issue 5 (the weight of the prior beside N)",
        cause="prior-scaled",
    ),
    bug(
        "prior-once-per-datum",
        f"{GRADIENTS}:MinibatchEstimator.evaluate",
        "return self.potential.prior(theta)",
        "return len(self._data) * self.potential.prior(theta)",
        drawn("iid", **REGRESSION),
        reason="the prior is part of every datum's loss",
        cause="prior-scaled",
    ),
    bug(
        "prior-missing",
        f"{GRADIENTS}:MinibatchEstimator.evaluate",
        "return self.potential.prior(theta) + ",
        "return ",
        drawn("iid", **REGRESSION),
        reason="the likelihood alone is sampled",
        source="henripal/sgld issue 1 (left out on purpose there)",
        cause="prior-scaled",
    ),
    bug(
        "minibatch-noise-too-small",
        f"{GRADIENTS}:MinibatchEstimator.prepare",
        "total.div_(self._batch)",
        "total.div_(len(self._data))",
        drawn("iid"),
        reason="the deviations of a minibatch are averaged over all data: no bias of the gradient, too little of its noise",
        cause="gradient-noise",
    ),
    bug(
        "svrg-snapshot-never-renewed",
        f"{GRADIENTS}:SnapshotEstimator.begin",
        "(self._first + step) % self._refresh == 0 or not self._snapshot",
        "not self._snapshot",
        SNAPSHOT,
        reason="the snapshot of the start serves for all steps: no bias of the gradient, far too much of its noise",
        cause="gradient-noise",
    ),
    bug(
        "svrg-snapshot-not-copied",
        f"{GRADIENTS}:SnapshotEstimator.begin",
        "at = theta.clone()",
        "at = theta",
        SNAPSHOT,
        reason="the snapshot is the state itself, which the steps overwrite",
        cause="gradient-biased",
    ),
    bug(
        "svrg-change-of-wrong-sign",
        f"{GRADIENTS}:SnapshotEstimator.evaluate",
        "self.potential.sum_over(theta, chosen) - self.potential.sum_over(at, chosen)",
        "self.potential.sum_over(at, chosen) - self.potential.sum_over(theta, chosen)",
        SNAPSHOT,
        reason="the control variate is added where it is to be taken away",
        cause="gradient-biased",
    ),
    bug(
        "svrg-change-not-scaled",
        f"{GRADIENTS}:SnapshotEstimator.evaluate",
        "(len(self._data) / self._batch) * change",
        "change",
        SNAPSHOT,
        reason="N/n is missing in front of the change since the snapshot",
        cause="gradient-biased",
    ),
    bug(
        "additive-covariance-squared",
        f"{GRADIENTS}:_root",
        "np.sqrt(np.maximum(values, 0.0))",
        "np.maximum(values, 0.0)",
        {"gradient": {"kind": "additive", "covariance": 9.0}},
        reason="the covariance of the gradient noise is taken for its root",
        cause="gradient-noise",
    ),
    bug(
        "additive-noise-of-other-size",
        f"{GRADIENTS}:AdditiveEstimator.evaluate",
        "return self.potential.full(theta) + ",
        "return self.potential.full(theta) - theta + theta * 0.5 + ",
        {"gradient": {"kind": "additive", "covariance": 9.0}},
        reason="half of theta is lost on the way to the gradient, as by a weight decay that is applied elsewhere",
        cause="gradient-biased",
    ),
)
