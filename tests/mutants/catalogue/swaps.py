"""Bugs in how replicas swap: the rule, the energies that it compares, and what is moved."""

from __future__ import annotations

from typing import Any

from tests.mutants.mutant import Mutant

RULES = "sgverify.schemes.composites.composite"
RUN = "sgverify.samplers.composites.exchange"
ENERGIES = "sgverify.samplers.composites.swap_energies"

NOISY: dict[str, Any] = {
    "gradient": {"kind": "iid", "batch": 2},
    "exchange": {"ladder": [1.0, 3.0], "refresh": 3},
}
"""Energies of two data, a gap of inverse temperatures that is not 1, and a control variate that grows old."""


def bug(
    name: str, place: str, was: str, now: str, reason: str, scheme: str = "vr-resgld", **rest: Any
) -> Mutant:
    """A bug of the swaps, under the settings `NOISY`."""
    return Mutant(
        name=name,
        family="replica exchange",
        scheme=scheme,
        place=place,
        was=was,
        now=now,
        settings=NOISY,
        reason=reason,
        cause="swap-rule",
        **rest,
    )


MUTANTS = (
    bug(
        "swap-without-correction",
        f"{RULES}:log_swap_rate",
        "energy_1 - energy_2 - gap * variance / F",
        "energy_1 - energy_2",
        "noisy energies put into the chance of exact ones: swaps favour whichever replica's noise was lucky",
    ),
    bug(
        "swap-correction-without-half",
        f"{RULES}:log_swap_rate",
        "variance / F",
        "variance",
        "the correction without its 1/2, as with F = 1",
        source="deng2021, the paper's preset",
    ),
    bug(
        "swap-correction-with-wrong-sign",
        f"{RULES}:log_swap_rate",
        "- gap * variance",
        "+ gap * variance",
        "the correction added: noise makes swaps likelier",
    ),
    bug(
        "swap-correction-without-gap",
        f"{RULES}:log_swap_rate",
        "gap * variance / F",
        "variance / F",
        "one of the two factors 1/T1 - 1/T2 of the correction forgotten, which is 1 in many tests",
    ),
    bug(
        "swap-rule-with-wrong-sign",
        f"{RULES}:log_swap_rate",
        "energy_1 - energy_2",
        "energy_2 - energy_1",
        "the colder replica is given the higher energy",
    ),
    bug(
        "swap-branches-inverted",
        f"{RUN}:Exchange._swap",
        "[:, low] < exponent",
        "[:, low] >= exponent",
        "the states are swapped where the proposal is refused, and kept where it is accepted",
        source="jax-sgmc",
    ),
    bug(
        "swap-chance-compared-as-its-logarithm",
        f"{RUN}:Exchange._swap",
        "[:, low] < exponent",
        "[:, low].exp() < exponent",
        "u compared with log S in place of S",
    ),
    bug(
        "swap-momentum-without-theta",
        f"{RUN}:Exchange._exchanged",
        'if scheme.shapes[name] == SCALAR or (name == "p" and self.choice.momentum == "kept")',
        'if name == "theta"',
        "momenta are exchanged, and the positions that they belong to stay",
        scheme="resghmc",
    ),
    bug(
        "swap-momentum-not-rescaled",
        f"{RULES}:rescaled",
        "p * sqrt(new / old)",
        "p",
        "a momentum of the hot replica goes to the cold one as it is: E p^2 grows with every swap",
        scheme="resghmc",
    ),
    bug(
        "swap-momentum-rescaled-backwards",
        f"{RULES}:rescaled",
        "new / old",
        "old / new",
        "the factor of the way back",
        scheme="resghmc",
    ),
    bug(
        "swap-one-way",
        f"{RUN}:Exchange._swap",
        "source[:, low + 1] -= accepted.long()",
        "pass",
        "the colder replica takes the state of the hotter one, which keeps it: theta1 = theta2; theta2 = theta1 without a copy",
    ),
    bug(
        "swap-temperatures-midway",
        f"{RUN}:Exchange._swap",
        "return self._exchanged(state, source, T)",
        "self._temperatures = T.flip(1); return state",
        "temperatures are exchanged in place of states, and the steps still run at the old ones",
    ),
    bug(
        "swap-control-left-behind",
        f"{RUN}:Exchange._swap",
        "self.controls = Controls(*(self._moved(tensor, source) for tensor in self.controls.tensors))",
        "pass",
        "the control variate stays with the temperature, as printed: its noise after a swap is that of unrelated energies",
        source="deng2021, Algorithm 1 as printed",
    ),
    bug(
        "swap-variance-after-refresh",
        f"{RUN}:Exchange.after",
        "self._measure(state[0], number // self.period)",
        "self.controls = self.energies.control_at(state[0]); self._measure(state[0], number // self.period)",
        "the variance is measured when the control has just been refreshed, where there is none",
        source="deng2021, Algorithms 1 and 2 as printed",
    ),
    bug(
        "swap-variance-of-one-energy",
        f"{ENERGIES}:SwapEnergies.measure",
        "differences = grouped - torch.cat([grouped[:, :, 1:], grouped[:, :, -1:]], dim=2)",
        "differences = grouped",
        "the variance of one energy in place of that of the difference of two on one minibatch",
    ),
    bug(
        "swap-variance-of-a-datum",
        f"{ENERGIES}:SwapEnergies.spread",
        "left / self._batch",
        "left",
        "the spread of single data in place of that of their mean over the minibatch",
    ),
    bug(
        "swap-variance-of-plain-energies",
        f"{ENERGIES}:SwapEnergies.estimates",
        "estimates = reduced_energy(",
        "_ = reduced_energy(",
        "the variance of the energies without their control variate, which swaps do not compare",
    ),
    bug(
        "swap-variance-unsmoothed-by-itself",
        f"{RUN}:Exchange.take_measured",
        "found.variance, gamma=gamma), found.variance",
        "found.variance, gamma=gamma), gamma * found.variance",
        "the first measurement smoothed against the 0 that nobody has measured",
    ),
    bug(
        "swap-control-with-wrong-sign",
        f"{ENERGIES}:SwapEnergies.control_at",
        "torch.full_like(full, -1.0)",
        "torch.full_like(full, 1.0)",
        "c = 1: the control variate adds its noise",
    ),
    bug(
        "swap-control-of-minibatch-total",
        f"{ENERGIES}:SwapEnergies.control_at",
        "full = self._potential.energy(theta)[..., None]",
        "full = self._potential.energy(theta)[..., None] * 0",
        "the energy of all data at the control forgotten: the estimate is of the change since, and the replicas' zeros differ",
    ),
    bug(
        "swap-energies-without-scale",
        f"{ENERGIES}:SwapEnergies.at",
        "energy = self._potential.energy_over(theta, chosen)[..., None]",
        "energy = (self._potential.energy_over(theta, chosen)[..., None]) * (self._batch / self._size)",
        "N/n missing in the energies that are compared; the prior loses it too",
        scheme="resgld",
    ),
    bug(
        "swap-uniform-of-all-chains",
        f"{RUN}:Exchange.prepare",
        "self.log_uniforms = ",
        "drawn[:] = drawn[..., :1]; self.log_uniforms = ",
        "the number that decides on a swap is drawn once for all chains, which swap together",
        source="resgld in published code, one random.uniform() for the batch",
    ),
    bug(
        "swap-uniform-once",
        f"{RUN}:Exchange.prepare",
        "self.log_uniforms = ",
        "drawn[:] = drawn[:1]; self.log_uniforms = ",
        "the number that decides on a swap is drawn once for a block of steps",
    ),
    bug(
        "swap-energies-of-one-minibatch",
        f"{ENERGIES}:SwapEnergies.minibatch",
        "return self._swaps.block(number, 1)[0]",
        "return self._swaps.block(0, 1)[0]",
        "the minibatch of the energies is drawn once, and every swap compares energies of the same data",
    ),
)
