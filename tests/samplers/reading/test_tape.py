"""A step played from its tape, and compiled, against the definition itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from sgverify.errors import Unreached
from sgverify.samplers import GradientChoice, Row, Settings, fixed, power, sample
from sgverify.samplers.gradients.estimators import MinibatchEstimator
from sgverify.samplers.reading import motion, tape
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.constants import Clock, Constant
from sgverify.samplers.reading.tape import Tape, record, room
from sgverify.samplers.run.schedules import Fixed
from sgverify.schemes import dot, exp, find_scheme, langevin, scheme, sqrt, thermostat
from sgverify.targets import Target

ABOBA = find_scheme("sghmc-aboba")
TESTS = [lambda theta, *p: theta[..., 0] ** 2, lambda theta, *p: theta[..., -1] * theta[..., 0]]


@scheme(thermostat)
def nose_hoover(theta, p, xi, *, h, grad, noise, dim, D, T):  # type: ignore[no-untyped-def]
    p = exp(-xi * h) * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    theta = theta + h * p
    return theta, p, xi + h * (dot(p, p) / dim - T)


@scheme(langevin, memory={"old": lambda theta, *, h: theta + 0 * h, "z": lambda theta, *, noise: noise()})
def handing_on(theta, old, z, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    """Memory that is the old state and the draw as they are."""
    fresh = noise()
    return theta - h * grad(old) + sqrt(T * h) * (fresh + z), theta, fresh


SCHEMES = [
    *(find_scheme(name) for name in ("sgld-euler", "sghmc-aboba", "sghmc-baoab", "sghmc-euler")),
    nose_hoover,
    handing_on,
]


def run(subject: Any, target: Target, rows: Any, **how: Any) -> np.ndarray:
    keys = {name: how.pop(name) for name in ("tape", "block", "hoist") if name in how}
    # Not by a kernel in C, which may be quicker.
    settings = Settings(**{"chains": 7, "compiled": False, **how})
    found = sample(subject, target, rows, observables=TESTS, settings=settings, **keys)
    last = [values.mean(-1, keepdims=True).transpose(2, 0, 1) for values in found.last.values()]
    return np.concatenate([found.values[:, :, 0], *last])


@pytest.mark.by_default(
    "float64-sgld-euler",
    "float64-sghmc-baoab",
    "float64-nose_hoover",
    "float64-handing_on",
    "float32-sghmc-euler",
    "float32-sghmc-aboba",
    "float32-handing_on",
)
@pytest.mark.parametrize("subject", SCHEMES, ids=lambda subject: subject.name)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_played_step_has_the_bits_of_the_definition(
    space: Target, subject: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [Row(Fixed(0.02), (9,)), Row(Fixed(0.05), (40,))]
    plain = run(subject, space, rows, dtype=dtype, tape=False)
    played: list[int] = []
    honest = motion.Motion._play
    monkeypatch.setattr(motion.Motion, "_play", lambda self, *given: played.append(1) or honest(self, *given))
    for block in (None, 1, 7):
        assert np.array_equal(run(subject, space, rows, dtype=dtype, block=block), plain)
        assert len(played) > 30
    assert np.isfinite(plain).all()


def test_a_moving_step_size_is_the_present_one(space: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = power([0.05, 0.1], 0.4, [50])
    plain = run(ABOBA, space, rows, tape=False)
    assert np.array_equal(run(ABOBA, space, rows, block=10), plain)
    # The planted bug: constants that stay those of the step that was recorded. The tape shows other bits, and is dropped.
    monkeypatch.setattr(Tape, "steady", True)
    proved: list[bool] = []
    honest = motion.Motion.move

    def move(self: Any, *given: Any) -> Any:
        new = honest(self, *given)
        proved.append(self._proved)
        return new

    monkeypatch.setattr(motion.Motion, "move", move)
    assert np.array_equal(run(ABOBA, space, rows, block=10), plain)
    assert not any(proved)


@pytest.mark.parametrize("kind", ["iid", "reshuffle", "symmetric", "without-replacement"])
def test_a_played_step_is_given_its_own_minibatches(
    wide_posterior: Target, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, choice = fixed([0.01, 0.02], [9]), GradientChoice(kind, batch=4)
    plain = run(ABOBA, wide_posterior, rows, gradient=choice, tape=False)
    played: list[int] = []
    honest = motion.Motion._play

    def play(self: motion.Motion, *given: Any) -> Any:
        played.append(1)
        return honest(self, *given)

    monkeypatch.setattr(motion.Motion, "_play", play)
    # Blocks of four steps: the minibatches of each are drawn anew.
    assert np.array_equal(run(ABOBA, wide_posterior, rows, gradient=choice, block=4), plain)
    assert len(played) == 7
    # The planted bug: those of the step before. The tape shows other bits, and is dropped.
    honest_given = MinibatchEstimator.given
    monkeypatch.setattr(MinibatchEstimator, "given", lambda self, step: honest_given(self, max(0, step - 1)))
    played.clear()
    assert np.array_equal(run(ABOBA, wide_posterior, rows, gradient=choice, block=4), plain)
    assert len(played) <= 1


def test_a_step_whose_gradient_does_something_else_is_not_recorded(
    wide_posterior: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(motion, "record", lambda *given, **how: pytest.fail("recorded"))
    run(ABOBA, wide_posterior, fixed([0.01], [9]), gradient=GradientChoice("svrg", batch=4))


@pytest.mark.parametrize(("kind", "hoist"), [("additive", True), ("iid", False), ("full", False)])
def test_a_gradient_that_visits_data_or_adds_noise_is_recorded(
    wide_posterior: Target, kind: str, hoist: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = {"gradient": GradientChoice(kind, **({} if kind == "full" else {"batch": 4})), "hoist": hoist}
    plain = run(ABOBA, wide_posterior, fixed([0.01], [9]), tape=False, **how)
    played, honest = [], motion.Motion._play

    def play(self: motion.Motion, *given: Any) -> Any:
        played.append(1)
        return honest(self, *given)

    monkeypatch.setattr(motion.Motion, "_play", play)
    assert np.array_equal(run(ABOBA, wide_posterior, fixed([0.01], [9]), **how), plain)
    assert len(played) == 7


def recorded(step: Any, *inputs: torch.Tensor, fixed: Any = ()) -> Tape:
    return record(lambda: step(*inputs), inputs, fixed, Clock())[0]


def test_what_cannot_be_played_again_is_refused() -> None:
    x, outside = torch.ones(2, 3, 1), torch.ones(1)
    with pytest.raises(Unreached, match="comes from outside"):
        recorded(lambda x: [x * outside], x)
    with pytest.raises(Unreached, match="in place"):
        recorded(lambda x: [x.add_(1)], x)
    with pytest.raises(Unreached, match="list of tensors"):
        recorded(lambda x: [torch.stack([x, x])], x)
    with pytest.raises(Unreached, match="several tensors"):
        recorded(lambda x: [x.unbind()[0]], x)
    made = recorded(lambda x: [x * outside], x, fixed=[outside])
    assert torch.equal(made.play((x,), (), (3 * outside,))[0], 3 * x)


def test_a_tape_that_differs_from_the_definition_is_dropped(
    space: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run(ABOBA, space, fixed([0.05], [30]), tape=False)
    monkeypatch.setitem(tape._INTO, torch.Tensor.add, torch.sub)
    assert np.array_equal(run(ABOBA, space, fixed([0.05], [30])), plain)


def test_tensors_are_used_again_only_when_nothing_reads_them() -> None:
    """A step with views, a value that is returned twice and one that is read late."""

    def step(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        early = x * 2
        part = early[..., :1]
        middle = (x + y) * y - x
        late = middle * part + early
        return [late, x, late, part * middle, y * y]

    x, y = torch.rand(2, 3, 4), torch.rand(2, 3, 4)
    made, result = record(lambda: step(x, y), (x, y), (), Clock(), overwritten=1)
    for seed in range(3):
        torch.manual_seed(seed)
        a, b = torch.rand(2, 3, 4), torch.rand(2, 3, 4)
        expected, outputs = step(a.clone(), b), room(result)
        made.play_into((a, b), (), (), outputs)
        assert all(torch.equal(found, value) for found, value in zip(outputs, expected, strict=True))


def test_constants_are_asked_anew() -> None:
    clock = Clock()
    h = Constant(np.array([[0.1, 0.2], [0.3, 0.4]]), clock, passing=True)
    state = torch.ones(2, 5, 1, dtype=torch.float64)

    def step() -> list[torch.Tensor]:
        return [(Chains(state) * (2 * h)).tensor]

    step()
    made, _ = record(step, (state,), (), clock)
    assert not made.steady
    clock.now = 1
    assert made.play((state,), made.met(state), ())[0][:, 0, 0].tolist() == [0.6, 0.8]
