"""Steps in C against the same steps on torch: the same bits of every chain, whatever is batched, at every step size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from sgverify.errors import ConfigurationError
from sgverify.samplers import GradientChoice, Row, Settings, cyclical, fixed, power, sample
from sgverify.samplers.fused import choosing, driver
from sgverify.samplers.fused import compiler as compiling
from sgverify.samplers.fused.compiler import compiler
from sgverify.samplers.fused.drawing import equal_bits
from sgverify.samplers.reading import constants
from sgverify.samplers.run.leg import Leg
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Fixed
from sgverify.schemes import find_scheme, langevin, scheme, sqrt, thermostat
from sgverify.schemes.definition.mathematics import dot, exp, softplus
from sgverify.targets import Target
from tests.conftest import LogCapture
from tests.sampled_states import sample_states
from tests.samplers.conftest import averaged_in_pieces

needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
pytestmark = needs_compiler
TESTS = [lambda theta, *p: theta[..., 0] ** 2, lambda theta, *p: theta[..., -1] * theta[..., 0]]
ABOBA = find_scheme("sghmc-aboba")


@scheme(thermostat)
def nose_hoover(theta, p, xi, *, h, grad, noise, dim, D, T):  # type: ignore[no-untyped-def]
    p = (1 - xi * h) * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    theta = theta + h * p
    return theta, p, xi + h * (dot(p, p) / dim - T)


@scheme(langevin, memory={"old": lambda theta, *, h: theta + 0 * h, "z": lambda theta, *, noise: noise()})
def handing_on(theta, old, z, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    """Memory that is the old state and the draw as they are, and two minibatches in a step."""
    fresh = noise()
    return theta - h * (grad(old) + grad.fresh()(theta)) / 2 + sqrt(T * h) * (fresh + z), theta, fresh


@pytest.fixture(scope="module")
def many_data(make_target: Any) -> Target:
    """The posterior of a mean in five dimensions, N = 60, with a matrix of its own."""
    noise = [[2.0 if i == j else 0.25 for j in range(5)] for i in range(5)]
    return make_target("gaussian-mean", dim=5, size=60, data_seed=5, noise_precision=noise)


def run(subject: Any, target: Target, rows: Any, compiled: Any = "kernel", **how: Any) -> np.ndarray:
    settings = Settings(**{"chains": 7, "compiled": compiled, **how})
    found = sample(subject, target, rows, observables=TESTS, settings=settings)
    last = [values.mean(-1, keepdims=True).transpose(2, 0, 1) for values in found.last.values()]
    return np.concatenate([found.values[:, :, -1], *last])


CASES: list[tuple[Any, dict[str, Any]]] = [
    (find_scheme("sgld-euler"), {"chains": 1}),
    (find_scheme("sgld-euler"), {"chains": 130, "first_chain": 61, "dtype": "float32", "gradient": GradientChoice("iid", batch=4)}),
    (ABOBA, {"chains": 3, "first_chain": 14, "gradient": GradientChoice("iid", batch=40), "coupled": True}),
    (ABOBA, {"chains": 20, "dtype": "float32", "start_momentum": "stationary", "burn_in": 3, "thinning": 4}),
    (nose_hoover, {"dtype": "float32", "gradient": GradientChoice("iid", batch=33, scale=0.5)}),
    (handing_on, {"chains": 65, "gradient": GradientChoice("iid", batch=5)}),
]  # fmt: skip


@pytest.mark.by_default("subject0-how0", "subject1-how1", "subject3-how3", "subject5-how5")
@pytest.mark.parametrize(("subject", "how"), CASES)
def test_a_kernel_has_the_bits_of_the_definition(
    many_data: Target, subject: Any, how: dict[str, Any]
) -> None:
    same_bits(many_data, subject, how)


@pytest.mark.by_default("subject0-how0")
@pytest.mark.parametrize(("subject", "how"), [CASES[1], CASES[-1]])
def test_a_kernel_as_shipped_has_the_bits_of_the_definition(
    many_data: Target, subject: Any, how: dict[str, Any], as_shipped: None
) -> None:
    same_bits(many_data, subject, how)


def same_bits(many_data: Target, subject: Any, how: dict[str, Any]) -> None:
    for rows in ([Row(Fixed(0.0005), (9,)), Row(Fixed(0.001), (70,))], power([0.001, 0.002], 0.4, [10, 70])):
        plain = run(subject, many_data, rows, False, **how)
        assert np.array_equal(run(subject, many_data, rows, **how), plain)
        assert np.isfinite(plain).all()


def test_cyclical_steps_have_the_bits_of_the_definition(many_data: Target) -> None:
    rows = cyclical([0.001], [60], cycles=3, threshold=0.5)
    assert np.array_equal(run(ABOBA, many_data, rows), run(ABOBA, many_data, rows, False))


def test_a_chain_has_the_same_bits_whatever_it_is_batched_with(many_data: Target) -> None:
    how: dict[str, Any] = {"gradient": GradientChoice("iid", batch=4), "compiled": "kernel"}
    rows = fixed([0.01], [50])
    wide = sample_states(ABOBA, many_data, rows, at=[50], settings=Settings(chains=70, **how))
    for first in (0, 62, 69):
        one = sample_states(
            ABOBA, many_data, rows, at=[50], settings=Settings(chains=1, first_chain=first, **how)
        )
        assert np.array_equal(one.values["theta"][0, 0, 0], wide.values["theta"][0, 0, first])


def test_a_paused_run_goes_on_with_the_same_bits(many_data: Target) -> None:
    settings = Settings(chains=5, gradient=GradientChoice("iid", batch=4), compiled="kernel")
    rows = power([0.01], 0.4, [40, 90])
    whole = sample(ABOBA, many_data, rows, observables=TESTS, settings=settings)
    parts = averaged_in_pieces((17, 57), ABOBA, many_data, rows, observables=TESTS, settings=settings)
    assert np.array_equal(parts, whole.values)


def test_a_run_that_takes_a_kernel_on_its_way_is_paused_and_shows_its_progress(
    many_data: Target, in_no_time: None, compiled_texts: list[str]
) -> None:
    rows, how = power([0.01], 0.4, [40, 90]), {"chains": 5, "gradient": GradientChoice("iid", batch=4)}
    plain = sample(ABOBA, many_data, rows, observables=TESTS, settings=Settings(compiled=False, **how))
    shares: list[float] = []
    whole = sample(
        ABOBA, many_data, rows, observables=TESTS, settings=Settings(**how), progress=shares.append
    )
    parts = averaged_in_pieces((17, 57), ABOBA, many_data, rows, observables=TESTS, settings=Settings(**how))
    assert compiled_texts
    for found in (whole.values, parts):
        assert np.array_equal(found, plain.values)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_ctrl_c_ends_a_run_by_a_kernel(many_data: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, settings = fixed([0.01], [40, 900]), Settings(chains=5, compiled="kernel")
    whole = sample(ABOBA, many_data, rows, observables=TESTS, settings=settings)

    def pressed(share: float) -> None:
        if share > 0.3:
            raise KeyboardInterrupt

    monkeypatch.setattr(driver, "_LONGEST", 100)
    cut = sample(ABOBA, many_data, rows, observables=TESTS, settings=settings, progress=pressed)
    assert not cut.complete
    assert np.array_equal(cut.values[:, :, 0], whole.values[:, :, 0])
    assert np.isnan(cut.values[:, :, 1]).all()


def test_a_row_that_diverges_ends_at_the_same_step_and_the_others_go_on(space: Target) -> None:
    euler = find_scheme("sgld-euler")
    rows = [Row(Fixed(0.02), (200,)), Row(Fixed(1.0), (200,))]
    found = [
        sample(euler, space, rows, observables=TESTS, settings=Settings(chains=70, compiled=compiled))
        for compiled in (False, "kernel")
    ]
    assert found[0].diverged[1] is not None
    assert found[0].diverged == found[1].diverged
    assert np.array_equal(found[0].values, found[1].values, equal_nan=True)


@pytest.fixture
def compiled_texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is given to the compiler."""
    texts: list[str] = []
    honest = compiling.build
    monkeypatch.setattr(
        "sgverify.samplers.fused.kernel.build",
        lambda text, *given: texts.append(text) or honest(text, *given),
    )
    yield texts


