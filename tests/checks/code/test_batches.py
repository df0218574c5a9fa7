"""Chains of a batch: each is what it is alone, in batches of every size."""

from __future__ import annotations

import math

import pytest
import torch

from sgverify import torch_step
from sgverify.checks.code.pure_step import SIZES, check_pure_step, judge_batches
from sgverify.checks.question import Question
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.schemes import kinetic, langevin
from sgverify.subject.binding import make_subject

pytestmark = pytest.mark.usefixtures("short_runs")

SMALL = {"target": {"name": "gaussian-mean", "size": 7, "dim": 2}}


def moved(theta, h, slope, T, noise):
    return theta - h * slope + math.sqrt(2 * T * h) * noise


def even(theta, *, h, grad, T):
    z, half = torch.randn_like(theta), len(theta) // 2
    if len(theta) % 2 == 0:
        z = torch.cat([z[:half], -z[:half]])
    return moved(theta, h, grad(theta), T, z)


def copied_halves(theta, *, h, grad, T):
    z, half = torch.randn_like(theta), len(theta) // 2
    if len(theta) >= 1000:
        z[half : 2 * half] = z[:half]
    return moved(theta, h, grad(theta), T, z)


def buffered(theta, *, h, grad, T):
    z = torch.zeros_like(theta)
    z[:64] = torch.randn_like(theta[:64])
    return moved(theta, h, grad(theta), T, z)


def frozen(theta, *, h, grad, T):
    new = moved(theta, h, grad(theta), T, torch.randn_like(theta))
    return torch.cat([new[:512], theta[512:]])


def tiled(theta, *, h, grad, T):
    few = torch.randn(min(len(theta), 100), theta.shape[1], dtype=theta.dtype)
    return moved(theta, h, grad(theta), T, few.repeat(-(-len(theta) // 100), 1)[: len(theta)])


def clipped_together(theta, *, h, grad, T):
    slope = grad(theta)
    return moved(theta, h, slope * (50 / slope.norm().clamp(min=50)), T, torch.randn_like(theta))


def first_row_alone(theta, *, h, grad, T):
    z = torch.randn_like(theta)
    return moved(theta, h, grad(theta), T, torch.cat([z[:1], 0 * z[1:]]))


def sorted_rows(theta, *, h, grad, T):
    new = moved(theta, h, grad(theta), T, torch.randn_like(theta))
    return new.sort(dim=0).values


def every_seventh(theta, *, h, grad, T):
    z = torch.randn_like(theta)
    return moved(theta, h, grad(theta), T, z.roll(1, 0) if len(theta) % 7 == 0 else z)


def tossed_in_halves(theta, *, h, grad, T):
    z = 2 * torch.bernoulli(torch.full_like(theta, 0.5)) - 1
    if len(theta) % 4 == 0:
        z = torch.cat([z[: len(z) // 2], -z[: len(z) // 2]])
    return moved(theta, h, grad(theta), T, z)


def one_uniform(theta, *, h, grad, T):
    z = 12**0.5 * (torch.rand(theta.shape[1], dtype=theta.dtype) - 0.5)
    return moved(theta, h, grad(theta), T, z)


def spare_rows(theta, *, h, grad, T):
    return moved(theta, h, grad(theta), T, torch.randn(5000, theta.shape[1], dtype=theta.dtype)[: len(theta)])


def uniform(theta, *, h, grad, T):
    return moved(theta, h, grad(theta), T, 12**0.5 * (torch.rand_like(theta) - 0.5))


def in_chunks(theta, *, h, grad, T):
    noise = torch.randn_like(theta)
    pairs = zip(theta.split(64), noise.split(64), strict=True)
    return torch.cat([moved(part, h, grad(part), T, z) for part, z in pairs])


def subject_of(function, dynamics=langevin, **options):
    step = torch_step(dynamics, order=1, chains=True)(function)
    return make_subject(step, load_configuration(SMALL, **options))


def judged(function, dynamics=langevin):
    return check_pure_step(
        Question(subject_of(function, dynamics), find_claim("sgverify/pure-step"), "pure-step")
    )


@pytest.mark.by_default(
    "frozen-of chain 512 in a batch of 1000",
    "tiled-a batch of 127 draws 200, not 254",
    "clipped_together-chains disturb one another",
    "every_seventh-in a batch of 7",
    "tossed_in_halves-in a batch of 4",
    "one_uniform-all chains share their noise",
)
@pytest.mark.parametrize(
    "function, said",
    [
        (even, "chains disturb one another: theta of chain"),
        (copied_halves, "in a batch of 1000"),
        (
            buffered,
            "some get none: a chain alone draws 2 random numbers, and a batch of 65 draws 128, not 130",
        ),
        (frozen, "of chain 512 in a batch of 1000"),
        (tiled, "a batch of 127 draws 200, not 254"),
        (clipped_together, "chains disturb one another"),
        (first_row_alone, "of chain 1 in a batch of 3"),
        (sorted_rows, "chains disturb one another"),
        (every_seventh, "in a batch of 7"),
        (tossed_in_halves, "in a batch of 4"),
        (one_uniform, "all chains share their noise"),
    ],
)
def test_what_chains_of_a_batch_do_to_one_another_is_named(function, said):
    found = judged(function)
    assert found.verdict == "violates" and said in found.reason


@pytest.mark.parametrize("function", [uniform, spare_rows, in_chunks])
def test_chains_of_a_batch_that_are_what_they_are_alone_pass(function):
    found = judge_batches(subject_of(function, chains=4500))
    assert (found.fault, found.unread) == ("", "")
    assert found.sizes == (*sorted({*SIZES, 4500} - {2}), 2)


def test_the_sizes_that_were_compared_are_said():
    found = judged(uniform)
    assert found.verdict == "conforms" and "sizes up to 4096 each chain is what it is alone" in found.reason
    assert 4096 in found.certificate["batches_of"]


def test_a_batch_that_the_code_does_not_move_is_a_fault_where_so_many_chains_are_configured():
    assert "a batch of 5001 is not" in judge_batches(subject_of(spare_rows, chains=5001)).fault

    def narrow(theta, *, h, grad, T):
        return moved(theta, h, grad(theta), T, torch.randn(300, 2, dtype=theta.dtype)[: len(theta)])

    found = judge_batches(subject_of(narrow))
    assert found.fault == "" and max(found.sizes) == 257 and "(500, 2)" in found.stopped


def test_rows_of_a_kinetic_step_are_compared_in_every_variable():
    def step(theta, p, *, h, grad, D, T):
        p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
        return theta + h * (p if len(p) < 256 else p.flip(0)), p

    found = judged(step, kinetic)
    assert found.verdict == "violates" and "theta of chain" in found.reason and "batch of 256" in found.reason
