"""Runs of composites in a kernel have the bits of the hooks' own runs, and a kernel with a bug is never used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sgverify.errors import ConfigurationError, Unreached
from sgverify.samplers import GradientChoice, Settings, fixed, power, sample
from sgverify.samplers.composites.exchange import ExchangeChoice
from sgverify.samplers.fused import compiler as compiling
from sgverify.samplers.fused.choosing import pays
from sgverify.samplers.fused.compiler import compiler
from sgverify.samplers.fused.driver import Fused
from sgverify.samplers.fused.kernel import Kernel
from sgverify.samplers.run.averages import Averages
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes import find_scheme
from sgverify.schemes.composites.adaptation import PartitionChoice
from sgverify.schemes.composites.composite import COMPOSITES
from sgverify.targets import Target
from tests.samplers.conftest import averaged_in_pieces

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")

SQUARE, FIRST = (lambda theta, *_: theta[..., 0] ** 2), (lambda theta, *_: theta[..., 0])
THREE = ExchangeChoice(ladder=(1.0, 1.5, 2.0), every=2, intensity=50.0, step_factors=(1.0, 0.9, 0.8))
IID = GradientChoice("iid", batch=4)


def run(name: str, target: Target, rows: Any, compiled: Any, **how: Any) -> Averages:
    settings = Settings(**{"chains": 6, "compiled": compiled, **how})
    return sample(COMPOSITES[name], target, rows, observables=[SQUARE, FIRST], settings=settings)


def assert_equal(one: Averages, other: Averages) -> None:
    np.testing.assert_array_equal(one.values, other.values)
    for name, value in other.last.items():
        np.testing.assert_array_equal(one.last[name], value)
    assert one.diverged == other.diverged


CASES: dict[str, tuple[str, str, Any, dict[str, Any]]] = {
    "three replicas, step sizes of their own that decrease, swaps tried at random": (
        "avr-resghmc",
        "gaussian",
        power([0.001, 0.002], 0.3, [35, 70]),
        {"gradient": IID, "exchange": THREE, "chains": 70, "first_chain": 61},
    ),
    "float32, minibatches without replacement of a likelihood": (
        "vr-resgld",
        "logistic",
        fixed([0.001], [50]),
        {
            "gradient": GradientChoice("without-replacement", batch=20),
            "exchange": ExchangeChoice(ladder=(1.0, 1.5), refresh=15),
            "dtype": "float32",
        },
    ),
    "momenta that stay, and states of a few steps": (
        "vr-resghmc",
        "gaussian",
        fixed([0.001], [60]),
        {"gradient": IID, "exchange": ExchangeChoice(momentum="kept"), "burn_in": 10, "thinning": 3},
    ),
    "noise that is measured at every step": (
        "resgld",
        "gaussian",
        fixed([0.001, 0.002], [60]),
        {"gradient": IID, "chains": 19, "first_chain": 61},
    ),
    "noise that is measured on repeated minibatches, in float32": (
        "avr-resgld",
        "logistic",
        fixed([0.001], [50]),
        {
            "gradient": GradientChoice("iid", batch=3),
            "exchange": ExchangeChoice(
                ladder=(1.0, 1.5, 4.0), refresh=7, every=3, variance="repeated", repeats=4
            ),
            "dtype": "float32",
        },
    ),
    "measured subsets of data, without a control variate": (
        "resgld",
        "logistic",
        fixed([0.001], [40]),
        {
            "gradient": GradientChoice("without-replacement", batch=7),
            "exchange": ExchangeChoice(ladder=(1.0, 1.1), refresh=6),
        },
    ),
    "energies of all data": (
        "resgld",
        "logistic",
        fixed([0.001], [60]),
        {"gradient": GradientChoice("full")},
    ),
    "masses of regions in float32": (
        "csgld",
        "double-well",
        fixed([0.01], [60]),
        {"dtype": "float32", "gradient": GradientChoice("full"), "chains": 70, "first_chain": 61},
    ),
    "smooth weights to a power, step sizes that decrease and weigh, one of whose rows diverges": (
        "awsgld",
        "double-well",
        [*power([0.01, 0.02], 0.3, [25, 50]), *fixed([0.3], [25, 50])],
        {
            "gradient": GradientChoice("full"),
            "partition": PartitionChoice(weights="smooth", zeta=0.7, bins=7),
            "burn_in": 3,
            "thinning": 2,
            "start": 3.0,
        },
    ),
    "weights that adapt by minibatches of their own, gradients bent by the energies of theirs": (
        "csgld",
        "gaussian",
        fixed([0.001, 0.002], [50]),
        {"gradient": IID, "chains": 19, "first_chain": 61},
    ),
    "the same of a likelihood in float32, with blocks of permutations": (
        "awsgld",
        "logistic",
        fixed([0.001], [40]),
        {
            "gradient": GradientChoice("reshuffle", batch=6),
            "partition": PartitionChoice(weights="smooth", zeta=0.7, bins=7),
            "dtype": "float32",
        },
    ),
    "snapshots of every replica": (
        "avr-resgld",
        "logistic",
        fixed([0.001], [40]),
        {
            "gradient": GradientChoice("svrg", batch=4, refresh=13),
            "exchange": ExchangeChoice(ladder=(1.0, 1.5), refresh=9),
            "dtype": "float32",
        },
    ),
    "a target without data, and chains that diverge": (
        "resgld",
        "double-well",
        fixed([0.01, 0.2], [60]),
        {"gradient": GradientChoice("full"), "exchange": ExchangeChoice(ladder=(1.0, 3.0)), "start": 4.0},
    ),
}


@pytest.mark.by_default(
    "three replicas, step sizes of their own that decrease, swaps tried at random",
    "momenta that stay, and states of a few steps",
    "masses of regions in float32",
    "smooth weights to a power, step sizes that decrease and weigh, one of whose rows diverges",
    "weights that adapt by minibatches of their own, gradients bent by the energies of theirs",
    "snapshots of every replica",
    "a target without data, and chains that diverge",
)
@pytest.mark.parametrize("case", CASES)
def test_a_kernel_swaps_with_the_bits_of_the_hooks(
    targets: dict[str, Target], case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, target, rows, how = CASES[case]
    moved = []
    honest = Fused.move
    monkeypatch.setattr(Fused, "move", lambda *given: moved.append(1) or honest(*given))
    assert_equal(
        run(name, targets[target], rows, "kernel", **how), run(name, targets[target], rows, False, **how)
    )
    assert moved


def test_a_kernel_that_takes_over_and_pauses_goes_on_with_the_same_swaps(
    data: Target, in_no_time: None
) -> None:
    rows, how = fixed([0.001], [90]), {"gradient": IID, "exchange": ExchangeChoice(ladder=(1.0, 1.5))}
    plain = run("avr-resgld", data, rows, False, **how)
    settings = Settings(chains=6, compiled="auto", **how)  # type: ignore[arg-type]
    given = (COMPOSITES["avr-resgld"], data, rows)
    found = averaged_in_pieces((37,), *given, observables=[SQUARE, FIRST], settings=settings)
    np.testing.assert_array_equal(found, plain.values)


@pytest.mark.by_default("sgld-euler")
@pytest.mark.parametrize("name", ["resgld", "sgld-euler"])
def test_a_kernel_that_would_be_another_one_at_later_step_sizes_leaves_its_steps_to_torch(
    data: Target, name: str, in_no_time: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, how = power([0.001], 0.3, [30, 60, 90]), dict[str, Any](gradient=IID, chains=6)
    scheme: Any = COMPOSITES.get(name) or find_scheme(name)
    honest, asked = Kernel.meet, []

    def meet(self: Any, h: Any) -> None:
        asked.append(h)
        # Two windows are proved, and one block of steps is taken.
        if len(asked) > 3:
            raise Unreached("a step whose operations depend on the step size")
        honest(self, h)

    monkeypatch.setattr(Kernel, "meet", meet)

    def found(compiled: Any) -> Averages:
        return sample(scheme, data, rows, observables=[SQUARE], settings=Settings(**how, compiled=compiled))

    assert_equal(found("auto"), found(False))
    assert len(asked) > 3
    asked.clear()
    with pytest.raises(ConfigurationError, match="depend on the step size"):
        found("kernel")


def test_a_proof_takes_as_many_steps_as_rare_swaps_need(data: Target) -> None:
    choice = ExchangeChoice(every=25)
    for steps, worth in ((200, False), (1000, True)):
        settings = Settings(chains=6, gradient=IID, exchange=choice)
        ensemble = Ensemble(COMPOSITES["resgld"], data, fixed([0.001], [steps]), settings)
        assert pays(ensemble.leg(ensemble.begin()), range(steps), 1.0) is worth


def test_torch_keeps_weights_that_adapt_by_another_likelihood_than_that_of_gradients(data: Target) -> None:
    with pytest.raises(ConfigurationError, match="another likelihood than that of the gradients"):
        run("csgld", data, fixed([0.001], [20]), "kernel", gradient=GradientChoice("iid", batch=4, scale=0.5))


# Each a place in the C text and what stands there instead.
BUGS = {
    "a pair is tried at the other pair's steps": ("/ 2 % 2 == 0)", "/ 2 % 2 == 1)"),
    "swaps are tried at half of their steps": (
        "if ((first + k + 1) % 2 == 0 && ",
        "if ((first + k + 1) % 4 == 0 && ",
    ),
    "all pairs decide by one uniform number": (
        "uniform_keys + (s * REPLICAS + r) * 2",
        "uniform_keys + (s * REPLICAS + 0) * 2",
    ),
    "a pair decides by one uniform number at all steps": (
        "take_uniforms(&uniform[1], first + k,",
        "take_uniforms(&uniform[1], first,",
    ),
    "chains decide by the uniform numbers of others": (
        "uniform[r].chain = chain,",
        "uniform[r].chain = chain + LANES,",
    ),
    "uniform numbers are below another bound": (
        "uniform[r].size = FINEST",
        "uniform[r].size = FINEST - 1000",
    ),
    "all swaps compare energies on one minibatch": ("(first + k + 1) / 1 * 1", "4"),
    "a swap compares energies on a part of its minibatch": (
        "take_apart(&apart[0], ((first",
        "take_apart(&apart[0], 4 * ((first",
    ),
    "all measurements visit one minibatch": ("(first + k + 1) / 10 * 1", "1"),
    "the noise is measured at half of its steps": ("% 10 == 0) {", "% 20 == 0) {"),
    "the noise of one pair is that of another": (
        "memcpy(V1, NV1, sizeof V1);",
        "memcpy(V1, NV0, sizeof V1);",
    ),
    "a sample has one datum less": ("q < 4;", "q < 3;"),
    "a sample's sum leaves out a datum": (
        "for (int j = 0; j < 4; j++) EACH(l) act0_",
        "for (int j = 0; j < 3; j++) EACH(l) act0_",
    ),
    "what is not finite is smoothed": (" == 0)", " != 1)"),
    "the energy at a new control variate is the old one": ("memcpy(F2, NF2, sizeof F2);", ""),
    "replicas share their noise": (
        "noise_keys + (s * REPLICAS + r) * noise_stride",
        "noise_keys + (s * REPLICAS) * 2",
    ),
    "the temperatures of a pair are exchanged": ("number[0]", "number[1]"),
    "the control variate stays behind": ("memcpy(A1, NA1, sizeof A1);", ""),
    "a walker stays behind": ("memcpy(W1, NW1, sizeof W1);", ""),
    "steps count that do not": (
        "counted[(k * rows + s) * REPLICAS + 1]",
        "counted[(k * rows + s) * REPLICAS + 0] + 1",
    ),
}


@pytest.mark.by_default(
    "all pairs decide by one uniform number",
    "the energy at a new control variate is the old one",
)
@pytest.mark.parametrize("name", BUGS)
def test_a_kernel_with_a_bug_in_its_swaps_is_never_used(
    data: Target, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, (was, now) = compiling.build, BUGS[name]

    def planted(text: str, *given: Any) -> Any:
        assert was in text
        return honest(text.replace(was, now), *given)

    monkeypatch.setattr("sgverify.samplers.fused.kernel.build", planted)
    with pytest.raises(ConfigurationError, match=r"in C"):
        run("vr-resgld", data, fixed([0.002], [40]), "kernel", gradient=IID, exchange=THREE, chains=16)


# The same for adapted weights.
WEIGHT_BUGS = {
    "energies fall into other regions": ("!(fw[", "!(2 * fw["),
    "the weights stay as they are": ("memcpy(M0, NM0, sizeof M0);", ""),
    "omega stands still": ("+ (k * rows + s) * NUMBERS", "+ (0 * k * rows + s) * NUMBERS"),
    "the state before gives the weight in averages": ("memcpy(L0, NL0, sizeof L0);", ""),
    "step sizes do not weigh": ("weights[(k * rows + s) * REPLICAS + 0]", "1.0"),
    "weights adapt by the next step's minibatch": ("/ 1 * 1 - 1) * 4", "/ 1 * 1 - 0) * 4"),
    "another minibatch's energy bends a gradient": (
        "take_indices(&chosen, ((first + k) * MINIBATCHES + 0)",
        "take_indices(&chosen, ((first + k) * MINIBATCHES + 1)",
    ),
    "a minibatch's deviations are summed without the last datum": ("b < 4; b++", "b < 3; b++"),
}


@pytest.mark.by_default(
    "omega stands still",
    "weights adapt by the next step's minibatch",
)
@pytest.mark.parametrize("name", WEIGHT_BUGS)
def test_a_kernel_with_a_bug_in_its_weights_is_never_used(
    targets: dict[str, Target], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, (was, now) = compiling.build, WEIGHT_BUGS[name]

    def planted(text: str, *given: Any) -> Any:
        assert was in text
        return honest(text.replace(was, now), *given)

    monkeypatch.setattr("sgverify.samplers.fused.kernel.build", planted)
    over_data = "minibatch" in name
    rows, how = fixed([0.001 if over_data else 0.01], [20]), {"dtype": "float32", "chains": 16}
    gradient = IID if over_data else GradientChoice("full")
    target = targets["gaussian" if over_data else "double-well"]
    with pytest.raises(ConfigurationError, match=r"in C"):
        run("csgld", target, rows, "kernel", gradient=gradient, **how)


@pytest.mark.by_default("(first + k) % 13 == 0-(first + k) % 13 == 1")
@pytest.mark.parametrize(
    ("was", "now"),
    [("(first + k) % 13 == 0", "(first + k) % 13 == 1"), ("memcpy(Q1_0, NQ1_0, sizeof Q1_0);", "")],
)
def test_a_kernel_whose_replicas_take_wrong_snapshots_is_never_used(
    targets: dict[str, Target], was: str, now: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = compiling.build

    def planted(text: str, *given: Any) -> Any:
        assert was in text
        return honest(text.replace(was, now), *given)

    monkeypatch.setattr("sgverify.samplers.fused.kernel.build", planted)
    gradient = GradientChoice("svrg", batch=4, refresh=13)
    with pytest.raises(ConfigurationError, match=r"in C"):
        run("resgld", targets["logistic"], fixed([0.001], [40]), "kernel", gradient=gradient)
