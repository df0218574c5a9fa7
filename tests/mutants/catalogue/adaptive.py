"""Bugs of adaptively weighted samplers: in the rules, in the energies, and in whose weights are whose."""

from __future__ import annotations

from typing import Any

from tests.mutants.catalogue.estimators import REGRESSION
from tests.mutants.mutant import Mutant

RULES = "sgverify.schemes.composites.composite"
RUNNING = "sgverify.samplers.composites.adapting:AdaptedWeights"
AROUND = "sgverify.samplers.composites.adapting"
ENERGY = "sgverify.samplers.gradients.differentiation:Potential._energy"
BENT = "sgverify.samplers.composites.adapting:AdaptedEstimator.evaluate"

PARTITION: dict[str, Any] = {
    "partition": {"bins": 8, "zeta": 1.5, "temperature": 0.8, "scale": 2.0, "offset": 4.0}
}
"""Reweighted to another temperature, with steps that move the weights within a short run."""

MINIBATCHES: dict[str, Any] = {"gradient": {"kind": "iid", "batch": 2}, **REGRESSION, **PARTITION}


def bug(name: str, place: str, was: str, now: str, reason: str, **rest: Any) -> Mutant:
    """A bug around AWSGLD, unless another composite is named."""
    held: dict[str, Any] = {"scheme": "awsgld", "settings": PARTITION, "cause": "weights-wrong", **rest}
    return Mutant(name=name, family="adaptive weights", place=place, was=was, now=now, reason=reason, **held)