def test_a_short_run_takes_no_kernel(line: Target, compiled_texts: list[str]) -> None:
    rows = fixed([0.02], [60])
    assert np.array_equal(run(ABOBA, line, rows, "auto"), run(ABOBA, line, rows, False))
    assert not compiled_texts


def test_a_long_run_takes_the_kernel_by_itself(
    line: Target, compiled_texts: list[str], in_no_time: None
) -> None:
    rows = fixed([0.02], [60])
    assert np.array_equal(run(ABOBA, line, rows, "auto"), run(ABOBA, line, rows, False))
    assert compiled_texts


def first_leg(target: Target, steps: int) -> Leg:
    ensemble = Ensemble(ABOBA, target, fixed([0.02], [steps]), Settings(chains=1))
    return ensemble.leg(ensemble.begin())


def test_a_kernel_is_built_only_where_that_pays(line: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 100 steps beside those of its proof, for a kernel that is built, or takes longer than the run to build."""
    made: list[bool] = []
    monkeypatch.setattr(
        driver, "Kernel", lambda leg, rule, asked, patience: made.append(patience >= compiling.SLOWEST)
    )
    monkeypatch.setattr(driver, "_prove", lambda leg, kernel: None)
    tried = first_leg(line, 100)
    proof = sum(map(len, choosing.windows(tried, tried.steps)))
    leg = first_leg(line, 100 + proof)
    monkeypatch.setattr(driver, "Fused", lambda *given: given)
    for pace in (None, choosing.PROVED / 101, choosing.PROVED / 99, compiling.SLOWEST / 99):
        if choosing.may_have_kernel(leg, pace, proved=True):
            driver.fused(leg, pace)
    assert made == [False, True]


# Each a place in the C text and what stands there instead.
BUGS = {
    "the group of a chain is forgotten": ("(u64)(chain / LANES) * BLOCKS", "(u64)0"),
    "the last datum is never drawn": ("((w[l] >> 32) * bound)", "((w[l] >> 32) * (bound - 1))"),
    "a normal's sine lacks its factor": ("sine * (real)2 * cosine", "sine * cosine"),
    "a minibatch is of the step after": (
        "(first + k) * MINIBATCHES + m",
        "(first + k + 1) * MINIBATCHES + m",
    ),
    "the noise of another step": ("((first + k) * DRAWS + draw)", "((first + k + 1) * DRAWS + draw)"),
    "the noise begins again": ("((first + k) * DRAWS + draw)", "((first + k) % 1024 * DRAWS + draw)"),
    "a sum forgets its weights": ("weight0 = weights[(k * rows + s) * REPLICAS + 0]", "weight0 = 1"),
}
LONG = {"the noise begins again": 1100}


@pytest.mark.by_default(
    "the group of a chain is forgotten",
    "the last datum is never drawn",
    "a normal's sine lacks its factor",
    "the noise begins again",
)
@pytest.mark.parametrize("name", BUGS)
def test_a_kernel_with_a_bug_is_never_used(
    many_data: Target, name: str, in_no_time: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, (was, now) = compiling.build, BUGS[name]

    def planted(text: str, *given: Any) -> Any:
        assert text.count(was) == 1
        return honest(text.replace(was, now), *given)

    monkeypatch.setattr("sgverify.samplers.fused.kernel.build", planted)
    how = {"chains": 5, "first_chain": 62, "gradient": GradientChoice("iid", batch=4)}
    rows = fixed([0.02], [LONG.get(name, 20)])
    plain = run(ABOBA, many_data, rows, False, **how)
    assert np.array_equal(run(ABOBA, many_data, rows, "auto", **how), plain)
    with pytest.raises(
        ConfigurationError, match=r"end at another .* than the definition|is another one in C"
    ):
        run(ABOBA, many_data, rows, **how)


def moved_on_torch(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of steps that the definition takes in the proofs of kernels, from now on."""
    honest, found = driver._show, []

    def counted(leg: Leg, kernel: Any, steps: range, asked: Any) -> bool:
        found.append(len(steps))
        return honest(leg, kernel, steps, asked)

    monkeypatch.setattr(driver, "_show", counted)
    return found


def test_a_text_is_proved_once_and_each_later_leg_by_its_first_and_last_steps(
    many_data: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = {"gradient": GradientChoice("iid", batch=4)}
    other = {**how, "chains": 9, "first_chain": 16, "friction": 3.0, "temperature": 0.5, "seed": 4}
    rows = [Row(Fixed(0.03), (60,)), Row(Fixed(0.01), (90,))]
    expected = run(ABOBA, many_data, rows, False, **other)
    shown = moved_on_torch(monkeypatch)
    run(ABOBA, many_data, [Row(Fixed(0.02), (70,)), Row(Fixed(0.04), (100,))], **how)
    whole = [*shown]
    assert min(whole) > choosing.CHECKED
    # One text serves other step sizes, rows, chains, seeds, friction and temperature; the second leg begins where a row ends.
    assert np.array_equal(run(ABOBA, many_data, rows, **other), expected)
    assert shown[len(whole) :] == [choosing.CHECKED] * 4
    # Steps that move, another scheme and another target are other circumstances or texts.
    for subject, target, rows in (
        (ABOBA, many_data, power([0.02], 1 / 3, [80])),
        (find_scheme("sghmc-baoab"), many_data, fixed([0.02], [80])),
    ):
        shown.clear()
        run(subject, target, rows, **how)
        assert len(shown) > 1 and min(shown) > choosing.CHECKED


def test_a_few_steps_prove_no_text(many_data: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, was = compiling.build, "((first + k) * DRAWS + draw)"
    # At one step alone, which a short run does not reach and a later one has in its middle.
    monkeypatch.setattr(
        "sgverify.samplers.fused.kernel.build",
        lambda text, *given: honest(
            text.replace(was, "((first + k + (first + k == 4)) * DRAWS + draw)"), *given
        ),
    )
    euler, rows = find_scheme("sgld-euler"), fixed([0.01], [30])
    run(euler, many_data, fixed([0.01], [4]))
    with pytest.raises(ConfigurationError, match="end at another"):
        run(euler, many_data, rows)


STEEP, DAMPED = 1, 1


@scheme(langevin)
def with_a_number_that_changes(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    # Far out alone: exp(-1000) and less is nothing beside 1.
    return (
        theta
        - h * DAMPED / (1 + exp(10 * (100 - dot(theta, theta)))) * theta
        - h * grad(theta)
        + sqrt(2 * T * h) * noise()
    )


@pytest.mark.by_default("DAMPED")
@pytest.mark.parametrize("name", ["STEEP", "DAMPED"])
def test_a_kernel_is_that_of_the_functions_as_they_are_now(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wall, and a pull, that no step near the start of a run feels."""

    def wall(theta: Any) -> Any:
        return STEEP * softplus(dot(theta, theta) - 100) / 20

    target, rows = Target("wall", 1, wall), fixed([0.1], [1000])
    how: dict[str, Any] = {"start": 0.0, "chains": 4}
    found = []
    for value in (1, 3):
        monkeypatch.setitem(globals(), name, value)
        found.append(run(with_a_number_that_changes, target, rows, **how))
        assert np.array_equal(found[-1], run(with_a_number_that_changes, target, rows, False, **how))
    assert not np.array_equal(*found)


def test_a_run_takes_at_once_what_is_proved_and_refuses_other_constants(
    many_data: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, other = fixed([0.02], [80]), fixed([0.03], [60])
    plain = run(ABOBA, many_data, other, False)
    run(ABOBA, many_data, rows)
    moves: list[int] = []
    honest = driver.Fused.move
    monkeypatch.setattr(
        driver.Fused, "move", lambda self, *given: moves.append(given[1]) or honest(self, *given)
    )
    assert np.array_equal(run(ABOBA, many_data, other, "auto"), plain)
    assert moves == [0]
    # A wrong derivation of the constants shows in the first steps of the next leg.
    again = constants.Derivation.again
    monkeypatch.setattr(
        constants.Derivation, "again", lambda self, given: again(self, [given[0] * 1.001, *given[1:]])
    )
    assert np.array_equal(run(ABOBA, many_data, other, "auto"), plain)
    with pytest.raises(ConfigurationError, match="end at another"):
        run(ABOBA, many_data, other)


def test_a_proof_tells_0_from_its_opposite() -> None:
    one = torch.tensor([[1.0, 0.0], [-0.0, 2.0]])
    assert equal_bits(one, one.clone())
    assert torch.equal(one, one.abs())
    assert not equal_bits(one, one.abs())
    assert not equal_bits(one, one + torch.tensor([[0.0, 0.0], [0.0, 1e-6]]))


@scheme(langevin)
def by_signs(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    return theta - h * grad(theta) + sqrt(T * h) * (noise.two_point() + noise())


@pytest.mark.parametrize(("subject", "coupled"), [(ABOBA, "brownian"), (by_signs, True), (by_signs, False)])
def test_draws_that_are_handed_to_a_kernel_have_the_bits_of_the_definition(
    space: Target, subject: Any, coupled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Increments of one Brownian path, and draws of other laws than the normal one."""
    rows = [Row(Fixed(0.02), (9,)), Row(Fixed(0.01), (40,))]
    how = {"coupled": coupled, "dtype": "float32"}
    plain = run(subject, space, rows, False, **how)
    assert np.array_equal(run(subject, space, rows, **how), plain)
    honest = compiling.build

    def planted(text: str, *given: Any) -> Any:
        assert "handed[((((k * DRAWS" in text
        return honest(text.replace("handed[((((k * DRAWS", "handed[((((0 * DRAWS"), *given)

    monkeypatch.setattr("sgverify.samplers.fused.kernel.build", planted)
    driver.forget_proofs()
    with pytest.raises(ConfigurationError, match="end at another"):
        run(subject, space, rows, **how)


def test_a_tensor_s_exponential_has_the_bits_of_the_definition(line: Target) -> None:
    """The friction of this thermostat is exp(-h xi), where xi is a variable of the state."""
    rows = fixed([0.01, 0.03], [25, 40])
    scheme = find_scheme("sgnht-aboba")
    assert np.array_equal(run(scheme, line, rows), run(scheme, line, rows, False))


def test_without_a_compiler_the_run_goes_on_without_it_and_says_so_once(
    line: Target, in_no_time: None, monkeypatch: pytest.MonkeyPatch, caplog: LogCapture
) -> None:
    compiling.tell_of_slow_steps.cache_clear()
    monkeypatch.setattr(compiling, "compiler", lambda: None)
    monkeypatch.setattr(compiling, "_BUILT", {})
    rows = fixed([0.02], [20])
    for _ in range(2):
        assert np.array_equal(run(ABOBA, line, rows, "auto"), run(ABOBA, line, rows, False))
    (told,) = caplog.messages
    assert "there is no C compiler" in told and "sgverify[kernel]" in told
    with pytest.raises(ConfigurationError, match="there is no C compiler"):
        run(ABOBA, line, rows)
    monkeypatch.setattr(compiling, "compiler", lambda: ["false"])
    with pytest.raises(ConfigurationError, match="false fails"):
        run(ABOBA, line, rows)
