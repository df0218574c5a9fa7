"""Draws that are kept by a kernel: the bits and the numbers of those that torch keeps, whatever happens to the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sgverify.errors import ConfigurationError
from sgverify.samplers import GradientChoice, Row, Settings, cyclical, fixed, power
from sgverify.samplers.fused import compiler as compiling
from sgverify.samplers.fused.compiler import compiler
from sgverify.samplers.fused.kernel import Kernel
from sgverify.samplers.run import recording
from sgverify.samplers.run.recording import Draws, record
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Fixed
from sgverify.schemes import find_scheme, langevin, scheme, sqrt
from sgverify.targets import Target

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
ABOBA = find_scheme("sghmc-aboba")
IID = GradientChoice("iid", batch=4)


@scheme(langevin, memory={"old": lambda theta, *, h: theta + 0 * h})
def with_memory(theta, old, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    return theta - h * grad(old) + sqrt(T * h) * noise(), theta


@pytest.fixture(scope="module")
def data(make_target: Any) -> Target:
    return make_target("gaussian-mean", dim=3, size=40, data_seed=5)


def drawn(subject: Any, target: Target, rows: Any, compiled: Any, **how: Any) -> Draws:
    return record(Ensemble(subject, target, rows, Settings(**{"chains": 6, "compiled": compiled, **how})))


def assert_equal(one: Draws, other: Draws) -> None:
    assert list(one.values) == list(other.values)
    for name, value in other.values.items():
        assert one.values[name].dtype == value.dtype
        np.testing.assert_array_equal(one.values[name], value)
    for name in ("numbers", "steps", "energies", "log_weights"):
        found, expected = getattr(one, name), getattr(other, name)
        assert (found is None) == (expected is None)
        if expected is not None:
            np.testing.assert_array_equal(found, expected)
    assert (one.diverged, one.reached, one.complete) == (other.diverged, other.reached, other.complete)


CASES: list[tuple[Any, Any, dict[str, Any]]] = [
    (ABOBA, fixed([0.001], [90]), {"chains": 70, "first_chain": 61, "dtype": "float32", "gradient": IID}),
    (ABOBA, power([0.002], 0.3, [90]), {"burn_in": 11, "thinning": 7, "gradient": IID}),
    (ABOBA, cyclical([0.002], [90], cycles=3, threshold=0.5), {"chains": 1, "thinning": 2}),
    (with_memory, fixed([0.001], [90]), {"burn_in": 30}),
]


@pytest.mark.parametrize(("subject", "rows", "how"), CASES)
def test_kept_draws_have_the_bits_of_the_definition(
    data: Target, subject: Any, rows: Any, how: dict[str, Any]
) -> None:
    assert_equal(drawn(subject, data, rows, "kernel", **how), drawn(subject, data, rows, False, **how))


def test_a_kernel_that_takes_over_goes_on_with_the_same_draws(data: Target, in_no_time: None) -> None:
    rows, how = fixed([0.001], [90]), {"burn_in": 3, "thinning": 2, "gradient": IID}
    assert_equal(drawn(ABOBA, data, rows, "auto", **how), drawn(ABOBA, data, rows, False, **how))


def test_energies_are_those_of_one_draw_at_a_time(data: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_TOGETHER", 4)
    monkeypatch.setattr(recording, "_AT_ONCE", 1)
    rows = fixed([0.001], [40])
    assert_equal(drawn(ABOBA, data, rows, "kernel"), drawn(ABOBA, data, rows, False))


def test_a_divergence_ends_the_draws_before_it(space: Target) -> None:
    rows, euler = [Row(Fixed(1.0), (200,))], find_scheme("sgld-euler")
    plain = drawn(euler, space, rows, False, chains=70)
    assert plain.diverged
    assert_equal(drawn(euler, space, rows, "kernel", chains=70), plain)


def test_an_interrupted_run_keeps_the_draws_before(data: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = fixed([0.001], [600])
    whole, honest, blocks = drawn(ABOBA, data, rows, False), Kernel.move, []

    def interrupted(self: Kernel, *given: Any) -> Any:
        blocks.append(given)
        if len(blocks) == 5:
            raise KeyboardInterrupt
        return honest(self, *given)

    monkeypatch.setattr(Kernel, "move", interrupted)
    # Blocks of 100 steps; the first two moves are those that prove the kernel.
    monkeypatch.setattr("sgverify.samplers.fused.driver._LONGEST", 100)
    cut = drawn(ABOBA, data, rows, "kernel")
    assert not cut.complete
    assert cut.reached == len(cut.numbers) == 200
    np.testing.assert_array_equal(cut.values["theta"], whole.values["theta"][:, :200])
    np.testing.assert_array_equal(cut.energies, whole.energies[:, :200])  # type: ignore[index]


# Each a place in the C text and what stands there instead.
BUGS = {
    "a state of another chain is kept": (
        "+ at + l) * 3 + j] = X0_0[j][l]",
        "+ at + l) * 3 + j] = X0_0[j][0]",
    ),
    "the coordinates are kept in another order": ("* 3 + j] = X0_1[j][l]", "* 3 + 2 - j] = X0_1[j][l]"),
    "every state is kept in one place": ("kept_so_far++;", ""),
    "steps that are not asked for are kept": ("s == 0 && kept && kept[k]", "s == 0 && kept && k % 2"),
}


@pytest.mark.parametrize("name", BUGS)
def test_a_kernel_that_keeps_wrong_states_is_never_used(
    data: Target, name: str, in_no_time: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, (was, now) = compiling.build, BUGS[name]

    def planted(text: str, *given: Any) -> Any:
        assert text.count(was) == 1
        return honest(text.replace(was, now), *given)

    rows = fixed([0.001], [30])
    plain = drawn(ABOBA, data, rows, False)
    monkeypatch.setattr("sgverify.samplers.fused.kernel.build", planted)
    assert_equal(drawn(ABOBA, data, rows, "auto"), plain)
    with pytest.raises(ConfigurationError, match="what is kept of a state is another in C"):
        drawn(ABOBA, data, rows, "kernel")
