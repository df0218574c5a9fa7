"""Check: do swaps leave the joint law of the replicas invariant, in the rule and in the running code?"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, cast

import flint
import numpy as np
import torch
from flint import arb
from torch import Tensor

from sgverify.checks.exchange.driven import CHAINS, Drive, chance_faults, drive, law_faults
from sgverify.checks.question import Question
from sgverify.checks.subject.composite import CompositeSubject
from sgverify.checks.weights.rules import energies_of
from sgverify.evidence import Evidence
from sgverify.exact.exchange.acceptance import swap_chance
from sgverify.exact.numbers.ball import number
from sgverify.rates import Judgement
from sgverify.samplers.composites.exchange import ExchangeChoice

BITS = 128
DIFFERENCES = (Fraction(1, 2), Fraction(2))
"""The tested energy differences U1 - U2, in units of 1/(1/T1 - 1/T2)."""

VARIANCES = (Fraction(0), Fraction(1, 4), Fraction(4))
"""The tested variances of normal noise in U1 - U2, in units of 1/(1/T1 - 1/T2)^2."""

UNIFORMS = 32
"""The number of steps whose uniform numbers are tested."""

LEVEL = 1e-9
"""The level of the only statistical test, that these numbers are uniform."""


def check_swap_balance(question: Question) -> Evidence:
    """Detailed balance of swaps with exp(-U1/T1 - U2/T2): of the rule under normal noise, and of the running code.

    Cannot see: energy noise that is not normal, pairs of energies other than those that are computed, and how the
    replicas move between swaps.
    """
    subject = cast(CompositeSubject, question.subject)
    flows = imbalances(subject)
    certificate: dict[str, Any] = {
        "log of flow over reverse flow": {name: value.str(6) for name, value in flows.items()},
        "noise": "normal, of the variance that the rule is told; that of a minibatch is normal only as its size grows",
    }
    faults = [
        f"flow and reverse flow differ by exp({value.str(4, radius=False)}); under {name}: F = {_choice(subject).correction:g} "
        "does not balance"
        for name, value in flows.items()
        if not value.overlaps(arb(0))
    ][:1]
    for faults_of in (chance_faults, law_faults, energy_faults, stream_faults):
        faults += faults_of(subject)
    if faults:
        judgement = Judgement("violates", False, "; ".join(faults[:2]))
    else:
        judgement = Judgement(
            "conforms",
            False,
            f"flows balance at {len(flows)} pairs of energies and noise; the running code swaps with the rule's chance, changes "
            "the joint density as S says, and estimates energies and their variance on minibatches of their own",
        )
    return question.evidence(judgement, certificate=certificate)


def imbalances(subject: CompositeSubject) -> dict[str, arb]:
    """log of the flow E min(1, S) exp(-U1/T1 - U2/T2) over the reverse flow; 0 is detailed balance.

    One entry for each pair of neighbours, energy difference and noise variance; without minibatches there is no noise. The
    running rule is evaluated in ball arithmetic.
    """
    choice, c, found = _choice(subject), subject.configuration, {}
    T = [Fraction(repr(c.temperature)) * Fraction(repr(float(value))) for value in choice.ladder]
    F = Fraction(repr(float(choice.correction)))
    noisy = c.gradient.estimator.draws_data and choice.energies != "exact"
    with flint.ctx.workprec(BITS):
        for k, (cold, hot) in enumerate(pairwise(T)):
            for u, s in product(DIFFERENCES, VARIANCES if noisy else VARIANCES[:1]):
                there, back = (swap_chance(sign * u, s, F=F, tau_1=cold, tau_2=hot) for sign in (1, -1))
                name = f"U1 - U2 = {u}/g, noise of variance {s}/g^2, T{k + 1} and T{k + 2}"
                found[name] = (there / back).log() - number(u)
    return found


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


def _choice(subject: CompositeSubject) -> Any:
    return subject.configuration.exchange or ExchangeChoice()


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


__all__ = ["check_swap_balance", "energy_faults", "imbalances", "stream_faults"]
