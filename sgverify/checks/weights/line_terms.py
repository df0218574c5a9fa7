"""How large are the terms in eps, Var, 1/(k eps) and omega of awsgld's bounds on a chain in one dimension?

Each term is computed with the others fixed. The target is U = x^2/2 at tau = 1: the claims are stated for all targets, so
that one target can refute them. Its energies are cut into at most `BINS` regions; the scheme, zeta and the rules are the
configured ones. A term has the claimed order if the ratio of its size to that order does not grow while the order falls to a
quarter (for omega: while k grows 4 times). Sizes are suprema over test functions of the region and over starts within
`REACH`, so that none of them vanishes at a change of sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sgverify.checks.weights.weighted_sampler import WeightedSampler
from sgverify.configuration import load_configuration
from sgverify.errors import SgverifyError
from sgverify.exact.weights.fixed_point import cumulated_weights, visited_weights
from sgverify.exact.weights.line_chain import LineChain
from sgverify.exact.weights.line_weights import AfterSteps, Rest, RunningWeights, rest
from sgverify.rates.verdict import Judgement
from sgverify.schemes.composites.adaptation import Adaptation, Partition
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject
from sgverify.targets import Target, build_target

BINS = 6
QUARTER = (1.0, 0.25)
LENGTHS = (48, 192, 768)
REACH = 4.0
START = 2.0
_ALPHA, _OFFSET = 0.75, 20.0
"""alpha and the offset of omega_k. The scale of omega_k is 1/zeta, at most 1: theta^zeta enters the chain, and 24 points must
resolve its range."""
_GROWS = 1.5
"""The largest growth of a ratio while the order falls to a quarter: 1 for the claimed order, 2 for its root, 4 for a constant."""
_GROWS_WITH_K = 1.2
"""The largest growth of a ratio from 192 to 768 steps: at most 1 for a term of the claimed order, 1.35 for a constant one."""
_NOTHING = 1e-10
_LARGEST_STEP = 0.8
"""The first step size, times the largest multiplier."""
_TILT = 0.4


@dataclass(frozen=True)
class BoundTerm:
    """One term of a bound: its ratios of size to claimed order; `bounded` if they do not grow, None if not computed."""

    name: str
    ratios: tuple[float, ...]
    bounded: bool | None
    why: str = ""

    @property
    def told(self) -> str:
        """The ratios as text, or the reason why there are none."""
        return self.why or ", ".join(f"{ratio:.3g}" for ratio in self.ratios)


def with_terms(verdict: Judgement, terms: Mapping[str, BoundTerm]) -> Judgement:
    """The verdict on a bound from the verdict on one term and from its other terms: it conforms if all terms do."""
    if verdict.verdict != "conforms":
        return verdict
    unanswered = [
        f"that in {name} is not answered: {term.told}" for name, term in terms.items() if not term.bounded
    ]
    if unanswered:
        return Judgement(
            "inconclusive", False, f"not every term is answered; {verdict.reason}; {'; '.join(unanswered)}"
        )
    others = "; ".join(f"{term.name} is {term.told}" for term in terms.values())
    return Judgement("conforms", False, f"{verdict.reason}; for x^2/2, as the order falls, {others}")


def certified(terms: LineTerms, found: Mapping[str, BoundTerm]) -> dict[str, Any]:
    """The terms in the form of a certificate."""
    return {**terms.facts, **{term.name: term.told for term in found.values()}}


@dataclass(frozen=True, eq=False)
class LineTerms:
    """The terms of the bounds for one sampler under one configuration."""

    subject: Subject

    @staticmethod
    @cached_per_subject
    def of(subject: Subject) -> LineTerms:
        """The terms of a subject; all its claims share one object, so that each chain is solved once."""
        return LineTerms(subject)

    @cached_property
    def limits(self) -> dict[str, BoundTerm]:
        """Two terms: the shift of theta's limit by the step size, over eps, and by the noise of energies, over Var."""
        return {
            "eps": self._term("|theta(eps) - theta(0)|/eps", self._by_steps(self._distance)),
            "Var": self._term("|theta(Var) - theta(0)|/Var", self._by_noise),
        }

    @cached_property
    def spread(self) -> tuple[float, float] | str:
        """lim E|theta_k - limit|^2/omega_k over all regions, and the slowest decay rate; or the reason why they are unknown."""
        try:
            return self._at(self._steps[0]).spread()
        except SgverifyError as error:
            return str(error)

    def averages(self, *, weighted: bool) -> dict[str, BoundTerm]:
        """The terms of a (weighted) average of a function of the region."""
        held = self.__dict__.setdefault("_averages", {})
        if weighted not in held:
            held[weighted] = {
                "eps": self._term(
                    "|average(eps) - average(0)|/eps",
                    self._by_steps(lambda a, b: self._apart(a, b, weighted)),
                ),
                "1/(k eps)": self._term(
                    "eps |sum over the steps of the start's error|", lambda: self._by_start(weighted)
                ),
                "omega": self._term(
                    "|average_k - limit|/(1/(k eps) + sqrt(sum omega/k))",
                    lambda: self._by_length(weighted),
                    _GROWS_WITH_K,
                ),
            }
        found: dict[str, BoundTerm] = held[weighted]
        return found

    @property
    def facts(self) -> dict[str, Any]:
        """The target, the regions, the steps and the noise with which the terms are computed."""
        try:
            steps = [float(f"{step:.6g}") for step in self._steps]
            return {
                "target": self.target.name,
                "regions": self.adaptation.partition.bins,
                "steps eps": steps,
                "noise of a minibatch": f"c x or -c x with c = {_TILT} and half of it, Var = c^2 x^2",
            }
        except SgverifyError as error:
            return {"not computed": str(error)}

    @cached_property
    def target(self) -> Target:
        """The target with U = x^2/2."""
        return build_target(load_configuration({"target": {"name": "gaussian", "dim": 1}}).target)

    @cached_property
    def adaptation(self) -> Adaptation:
        """The running rules at tau = 1, with at most `BINS` regions of energies, each of noticeable mass."""
        own = WeightedSampler.of(self.subject).adaptation
        regions = Partition.equal(0.0, 4.0, min(BINS, own.partition.bins))
        return replace(own, partition=regions, tau=1.0, temperature=1.0)

    def _chain(self, step: float, tilt: float = 0.0, adaptation: Adaptation | None = None) -> LineChain:
        return LineChain(self.subject.scheme, self.target, adaptation or self.adaptation, step, tilt=tilt)

    @cached_property
    def _steps(self) -> list[float]:
        star, partition = self._star(self._chain(_LARGEST_STEP)), self.adaptation.partition
        here, below = star, np.append(star[:1], star[:-1])
        most = np.abs(self.adaptation.multiplier(here, below, np.array(partition.widths))).max()
        return [_LARGEST_STEP * share / float(most) for share in QUARTER]

    def _star(self, chain: LineChain) -> np.ndarray:
        """theta* from the masses, by the exact recursion."""
        a = chain.adaptation
        masses = chain.chances(chain.law_of_flow(np.ones(a.partition.bins))).tolist()
        found = cumulated_weights(masses, a.zeta) if a.cumulative else visited_weights(masses)
        return np.array([float(ball.mid()) for ball in found])

    def _at(self, step: float, tilt: float = 0.0, *, flow: bool = False) -> Rest:
        held = self.__dict__.setdefault("_rests", {})
        if (step, tilt, flow) not in held:
            chain = self._chain(step, tilt)
            held[step, tilt, flow] = rest(chain, self._star(chain), flow=flow)
        found: Rest = held[step, tilt, flow]
        return found

    def _by_steps(self, distance: Any) -> Any:
        def ratios() -> tuple[float, ...]:
            limit = self._at(self._steps[0], flow=True)
            return tuple(distance(self._at(step), limit) / step for step in self._steps)

        return ratios

    def _by_noise(self) -> tuple[float, ...]:
        step, largest = self._steps[0], _TILT
        plain = self._at(step)
        noisy = [(self._at(step, largest * root), (largest * root) ** 2) for root in (1.0, 0.5)]
        return tuple(self._distance(one, plain) / variance for one, variance in noisy)

    def _by_start(self, weighted: bool) -> tuple[float, ...]:
        found = []
        for step in self._steps:
            at = self._at(step)
            starts = np.flatnonzero(np.abs(at.chain.nodes) <= REACH)
            sizes = []
            for region in range(1, len(at.theta) + 1):
                values = at.chain.shares(region)
                if weighted:
                    # For a ratio of averages, the first-order error is that of w (f - limit) over the average of w.
                    counts = at.counts
                    values = counts * (values - at.weighted_average(values)) / at.average(counts)
                sizes.append(np.abs(at.forgetting(values, starts)).max())
            found.append(step * float(max(sizes)))
        return tuple(found)

    def _by_length(self, weighted: bool) -> tuple[float, ...]:
        at, runs = self._adapting
        limit = at.weighted_average(at.chain.shares(1)) if weighted else at.average(at.chain.shares(1))
        found = []
        for length, run in zip(LENGTHS, runs, strict=True):
            omegas = sum(float(at.chain.adaptation.omega(k)) for k in range(1, length + 1))
            order = 1 / (length * at.chain.step) + float(np.sqrt(omegas / length))
            found.append(abs((run.ratio if weighted else run.visits) - limit) / order)
        return tuple(found)

    @cached_property
    def _adapting(self) -> tuple[Rest, list[AfterSteps]]:
        """For two regions: the stationary state of the weights, and the state of a run from flat weights at each length."""
        scale = 1 / max(1.0, self.adaptation.zeta)
        own = replace(self.adaptation, partition=self._pair, scale=scale, alpha=_ALPHA, offset=_OFFSET)
        chain = self._chain(self._steps[0], adaptation=own)
        running = RunningWeights(chain, LENGTHS[-1], START, points=24)
        return rest(chain, self._star(chain)), [running.after(length) for length in LENGTHS]

    @property
    def _pair(self) -> Partition:
        """Two regions with about half of the mass in the lower one."""
        chain = self._chain(self._steps[0])
        below = np.cumsum(chain.chances(chain.law_of_flow(np.ones(self.adaptation.partition.bins))))[:-1]
        edges = self.adaptation.partition.edges
        return Partition((edges[0], edges[1 + int(np.argmin(np.abs(below - 0.5)))], edges[-1]))

    def _apart(self, one: Rest, other: Rest, weighted: bool) -> float:
        """The largest difference between two averages, over all functions of the region with values in [0, 1]."""
        table = [
            np.array(
                [
                    at.weighted_average(at.chain.shares(j)) if weighted else at.average(at.chain.shares(j))
                    for j in range(1, len(at.theta) + 1)
                ]
            )
            for at in (one, other)
        ]
        return float(np.abs(table[0] - table[1]).sum() / 2)

    @staticmethod
    def _distance(one: Rest, other: Rest) -> float:
        return float(np.abs(one.theta - other.theta).max())

    def _term(self, name: str, ratios: Any, grows: float = _GROWS) -> BoundTerm:
        try:
            found = ratios()
        except SgverifyError as error:
            return BoundTerm(name, (), None, f"not computed: {error}")
        return BoundTerm(name, found, found[-1] <= max(_NOTHING, grows * max(found[:-1])))
