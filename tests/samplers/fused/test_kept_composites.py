"""Draws of composites that a kernel keeps, and what is recorded of them, are those of torch."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from sgverify.errors import ConfigurationError
from sgverify.samplers import GradientChoice, Settings, fixed, power
from sgverify.samplers.composites.exchange import ExchangeChoice
from sgverify.samplers.fused import compiler as compiling
from sgverify.samplers.fused.compiler import compiler
from sgverify.samplers.run.recording import Draws, Outlet, record
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes.composites.composite import COMPOSITES
from sgverify.targets import Target

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")

THREE = ExchangeChoice(ladder=(1.0, 1.5, 2.0), every=2, intensity=50.0, step_factors=(1.0, 0.9, 0.8))
IID = GradientChoice("iid", batch=4)


DRAWN: dict[str, tuple[str, str, Any, dict[str, Any]]] = {
    "of three replicas, every second state": (
        "avr-resghmc",
        "gaussian",
        power([0.002], 0.3, [61]),
        {"gradient": IID, "exchange": THREE, "burn_in": 7, "thinning": 3},
    ),
    "at each step, swaps at every second one": (
        "resgld",
        "gaussian",
        fixed([0.002], [40]),
        {"gradient": IID, "exchange": ExchangeChoice(ladder=(1.0, 1.01), every=2), "dtype": "float32"},
    ),
    "until some chains diverge": (
        "resgld",
        "double-well",
        fixed([0.2], [60]),
        {"gradient": GradientChoice("full"), "exchange": ExchangeChoice(ladder=(1.0, 3.0)), "start": 2.0},
    ),
    "of adapted weights": (
        "csgld",
        "double-well",
        power([0.01], 0.3, [60]),
        {"gradient": GradientChoice("full"), "burn_in": 9, "thinning": 2, "start": 3.0},
    ),
}


@pytest.mark.by_default("until some chains diverge", "of adapted weights")
@pytest.mark.parametrize("case", DRAWN)
def test_draws_and_their_statistics_are_those_of_torch(
    targets: dict[str, Target], case: str, in_no_time: None
) -> None:
    name, target, rows, how = DRAWN[case]

    def drawn(compiled: Any, at_once: int | None = None) -> list[Draws]:
        parts: list[Draws] = []

        def take(part: Draws) -> None:
            # A view of arrays that are written to again.
            parts.append(copy.deepcopy(part))

        settings = Settings(chains=6, compiled=compiled, **how)
        outlet = None if at_once is None else Outlet(take, at_once)
        last = record(Ensemble(COMPOSITES[name], targets[target], rows, settings), energy=True, outlet=outlet)
        return [*parts, last]

    (plain,) = drawn(False)
    for found in (drawn("kernel"), drawn("auto"), drawn("kernel", 5)):
        joined = {
            **{key: np.concatenate([part.values[key] for part in found], 1) for key in plain.values},
            **{key: np.concatenate([part.statistics[key] for part in found], 1) for key in plain.statistics},
            "energies": np.concatenate([part.energies for part in found], 1),
        }
        np.testing.assert_array_equal(np.concatenate([part.numbers for part in found]), plain.numbers)
        for key, value in {**plain.values, **plain.statistics, "energies": plain.energies}.items():
            np.testing.assert_array_equal(joined[key], value)
            assert joined[key].dtype == value.dtype
        if plain.log_weights is not None:
            weights = np.concatenate([part.log_weights for part in found], 1)
            np.testing.assert_array_equal(weights, plain.log_weights)
        assert (found[-1].diverged, found[-1].reached) == (plain.diverged, plain.reached)


@pytest.mark.by_default("walker", "chance")
@pytest.mark.parametrize("name", ["walker", "chance", "swaps", "state"])
def test_a_kernel_that_keeps_something_else_is_never_used(
    data: Target, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = compiling.build
    was, now = {
        "walker": ("* 1 + j] = W0[j][l];", "* 1 + j] = W1[j][l];"),
        "chance": ("* 1 + j] = P0[j][l];", "* 1 + j] = P1[j][l];"),
        "swaps": ("* 1 + j] = N0[j][l];", "* 1 + j] = N1[j][l] + 1;"),
        "state": ("* 3 + j] = X0_0[j][l];", "* 3 + j] = X1_0[j][l];"),
    }[name]

    def planted(text: str, *given: Any) -> Any:
        assert was in text
        return honest(text.replace(was, now), *given)

    monkeypatch.setattr("sgverify.samplers.fused.kernel.build", planted)
    settings = Settings(chains=6, compiled="kernel", gradient=IID, exchange=THREE)
    with pytest.raises(ConfigurationError, match="what is kept of a state is another in C"):
        record(Ensemble(COMPOSITES["vr-resgld"], data, fixed([0.002], [40]), settings))
