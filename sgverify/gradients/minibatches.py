"""Estimators that sum over a minibatch of the data: drawn anew for each step, or the blocks of a permutation."""

from __future__ import annotations

from dataclasses import dataclass

from sgverify.gradients.estimator import GradientEstimator


@dataclass(frozen=True, kw_only=True)
class MinibatchGradient(GradientEstimator):
    """grad prior + N/n sum_{i in B} grad likelihood(x_i)."""


IID = MinibatchGradient(
    name="iid",
    summary="A minibatch of data drawn with replacement, fresh at every step",
    label="independent (iid) minibatches of {batch}",
    replaced=True,
    energies_replaced=True,
)
WITHOUT_REPLACEMENT = MinibatchGradient(
    name="without-replacement",
    summary="A fresh subset of the data at every step",
    label="minibatches of {batch} without replacement",
)
RESHUFFLE = MinibatchGradient(
    name="reshuffle",
    summary="A random permutation of the data in each epoch, consumed in blocks",
    label="reshuffled minibatches of {batch}",
    sweeps=1,
)
SYMMETRIC = MinibatchGradient(
    name="symmetric",
    summary="The blocks of a permutation forward, and then backward",
    label="minibatches of {batch} swept forward and backward",
    source="arXiv 2410.19780",
    sweeps=2,
)
