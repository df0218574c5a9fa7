"""numpy's draws in a user's code are torch's while it runs: handed out, replayed, seeded, and numpy's own again afterwards."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.random import default_rng, randn

from sgverify.samplers.intercepted.interception import Handed, Interception, Recording
from sgverify.samplers.intercepted.numpy_draws import NumpyDraws, TorchDrawn, is_of_numpy, with_torch_draws
from tests.tables import each_row

Z = np.array([0.5, -1.25])
U = torch.special.ndtr(torch.tensor(Z)).numpy()
MADE, OLD = np.random.default_rng(3), np.random.RandomState(3)

LAWS: dict[str, tuple[Callable[[], Any], Any]] = {
    "randn": (lambda: np.random.randn(2), Z),
    "a name of a function": (lambda: randn(2), Z),
    "standard_normal": (lambda: np.random.standard_normal((2,)), Z),
    "normal": (lambda: np.random.normal(1.0, 2.0, size=2), 1 + 2 * Z),
    "normal of arrays": (lambda: MADE.normal(Z, [1.0, 3.0]), Z + np.array([1.0, 3.0]) * Z),
    "one number": (lambda: np.append(np.random.normal(), OLD.randn()), Z),
    "rand": (lambda: np.random.rand(2), U),
    "random": (lambda: MADE.random(2), U),
    "uniform": (lambda: np.random.uniform(-1, 3, 2), 4 * U - 1),
    "exponential": (lambda: OLD.exponential(2.0, 2), -2 * np.log1p(-U)),
    "integers": (lambda: default_rng().integers(4, size=2), np.floor(4 * U)),
    "randint": (lambda: np.random.randint(1, 5, 2), 1 + np.floor(4 * U)),
    "choice": (lambda: np.random.choice([7, 8, 9], 2), 7 + np.floor(3 * U)),
    "correlated": (
        lambda: np.random.multivariate_normal([1.0, 2.0], [[4.0, 2.0], [2.0, 2.0]]),
        [1 + 2 * Z[0], 2 + Z[0] + Z[1]],
    ),
}


@each_row("law", LAWS)
def test_a_draw_of_numpy_is_handed_out(law: str) -> None:
    draw, expected = LAWS[law]
    numpy = NumpyDraws(fresh)
    with numpy, Interception(Handed(torch.tensor(Z))):
        assert not numpy.drawn
        found = draw()
    assert numpy.drawn and not NumpyDraws.entered
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_module_is_what_it_was_afterwards() -> None:
    before = dict(globals())
    numpy = NumpyDraws(test_the_module_is_what_it_was_afterwards)
    for _ in range(2):
        with pytest.raises(KeyError), numpy, numpy:
            assert isinstance(MADE, TorchDrawn) and np.random.randn is not before["np"].random.randn
            assert np.pi == before["np"].pi and np.linalg is before["np"].linalg
            raise KeyError
    assert all(globals()[name] is value for name, value in before.items())


def seeded_here(shape: Any) -> Any:
    return np.random.default_rng(5).standard_normal(shape)


def seeded_for_all(shape: Any) -> Any:
    np.random.seed(5)
    return np.random.randn(*shape)


def fresh(shape: Any) -> Any:
    return np.random.default_rng().standard_normal(shape)


def mixed(shape: Any) -> Any:
    return torch.as_tensor(np.random.randn(*shape))


def kept(shape: Any) -> Any:
    return MADE.standard_normal(shape)


@pytest.mark.parametrize(
    ("draw", "again"), [(seeded_here, True), (seeded_for_all, True), (fresh, False), (kept, False)]
)
def test_a_seed_within_a_step_repeats_its_draws(draw: Any, again: bool) -> None:
    with NumpyDraws(draw), torch.random.fork_rng(devices=[]), Recording() as recording:
        assert np.array_equal(draw((3,)), draw((3,))) is again
    assert len(recording.values) == 2
    generator = TorchDrawn(5)
    assert np.array_equal(copy.deepcopy(generator).random(3), generator.random(3))


ONE, SAME, ALIAS, OTHER = default_rng(11), default_rng(11), MADE, np.random.RandomState(11)


def two_streams_that_are_one() -> Any:
    return [generator.standard_normal(3) for generator in (ONE, SAME)]


def two_streams() -> Any:
    return [generator.standard_normal(3) for generator in (ONE, OTHER)]


def test_generators_at_one_state_give_equal_numbers_as_they_do() -> None:
    with NumpyDraws(fresh), torch.random.fork_rng(devices=[]):
        assert ALIAS is MADE
        one, same = two_streams_that_are_one()
        assert np.array_equal(one, same)
        one, other = two_streams()
        assert not np.array_equal(one, other)


def test_an_array_that_is_given_is_filled_and_a_dtype_is_kept() -> None:
    given = np.zeros(2)
    with NumpyDraws(fresh), Interception(Handed(torch.tensor(np.append(Z, Z)))):
        assert default_rng().standard_normal(out=given) is given and np.array_equal(given, Z)
        assert default_rng(0).standard_normal(2, dtype=np.float32).dtype == np.float32
    assert TorchDrawn(np.random.PCG64(4)).random() == TorchDrawn(np.random.PCG64(4)).random()
    assert TorchDrawn(4).laplace() == np.random.default_rng(4).laplace()


class Sampler:
    """What an optimizer looks like here."""

    def __init__(self, params: Any) -> None:
        self.random = np.random.default_rng(2)

    def step(self) -> Any:
        return self.random.standard_normal(2)


def test_what_is_made_within_draws_by_torch_and_what_the_code_names_decides() -> None:
    optimizer = with_torch_draws(Sampler, Sampler)([])
    with Interception(Handed(torch.tensor(Z))):
        assert np.array_equal(optimizer.step(), Z)
    assert is_of_numpy(fresh) and not is_of_numpy(mixed)
    assert not NumpyDraws(len).places and with_torch_draws(len, len) is len
