"""The running code of replica exchange swaps with the rule's chance, keeps the joint density, and draws energies apart."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from sgverify.rates.verdict import Judgement
from sgverify.schemes.composites import ReplicaExchange
from sgverify.subject.composite import CompositeSubject
from tests.self_checks.driven import CHAINS, Drive, chance_faults, drive, law_faults
from tests.self_checks.finding import Finding, finding, unanswered
from tests.self_checks.weight_rules import energies_of

UNIFORMS = 32
"""The number of steps whose uniform numbers are tested."""

LEVEL = 1e-9
"""The level of the only statistical test, that these numbers are uniform."""


def check_running_swaps(subject: CompositeSubject) -> Finding:
    """Chances of swaps, the density before and after them, their energies and their random numbers, of driven code."""
    if not isinstance(subject.composite, ReplicaExchange):
        return unanswered(f"{subject.composite.name} has no replicas", "not-applicable")
    faults = [
        fault
        for faults_of in (chance_faults, law_faults, energy_faults, stream_faults)
        for fault in faults_of(subject)
    ]
    if faults:
        return finding(Judgement("violates", False, "; ".join(faults[:2])))
    return finding(Judgement("conforms", False, "the running code swaps with the rule's chance"))


def energy_faults(subject: CompositeSubject) -> list[str]:
    """Sentences about wrong minibatch energies. Their mean over minibatches with equal use of every datum must be U.

    At a control's own state, the energy with that control must be exactly U.
    """
    size, n = subject.target.size, subject.configuration.gradient.batch
    chains = 1 if size is None else size // math.gcd(size, n)
    driven = drive(subject, chains)
    hooks, start = driven.hooks, driven.state("control", chains, same=True)
    driven.enter(start)
    theta, found = driven.state("energy", chains, same=True)[0], []
    if not hooks.energies.exact:
        assert size is not None
        blocks = (torch.arange(chains * n) % size).reshape(chains, n)
        hooks.energies.minibatch = lambda number: blocks.T[:, None]  # type: ignore
    E = hooks.energies.at(theta, hooks.controls, 1)[..., 0]
    U, bound = driven.energy(theta), _rounding(driven, theta) + _rounding(driven, start[0])
    off = float((E.mean(1) - U[:, 0]).abs().max())
    if not off <= bound:
        found.append(
            f"energies average to {float(E.mean(1)[0]):.5g}, required U = {float(U[0, 0]):.5g}; those that a swap compares, "
            f"over all data: {float(E.mean(1)[0]):.9g} for {float(U[0, 0]):.9g}"
        )
    if hooks.controls is not None:
        there = hooks.energies.at(start[0], hooks.controls, 1)[..., 0]
        left = float((there - driven.energy(start[0])).abs().max())
        if not left <= 2 * bound:
            found.append(f"energies keep noise at the control itself; they are off by up to {left:.3g}")
    if hooks.energies.exact:
        return found
    return found + _variance_faults(subject)


def stream_faults(subject: CompositeSubject) -> list[str]:
    """Sentences about uniform numbers that are not uniform or are shared by chains, and about minibatches of energies.

    Minibatches must differ between chains, and be shared by all replicas of a chain.
    """
    driven = drive(subject, CHAINS)
    hooks, found = driven.hooks, []
    driven.enter(driven.state("streams", CHAINS))
    hooks.prepare(0, UNIFORMS)
    u = hooks.log_uniforms.exp().double()
    ordered = np.sort(u.numpy().ravel())
    places = np.arange(1, ordered.size + 1) / ordered.size
    apart = max(np.abs(ordered - places).max(), np.abs(ordered - places + 1 / ordered.size).max())
    # Dvoretzky, Kiefer and Wolfowitz with Massart's constant.
    if not apart <= math.sqrt(math.log(2 / LEVEL) / (2 * ordered.size)):
        found.append(
            f"the numbers that decide swaps are not uniform; their distribution is off by {apart:.3g}"
        )
    if len(np.unique(u.numpy().reshape(UNIFORMS, -1), axis=1).T) < driven.replicas * CHAINS:
        found.append("two chains decide on their swaps by the same random numbers")
    if len(np.unique(u.numpy().reshape(UNIFORMS, -1), axis=0)) < UNIFORMS:
        found.append("two steps decide on their swaps by the same random numbers")
    if hooks.energies.exact:
        return found
    size, n = subject.target.size or 1, subject.configuration.gradient.batch
    bits = math.log2(math.comb(size, n)) if hooks.energies.subset else n * math.log2(size)
    if bits < 0.5:
        return found
    drawn = torch.stack([hooks.energies.minibatch(k) for k in range(math.ceil(64 / bits))]).flatten(0, 1)
    if not bool((drawn == drawn[:, :1]).all()):
        found.append("the replicas of a chain compare energies of different minibatches")
    if len(np.unique(drawn[:, 0].numpy(), axis=1).T) < CHAINS:
        found.append("two chains compare energies of the same minibatches")
    return found


def _variance_faults(subject: CompositeSubject) -> list[str]:
    """Sentences about a measured variance of the energy difference that is wrong if every datum is used once."""
    driven = drive(subject, 1)
    hooks, size, n = driven.hooks, subject.target.size or 1, subject.configuration.gradient.batch
    control, state = driven.state("control", 1), driven.state("energy", 1)
    driven.enter(control)
    before, repeated = hooks.controls, hooks.energies.repeated
    # In a repeated measurement each draw is a minibatch; otherwise each draw is a datum of one minibatch.
    if repeated:
        draws, share = (torch.arange(size // math.gcd(size, n) * n) % size).reshape(-1, n), 1.0
    else:
        draws, share = torch.arange(size)[:, None], (1 - n / size if hooks.energies.subset else 1.0) / n
    _, own = hooks.energies.spread(1)
    hooks.energies.spread = lambda event: (draws.T[:, :, None, None], own)  # type: ignore
    hooks.log_uniforms = torch.zeros((1, driven.replicas, 1), dtype=torch.float64)

    def energies(at: Tensor) -> Tensor:
        wide = at.double().expand(len(draws), *at.shape).numpy()
        return torch.from_numpy(energies_of(subject.target, wide, draws.T[:, :, None, None].numpy()))[..., 0]

    d = energies(state[0])
    if before is not None:
        d = d - energies(control[0])
    differences = d[:, :-1] - d[:, 1:]
    owed = differences.var(0) * share
    driven.step(hooks.period, state)
    found = hooks.carried[0][:-1, 0, 0]
    rounding = 2 * (_rounding(driven, state[0]) + _rounding(driven, control[0]))
    bound = 4 * rounding * (differences.var(0).sqrt() + rounding)
    if bool(((found - owed).abs() <= bound).all()):
        return []
    return [
        f"measured variance {float(found[0]):.4g}, required {float(owed[0]):.4g}; that of the difference of the energies in use: "
        f"{float(found[0]):.9g} for {float(owed[0]):.9g}"
    ]


def _rounding(driven: Drive, theta: Tensor) -> float:
    """A rounding bound of sums of N terms in any order: a multiple of N eps times the sum of absolute values."""
    target, at = driven.subject.target, theta.double().numpy()
    total, size = float(np.abs(np.asarray(target.prior(at))).max()), target.size or 1
    if target.data is not None and target.likelihood is not None:
        each = np.abs(np.asarray(target.likelihood(at[:, :1, None], target.data)))
        total += float(each.sum(-1).max())
    return 64 * (size + 16) * torch.finfo(driven.ensemble.dtype).eps * (total + 1)
