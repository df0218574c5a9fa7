"""Bugs in a run of replicas that no single swap shows: whose temperature, step, control and minibatch it is."""

from __future__ import annotations

from typing import Any

from tests.mutants.mutant import Mutant

RULES = "sgverify.schemes.composites.composite"
RUN = "sgverify.samplers.composites.exchange:Exchange"
ENERGIES = "sgverify.samplers.composites.swap_energies:SwapEnergies"

NOISY: dict[str, Any] = {
    "gradient": {"kind": "iid", "batch": 2},
    "exchange": {"ladder": [1.0, 2.0, 5.0], "step_factors": [1.0, 0.75, 0.5], "refresh": 3, "intensity": 0.5},
}
"""Three temperatures and step sizes, a control variate that grows old, and a chance of a swap that follows h_l."""


def bug(
    name: str, place: str, was: str, now: str, reason: str, scheme: str = "avr-resghmc", *, cause: str
) -> Mutant:
    """A bug of a run, under the settings `NOISY`."""
    return Mutant(
        name=name,
        family="runs of replicas",
        scheme=scheme,
        place=place,
        was=was,
        now=now,
        settings=NOISY,
        reason=reason,
        cause=cause,
    )


BINDING = "sgverify.samplers.reading.binding:bind_settings"
MOVED = "self.controls = Controls(*(self._moved(tensor, source) for tensor in self.controls.tensors))"
KEPT = "self._moved(self.controls.at, source)"

