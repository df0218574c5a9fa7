"""Code with its own loss, data and minibatches: held against a density apart from it, and never PASS without one."""

from __future__ import annotations

import re

import pytest
import torch

from sgverify import adapt, verify
from sgverify.errors import UserError
from sgverify.samplers.intercepted.black_box import BlackBox
from tests.zoo import training as zoo

DENSITY = "tests.zoo.training:posterior"


def judged(found, density=DENSITY, target=None, **more):
    (item,) = verify(
        found,
        checks=["own-loss"],
        adapter={"density": density, **more} if density or more else None,
        **({"target": {"dim": target}} if target else {}),
    )
    return item


def slow(*given):
    """A case for the slow tests: another of the same kind is among the others."""
    return pytest.param(*given, marks=pytest.mark.power)


@pytest.mark.parametrize("found", [zoo.right, slow(zoo.by_permutation), slow(zoo.by_chances)])
def test_right_code_conforms(found):
    item = judged(found)
    assert item.outcome == "pass" and "mean and noise are right" in item.reason


@pytest.mark.by_default(
    "without_n-data count 1/2 times: N/n is missing, with n = 2 of N = 4",
    "unequal_chances-no combination of the prior.*unequal chances, from 0.2 to 0.4",
    "half_the_noise-the noise has 1/2 times the variance",
)
@pytest.mark.parametrize(
    "found, cause",
    [
        (zoo.without_n, "data count 1/2 times: N/n is missing, with n = 2 of N = 4"),
        slow(zoo.mean_of_batch, "the mean of a minibatch is not multiplied by N = 4"),
        slow(zoo.prior_of_every_datum, "the prior counts 4 times: with every one of the N = 4 data"),
        slow(zoo.prior_of_the_batch, "the prior counts 2 times"),
        slow(zoo.without_prior, "the prior is missing"),
        (zoo.one_datum_short, "datum 3 .* is never drawn.*chooses among 3 outcomes, and there are 4 data"),
        (zoo.unequal_chances, "no combination of the prior.*unequal chances, from 0.2 to 0.4"),
        (zoo.half_the_noise, "the noise has 1/2 times the variance"),
    ],
)
def test_a_wrong_factor_is_named(found, cause):
    item = judged(found)
    assert item.outcome == "fail" and re.search(cause, item.reason), item.reason


def clamped(theta, h):
    g = zoo.gradient(theta, torch.randint(zoo.N, (zoo.n,)))
    return zoo.moved(theta, h, g).clamp(min=0.0)


def hotter_below_0(theta, h):
    g = zoo.gradient(theta, torch.randint(zoo.N, (zoo.n,)))
    return theta + (zoo.moved(theta, h, g) - theta) * torch.where(theta < 0, 1.2, 1.0)


def clipped_far_out(theta, h):
    g = zoo.gradient(theta, torch.randint(zoo.N, (zoo.n,)))
    return zoo.moved(theta, h, g * min(1.0, 6.0 / float(g.norm())))


@pytest.mark.parametrize("found", [slow(clamped), hotter_below_0, clipped_far_out])
def test_code_that_is_right_about_the_mean_alone_is_seen_from_farther_states(found):
    item = judged(found)
    assert item.outcome == "fail", item.reason
    assert "states" in item.scope.states.told


@pytest.mark.power  # 1.2 s
def test_a_temperature_that_the_code_takes_is_tried_at_another_value():
    right, wrong = judged(zoo.tempered), judged(zoo.temperature_squared)
    assert right.outcome == "pass" and right.reason.endswith("and so at T = 4")
    assert wrong.outcome == "fail" and "the noise has 4 times the variance" in wrong.reason
    assert wrong.reason.endswith("at T = 4, where it is called with other numbers")


@pytest.mark.power
def test_a_training_loop_is_run_as_it_is_and_left_as_it_was():
    with zoo.changed() as is_changed:
        assert judged(zoo.epoch, map={"lr": "h/2"}).outcome == "pass"
        wrong = judged(zoo.epoch_without_n, map={"lr": "h/2"})
        assert wrong.outcome == "fail" and "N/n is missing, with n = 2 of N = 4" in wrong.reason
        assert not is_changed()


def test_the_minibatches_of_a_loader_are_outcomes():
    step = adapt(zoo.epoch, map={"lr": "h/2"}, density=DENSITY)
    box = BlackBox(step, lambda theta, minibatch: theta, 2, {})
    theta = torch.tensor([0.3, -0.4], dtype=torch.float64)
    with zoo.changed() as is_changed:
        laws = box.laws((theta,), 0.01)
        assert {len(law.chances) for law in laws if law.chances} == {24}
        (moved,), _ = box.run((theta,), torch.zeros(len(laws), dtype=torch.float64), 1e-6)
        assert not is_changed()
    every = sum(zoo.gradient(theta, torch.arange(4)[k : k + 2]) for k in (0, 2)) / 2
    assert torch.allclose(moved - theta, -1e-6 * every, rtol=1e-4)


@pytest.mark.power  # 0.7 s
def test_without_a_density_the_answer_is_never_pass():
    found = verify(zoo.right, target={"dim": 2})
    assert found.outcome == "undecided"
    assert "the prior and N/n (--set adapter.density=FILE:NAME)" in str(found)
    assert "states other than those from which it is called" in " ".join(str(found).split())
    # The noise is known without a density.
    wrong = verify(zoo.half_the_noise, checks=["own-loss"], target={"dim": 2})
    assert [item.outcome for item in wrong] == ["fail"]


def test_a_plain_function_is_a_density():
    plain = "tests.zoo.training:of_all"
    wrong = judged(zoo.without_prior, plain, target=2)
    assert wrong.outcome == "fail" and "the mean displacement is not that of the density" in wrong.reason


@pytest.mark.power
def test_right_code_conforms_to_a_plain_function():
    assert judged(zoo.right, "tests.zoo.training:of_all", target=2).outcome == "pass"


def test_a_density_of_another_dimension_is_refused(tmp_path):
    file = tmp_path / "one.py"
    file.write_text(
        "import sgverify\n@sgverify.log_density(dim=1)\ndef one(theta):\n    return -(theta**2).sum(-1)\n"
    )
    with pytest.raises(
        UserError, match="has dimension 1.*trains 2 parameters; expected a density of dimension 2"
    ):
        judged(zoo.epoch, f"{file}:one", map={"lr": "h/2"})
    with pytest.raises(UserError, match="nothing that the code is called with is the step size"):
        judged(zoo.epoch, map={"lr": 0.1})