MUTANTS = (
    bug(
        "adaptive-multiplier-sign",
        f"{RULES}:multiplier",
        "return 1 + zeta",
        "return 1 - zeta",
        "the multiplier falls where it is to rise: high energies are kept up and not flattened",
    ),
    bug(
        "adaptive-multiplier-without-temperature",
        f"{RULES}:multiplier",
        "zeta * tau / width",
        "zeta / width",
        "tau is left out of the multiplier, right at tau = 1 alone",
    ),
    bug(
        "adaptive-multiplier-without-width",
        f"{RULES}:multiplier",
        "zeta * tau / width *",
        "zeta * tau *",
        "the difference of two logs is taken for their slope",
    ),
    bug(
        "adaptive-below-the-first-wraps",
        f"{RUNNING}.multiplier",
        "self._at(region_below(region))",
        "self._at(1 + (region - 2) % len(self._numbers))",
        "(J - 1) v 1 without the maximum: the region below the first is the last, as an index of -1 is",
    ),
    bug(
        "adaptive-log-of-the-region-above",
        f"{RUNNING}.multiplier",
        "self._at(region), self._at(region_below(region))",
        "self._at((region + 1).clamp(max=len(self._numbers))), self._at(region)",
        "the slope is the one to the next region up",
    ),
    bug(
        "adaptive-bent-above-the-last-edge",
        f"{RUNNING}.multiplier",
        "torch.where(energy[..., None] > self._top, torch.inf, self._widths[region - 1])",
        "self._widths[region - 1]",
        "the last slope goes on above u_m, where it may exceed that of U: chains are then driven off",
    ),
    bug(
        "adaptive-edges-in-the-region-above",
        f"{RUNNING}.regions",
        "right=False",
        "right=True",
        "regions closed on the left: an energy on an edge is counted above it",
    ),
    bug(
        "adaptive-indicator-strict",
        f"{RULES}:reached",
        "i >= region",
        "i > region",
        "1{i > J} for 1{i >= J}: the masses are cumulated up to the region below",
    ),
    bug(
        "adaptive-indicator-reversed",
        f"{RULES}:reached",
        "i >= region",
        "i <= region",
        "masses are cumulated from above",
    ),
    bug(
        "contour-indicator-cumulated",
        f"{RULES}:visited",
        "i == region",
        "i >= region",
        "AWSGLD's indicator in CSGLD",
        scheme="csgld",
    ),
    bug(
        "contour-pull-without-exponent",
        "sgverify.schemes.composites.adaptation:Adaptation.pull",
        "importance(here, zeta=self.zeta)",
        "here",
        "theta(J) for theta(J)^zeta in front of the update: right at zeta = 1 alone",
        scheme="csgld",
    ),
    bug(
        "adaptive-pull-missing",
        f"{RULES}:random_field",
        "pull * (indicator - weight)",
        "indicator - weight",
        "the update counts every state alike, whatever its weight under the law that is sampled",
    ),
    bug(
        "adaptive-weights-inverted",
        f"{RULES}:log_importance",
        "zeta * log_weight",
        "-zeta * log_weight",
        "theta^-zeta for theta^zeta: what was flattened is flattened again",
    ),
    bug(
        "adaptive-reweighting-to-temperature-one",
        f"{RULES}:log_importance",
        "1 / temperature - 1 / tau",
        "1 - 1 / tau",
        "pi^(1 - 1/tau), right where the posterior is wanted at T = 1 alone",
    ),
    bug(
        "adaptive-reweighting-from-temperature-one",
        f"{RULES}:log_importance",
        "1 / temperature - 1 / tau",
        "1 / temperature - 1",
        "the temperature at which the chains run is forgotten in what draws count",
    ),
    bug(
        "adaptive-steps-do-not-fall",
        f"{RULES}:omega_of",
        "power(k, alpha)",
        "power(1, alpha)",
        "a constant step size: the weights never settle",
    ),
    bug(
        "adaptive-step-number-behind",
        f"{AROUND}:Adapting.after",
        "self.weighting.adapt(number, self._energy)",
        "self.weighting.adapt(1 + place, self._energy)",
        "the step sizes start anew with every block of steps",
    ),
    bug(
        "adaptive-weights-shared",
        f"{RUNNING}.adapt",
        "self.theta = moved.tensor",
        "self.theta = moved.tensor.mean(1, keepdim=True).expand_as(self.theta)",
        "one theta for all chains: they are no longer independent, and standard errors between them say nothing",
    ),
    bug(
        "adaptive-weights-in-float32",
        f"{RUNNING}.adapt",
        "self.theta = moved.tensor",
        "self.theta = moved.tensor.float().double()",
        "small steps are rounded away from weights near 1",
    ),
    bug(
        "adaptive-draws-weighed-by-old-weights",
        f"{AROUND}:Adapting.after",
        "self.weighting.adapt(number, self._energy)",
        "pass",
        "draws count by the weights before their own step has moved these",
        also=(
            (
                "self._log = self.weighting.log_importance(self._energy)",
                "self._log = self.weighting.log_importance(self._energy); self.weighting.adapt(number, self._energy)",
            ),
        ),
    ),
    bug(
        "adaptive-averages-unweighted",
        f"{AROUND}:Adapting.log_weights",
        "self._log",
        "self._log * 0",
        "every draw counts alike: the average is that of the bent law",
    ),
    bug(
        "adaptive-gradient-scaled-twice",
        BENT,
        "return gradient *",
        "return (len(self.potential.data) / 2) * gradient *",
        "N/n in front of an estimate that has it already, as (19) reads with assumption A4",
        settings=MINIBATCHES,
    ),
    bug(
        "adaptive-gradient-not-bent",
        BENT,
        "gradient * self._weights.multiplier(energy).to(gradient.dtype)",
        "gradient",
        "the weights adapt, and no gradient feels them",
    ),
    bug(
        "adaptive-energy-without-prior",
        ENERGY,
        "energy + (len(self.data) / len(chosen)) * total",
        "(len(self.data) / len(chosen)) * total",
        "the energy of a minibatch is that of its likelihood alone",
        settings=MINIBATCHES,
    ),
    bug(
        "adaptive-energy-scales-the-prior",
        ENERGY,
        "energy + (len(self.data) / len(chosen)) * total",
        "(len(self.data) / len(chosen)) * (energy + total)",
        "the prior is inside the loss of a minibatch, and scaled by N/n with it",
        settings=MINIBATCHES,
    ),
    bug(
        "adaptive-energy-not-scaled",
        ENERGY,
        "energy + (len(self.data) / len(chosen)) * total",
        "energy + total",
        "the energy of a minibatch is not scaled to all data",
        settings=MINIBATCHES,
    ),
    bug(
        "adaptive-energies-on-the-gradients-minibatch",
        f"{AROUND}:Energies.__init__",
        'stage.streams("energy")',
        'stage.streams("iid")',
        "the data that have just moved the state say what its energy is, and are not independent of it",
        settings=MINIBATCHES,
    ),
    bug(
        "adaptive-energies-of-one-minibatch",
        f"{AROUND}:Energies.prepare",
        "self._source.block(first, count)",
        "self._source.block(0, 1).expand(count, -1, -1, -1)",
        "the minibatch of the energies is drawn once",
        settings=MINIBATCHES,
    ),
    bug(
        "adaptive-weights-restarted-after-a-pause",
        f"{AROUND}:Adapting.enter",
        "if carried:",
        "if False:",
        "weights begin anew wherever a run is paused, or a row of a sweep ends",
    ),
    bug(
        "adaptive-averages-of-unequal-parts",
        "sgverify.samplers.composites.hooks:with_weights",
        "total * shrunk + value * factor for total, value in zip(sums[:-1], added, strict=True)",
        "total * shrunk + value * (factor if value is not added[-1] else 1.0) "
        "for total, value in zip(sums[:-1], added, strict=True)",
        "sum h w f over sum w: all but the last of the sums is multiplied by the step sizes",
    ),
)