MUTANTS = (
    bug(
        "replica-temperatures-reversed",
        BINDING,
        "else temperatures",
        "else temperatures[::-1].copy()",
        "the hottest replica runs where the coldest is meant to, while swaps go by the right temperatures",
        cause="temperature-misplaced",
    ),
    bug(
        "replica-temperatures-all-cold",
        BINDING,
        "else temperatures",
        "else 0 * temperatures + temperatures[0]",
        "every replica runs at T_1: the ladder is in the swaps alone",
        cause="temperature-misplaced",
    ),
    bug(
        "replica-temperatures-square-rooted",
        f"{RUN}.temperatures",
        "float(self.choice.ladder[row.replica])",
        "float(self.choice.ladder[row.replica]) ** 0.5",
        "the ladder is taken for one of standard deviations",
        cause="temperature-misplaced",
    ),
    bug(
        "replica-temperatures-without-base",
        f"{RUN}.temperatures",
        "settings.temperature * float",
        "float",
        "the ladder is taken for the temperatures themselves, right at temperature 1 alone",
        cause="temperature-misplaced",
    ),
    bug(
        "replica-step-factors-ignored",
        f"{RUN}.rows",
        "self.choice.step_factors or (1.0,)",
        "(1.0,)",
        "every replica takes the steps of the first one",
        cause="schedule-wrong",
    ),
    bug(
        "replica-step-factors-reversed",
        f"{RUN}.rows",
        "enumerate(factors)",
        "enumerate(factors[::-1])",
        "the hottest replica takes the steps of the coldest",
        cause="schedule-wrong",
    ),
    bug(
        "swap-energies-on-the-gradients-stream",
        f"{ENERGIES}.__init__",
        '"swap")',
        '"iid")',
        "energies are estimated on the minibatch that moves theta in the next step, and are not independent of it",
        cause="swap-rule",
    ),
    bug(
        "swap-energies-on-old-minibatches",
        f"{ENERGIES}.minibatch",
        "block(number, 1)",
        "block(number // 2, 1)",
        "two swaps in turn compare energies of the same data",
        cause="swap-rule",
    ),
    bug(
        "swap-variance-on-one-minibatch",
        f"{ENERGIES}.spread",
        "self._variances.block(event, 1), left",
        "self._variances.block(0, 1), left",
        "every variance is measured on the same data: smoothing averages nothing out",
        cause="swap-rule",
    ),
    bug(
        "swap-variance-on-the-minibatch-of-swaps",
        f"{ENERGIES}.__init__",
        '"swap-variance"',
        '"swap"',
        "the variance by which a swap is corrected comes from the data that a swap compares",
        cause="swap-rule",
    ),
    bug(
        "swap-control-never-refreshed",
        f"{RUN}.after",
        "if due and self",
        "if False and self",
        "the control stays at the start, and its correlation with the energies is lost as chains move on",
        cause="swap-rule",
    ),
    bug(
        "swap-coefficient-reset",
        f"{RUN}.after",
        "self.energies.control_at(state[0], self.controls.coefficient)",
        "self.energies.control_at(state[0])",
        "what was learnt of the coefficient is forgotten at each refresh",
        cause="swap-rule",
    ),
    bug(
        "swap-coefficient-never-learnt",
        f"{RUN}.take_measured",
        "if self.composite.adaptive and",
        "if False and",
        "Algorithm 2 runs as Algorithm 1",
        cause="swap-rule",
    ),
    bug(
        "swap-coefficient-learnt-uncalled",
        f"{RUN}.take_measured",
        "if self.composite.adaptive and",
        "if True and",
        "Algorithm 1 runs as Algorithm 2",
        scheme="vr-resghmc",
        cause="swap-rule",
    ),
    bug(
        "swap-smoothing-swapped",
        f"{RULES}:smoothed",
        "(1 - gamma) * before + gamma * measured",
        "gamma * before + (1 - gamma) * measured",
        "gamma weighs what was in place of what is measured: hardly anything is smoothed",
        cause="swap-rule",
    ),
    bug(
        "swap-variance-smoothed-backwards",
        f"{RUN}.take_measured",
        "smoothed(self._variance, found.variance,",
        "smoothed(found.variance, self._variance,",
        "the old and the new variance in each other's places",
        cause="swap-rule",
    ),
    bug(
        "swap-variance-measured-once",
        f"{RUN}.take_measured",
        "known, exchange_rules.smoothed(self._variance, found.variance, gamma=gamma), found.variance",
        "known, self._variance, found.variance",
        "the first variance stays, whatever is measured after it",
        cause="swap-rule",
    ),
    bug(
        "swap-coefficient-left-behind",
        f"{RUN}._swap",
        MOVED,
        f"self.controls = Controls({KEPT}, self._moved(self.controls.full, source), self.controls.coefficient)",
        "the coefficient stays with the temperature while the control that it was learnt for moves on",
        cause="swap-rule",
    ),
    bug(
        "swap-full-energy-left-behind",
        f"{RUN}._swap",
        MOVED,
        f"self.controls = Controls({KEPT}, self.controls.full, self._moved(self.controls.coefficient, source))",
        "the full energy of another control is added: energies are biased by the difference",
        cause="swap-rule",
    ),
    bug(
        "swap-variance-moved-along",
        f"{RUN}._swap",
        "self._walkers = self._moved(self._walkers, source)",
        "self._walkers = self._moved(self._walkers, source); self._variance = self._moved(self._variance, source)",
        "the variance of a pair is taken for that of a state: pairs get each other's",
        cause="swap-rule",
    ),
    bug(
        "swap-intensity-at-the-first-step-size",
        f"{RUN}._swap",
        "torch.tensor(steps, ",
        "torch.tensor([row.at(1) for row in self._stage.rows], ",
        "r h_1 for r h_l: on decreasing steps swaps are tried too often",
        cause="swap-rule",
    ),
    bug(
        "swap-uniform-of-every-block",
        f"{RUN}.prepare",
        "first, count, _FINEST",
        "0, count, _FINEST",
        "the numbers that decide on swaps begin anew with every block of steps",
        cause="swap-rule",
    ),
    bug(
        "swap-pairs-stuck",
        f"{RUN}._swap",
        "low % 2 == (number // self.choice.every) % min(2, self.replicas - 1)",
        "low % 2 == 0",
        "the same pairs are tried at every step, and the ladder falls apart into pairs",
        cause="swap-rule",
    ),
)
