"""The check of purity: it names what a step keeps, and lets every pure one pass."""

from __future__ import annotations

import functools
import math
import random

import numpy as np
import pytest
import torch

from sgverify import torch_step, verify
from sgverify.configuration import load_configuration
from sgverify.law.chosen_step import states_of, taker
from sgverify.schemes import kinetic, langevin, thermostat
from sgverify.subject.binding import make_subject

pytestmark = pytest.mark.usefixtures("short_runs")

COUNTED = [0]
RANDOM = np.random.default_rng(1)
IID = {"kind": "iid", "batch": 3}
SMALL = {"target": {"name": "gaussian-mean", "size": 7, "dim": 2}}


def judged(function, dynamics=kinetic, **options):
    found = verify(torch_step(dynamics)(function), SMALL, checks=["pure-step"], **options)
    assert [(item.check, item.method) for item in found] == [("pure-step", "exact")]
    return found[0]


def leapt(theta, p, h, g, D, T):
    p = p - h * (g + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p, p


def class_default(theta, p, *, h, grad, D, T, settings={"lr": 1.0}):  # noqa: B006 - the bug
    settings["lr"] *= 0.5
    return leapt(theta, p, h * settings["lr"], grad(theta), D, T)


class Momentum:
    kept = None

    def step(self, theta, *, h, grad, T):
        # The momentum belongs to the class: every chain has the last one's.
        last = torch.zeros_like(theta) if Momentum.kept is None else Momentum.kept
        Momentum.kept = 0.5 * last - h * grad(theta)
        return theta + Momentum.kept + math.sqrt(2 * T * h) * torch.randn_like(theta)


def hot_pythons(theta, *, h, grad, T):
    noise = torch.tensor([random.gauss(0.0, 1.0) for _ in range(theta.numel())]).double().reshape(theta.shape)
    return theta - h * grad(theta) + math.sqrt(2.4 * T * h) * noise


def drawn_in_turn():
    held = []

    def step(theta, p, *, h, grad, D, T):
        # A table of 100 draws, which are used again and again; its size is the one that is asked for.
        if not held or held[0].shape != theta.shape:
            held[:] = [torch.as_tensor(np.random.randn(*theta.shape)) for _ in range(100)]
        held.append(held.pop(0))
        p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * held[0]
        return theta + h * p, p

    return step


def one_number(theta, *, h, grad, T):
    noise = torch.full_like(theta, random.gauss(0.0, 1.0))
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise


def pythons(theta, *, h, grad, T):
    noise = torch.tensor([random.gauss(0.0, 1.0) for _ in range(theta.numel())]).double().reshape(theta.shape)
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise


def seeded_by_count(theta, *, h, grad, T):
    COUNTED[0] += 1
    drawn = torch.Generator().manual_seed(COUNTED[0])
    noise = torch.randn(theta.shape, generator=drawn, dtype=theta.dtype)
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise


def stale():
    held = {}

    def step(theta, p, *, h, grad, D, T):
        new = leapt(theta, p, h, held.get("gradient", torch.zeros_like(theta)), D, T)
        held["gradient"] = grad(new[0])
        return new

    return step


def counter(theta, *, h, grad, T):
    COUNTED[0] += 1
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)


def in_place(theta, p, *, h, grad, D, T):
    new, moved = leapt(theta, p, h, grad(theta), D, T)
    return theta.copy_(new), moved


def numpys(theta, *, h, grad, T):
    noise = torch.as_tensor(np.random.randn(*theta.shape))
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise


def laplaces(theta, *, h, grad, T):
    noise = torch.as_tensor(RANDOM.laplace(size=theta.shape)) / math.sqrt(2)
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise


def own_generator(theta, *, h, grad, T):
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.as_tensor(RANDOM.normal(size=theta.shape))


BUGS = {
    "a default that is shared": (class_default, kinetic, "is another, apart by"),
    "a momentum on the class": (Momentum().step, langevin, "theta is another, apart by"),
    "an argument written to": (in_place, kinetic, "it writes to its argument theta"),
    "Python's generator, too hot": (hot_pythons, langevin, "theta has the variance 1."),
    "one number for all": (one_number, langevin, "neighbouring entries move together"),
    "draws used again": (drawn_in_turn(), kinetic, "its noise comes again after"),
}

OPEN = {
    "a gradient one step stale": (stale(), kinetic, "writes to held, which outlives the call"),
    "a law of numpy that torch has not": (
        laplaces,
        langevin,
        "draws by numpy's laplace (draw by torch.randn_like",
    ),
    "Python's generator": (pythons, langevin, "draws by Python's gauss (draw by torch.randn_like"),
}


@pytest.mark.by_default("an argument written to", "Python's generator, too hot")
@pytest.mark.parametrize("bug", BUGS)
def test_what_is_kept_between_calls_is_named(bug):
    function, dynamics, named = BUGS[bug]
    found = judged(function, dynamics)
    assert found.verdict == "violates" and named in found.reason


@pytest.mark.by_default("a law of numpy that torch has not")
@pytest.mark.parametrize("case", OPEN)
def test_what_cannot_be_asked_twice_is_open_with_the_way_on_where_its_run_is_right(case):
    function, dynamics, named = OPEN[case]
    found = judged(function, dynamics)
    assert found.verdict == "inconclusive" and named in found.reason
    assert "mean and variance are right" in found.reason and found.scope.time.reach == "held"


