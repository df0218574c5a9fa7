"""Bugs in the averages: which states are counted, how much each, and what the sums are kept in."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

SUMS, SETTLE = (
    "sgverify.samplers.run.averages:RunningSums.sums",
    "sgverify.samplers.run.averages:RunningSums.settle",
)

MUTANTS = (
    Mutant(
        name="uniform-weights-with-decreasing-steps",
        family="averages",
        scheme="sgld-euler",
        place=SUMS,
        was="np.where(weighted, steps, 1.0)",
        now="np.ones_like(steps)",
        reason="the average of a decreasing schedule is 1/L sum phi: another average, which even loses a logarithm",
        cause="average-wrong",
    ),
    Mutant(
        name="weights-summed-as-counts",
        family="averages",
        scheme="sgld-euler",
        place=SETTLE,
        was="sums.weights[sums.counted[:, i], i]",
        now="np.ones(sums.counted[:, i].sum())",
        reason="the sum h_l phi(X_l) is divided by the number of steps and not by sum h_l",
        cause="average-wrong",
    ),
    Mutant(
        name="float32-sums",
        family="averages",
        scheme="sgld-euler",
        place="sgverify.samplers.run.averages:RunningSums.__init__",
        was="dtype=torch.float64",
        now="dtype=torch.float32",
        reason="a float64 run is averaged in float32: an error that grows with the number of steps",
        cause="precision",
    ),
    Mutant(
        name="burn-in-one-short",
        family="averages",
        scheme="sgld-euler",
        place=SUMS,
        was="past > 0",
        now="past >= 0",
        reason="the last state of the burn-in is averaged too",
        cause="average-wrong",
    ),
    Mutant(
        name="thinning-counts-from-the-first-state",
        family="averages",
        scheme="sgld-euler",
        place=SUMS,
        was="past % self._thinning == 0",
        now="past % self._thinning == 1 % self._thinning",
        reason="the first state after the burn-in is kept and then every third, where every third is kept",
        cause="average-wrong",
    ),
    Mutant(
        name="burn-in-of-a-row-ignored",
        family="averages",
        scheme="sgld-euler",
        place="sgverify.samplers.run.schedules:burn_ins",
        was="burn_in if row.burn_in is None else row.burn_in",
        now="burn_in",
        reason="every row leaves out what the settings say, also one with a burn-in of its own",
        cause="average-wrong",
    ),
    Mutant(
        name="average-over-one-too-many",
        family="averages",
        scheme="sghmc-aboba",
        place="sgverify.samplers.run.averages:RunningSums._averages",
        was="sums / (length if",
        now="sums / (length + 1 if",
        settings={"steps": 20},
        reason="the sum over L states is divided by L + 1",
        cause="average-wrong",
    ),
    Mutant(
        name="burn-in-forgotten",
        family="averages",
        scheme="sgld-euler",
        place=SUMS,
        was=" - np.array([self._burn_in[row] for row in rows])",
        now=" - np.zeros(len(rows), dtype=int)",
        reason="the states of the burn-in are averaged with the others",
        cause="average-wrong",
    ),
    Mutant(
        name="thinning-forgotten",
        family="averages",
        scheme="sgld-euler",
        place=SUMS,
        was="past % self._thinning == 0",
        now="True",
        reason="every state is averaged where every third is asked for",
        cause="average-wrong",
    ),
)