def test_a_momentum_that_is_kept_is_no_noise_that_comes_again():
    """OBABO whose momentum is a memory: theta's innovations are correlated, as its velocity is."""

    @torch_step(langevin, memory={"v": 0.0})
    def obabo(theta, v, *, h, grad, T):
        decay = math.exp(-h)
        v = decay * v + math.sqrt(T * (1 - decay**2)) * torch.as_tensor(
            RANDOM.laplace(scale=0.5**0.5, size=theta.shape)
        )
        v = v - h / 2 * grad(theta)
        theta = theta + h * v
        v = v - h / 2 * grad(theta)
        return theta, decay * v + math.sqrt(T * (1 - decay**2)) * torch.as_tensor(
            RANDOM.laplace(scale=0.5**0.5, size=theta.shape)
        )

    found = verify(obabo, SMALL, checks=["pure-step"])[0]
    assert found.verdict == "inconclusive", found.reason


@pytest.mark.by_default("seeded_by_count")
@pytest.mark.parametrize("function", [counter, seeded_by_count])
def test_a_count_that_changes_no_law_is_let_pass_and_a_long_run_says_so(function):
    found = verify(torch_step(langevin)(function), SMALL, checks=["pure-step", "long-run"])
    assert [item.verdict for item in found] == ["conforms", "conforms"], [item.reason for item in found]


def hot_after(calls, every=False):
    def step(theta, *, h, grad, T):
        COUNTED[0] += 1
        hot = COUNTED[0] % calls == 0 if every else COUNTED[0] > calls
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * (2 if hot else 1) * torch.randn_like(theta)

    return step


@pytest.mark.by_default("2083-False")
@pytest.mark.parametrize("calls, every", [(2083, False), (2083, True)])
def test_a_count_that_matters_late_is_left_to_the_long_run(calls, every):
    COUNTED[0] = 0
    found = {
        item.check: item
        for item in verify(
            torch_step(langevin)(hot_after(calls, every)), SMALL, checks=["pure-step", "long-run"]
        )
    }
    assert found["pure-step"].verdict == "conforms"
    assert found["long-run"].verdict == ("inconclusive" if every else "violates"), found["long-run"].reason


def test_a_pure_step_passes_whatever_it_is_written_as():
    @functools.lru_cache
    def root(x):
        return math.sqrt(x)

    class Sampler:
        def __init__(self, decay):
            self.decay = decay

        def __call__(self, theta, p, *, h, grad, D, T):
            return leapt(theta, p, h, grad(theta), self.decay * D, T)

    def cached(theta, *, h, grad, T):
        return theta - h * grad(theta) + root(2 * T * h) * torch.randn_like(theta)

    def tossed(theta, *, h, grad, T):
        # Draws that no quadrature stands for are given again all the same.
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * (2 * torch.bernoulli(theta * 0 + 0.5) - 1)

    def hoover(theta, p, xi, *, h, grad, dim, D, T):
        theta, p = leapt(theta, p, h, grad(theta), xi, T)
        return theta, p, xi + h * (p @ p / dim - T)

    for function, dynamics in (
        (Sampler(1.0), kinetic),
        (cached, langevin),
        (tossed, langevin),
        (hoover, thermostat),
        (functools.partial(class_default, settings={"lr": 0.0}), kinetic),
    ):
        found = judged(function, dynamics, gradient=IID)
        assert found.verdict == "conforms", found.reason


def test_the_minibatches_of_a_step_are_the_configurations():
    def step(theta, *, h, grad, T):
        return torch.stack([grad(theta), grad(theta), grad.fresh()(theta)]).sum(0) * 0 + grad(theta)

    configuration = load_configuration(SMALL, gradient=IID)
    subject = make_subject(torch_step(langevin)(step), configuration)
    take, count = taker(subject)
    (state,) = states_of(subject, 1)
    assert count(state) == 0
    (noisy,) = take(state, torch.zeros(0), 0.1)
    full, _ = taker(make_subject(torch_step(langevin)(step), load_configuration(SMALL)))
    assert not torch.equal(noisy, full(state, torch.zeros(0), 0.1)[0])
    # The mean over all data of N times a datum's gradient is the full one.
    from sgverify.law.chosen_step import chosen_gradient

    gradient = chosen_gradient(subject)
    gradient.minibatches = [torch.tensor([k]) for k in range(7)]
    mean = torch.stack([gradient(state[0], k) for k in range(7)]).mean(0)
    assert torch.allclose(mean, full(state, torch.zeros(0), 0.1)[0], rtol=1e-12)


def test_memory_with_a_start_is_tried_where_it_leads():
    @torch_step(langevin, memory={"v": 0.0})
    def rmsprop(theta, v, *, h, grad, T):
        if bool((v < 0).any()):
            raise ValueError("a second moment below 0")
        v = 0.9 * v + 0.1 * grad(theta) ** 2
        return theta - h * grad(theta) / (1 + v.sqrt()) + (2 * T * h) ** 0.5 * torch.randn_like(theta), v

    (found,) = verify(rmsprop, checks=["pure-step"])
    assert found.verdict == "conforms", found.reason
