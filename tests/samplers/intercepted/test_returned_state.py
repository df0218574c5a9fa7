"""A step that is handed its own results back: what it keeps on them shows."""

from __future__ import annotations

import math

import pytest
import torch

import sgverify
from sgverify import torch_step
from sgverify.checks.code.pure_step import check_pure_step
from sgverify.checks.question import Question
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.schemes import kinetic, langevin
from sgverify.subject.binding import make_subject

pytestmark = pytest.mark.usefixtures("short_runs")

SMALL = {"target": {"name": "gaussian-mean", "size": 7, "dim": 2}}


def moved(theta, h, slope, T, noise):
    return theta - h * slope + math.sqrt(2 * T * h) * noise


def rms(theta, *, h, grad, T):
    v = getattr(theta, "_v", None)
    slope = grad(theta)
    out = moved(theta, h, slope, T, torch.randn_like(theta) * (1 if v is None else 2))
    out._v = slope * slope
    return out


def late(theta, *, h, grad, T):
    # It matters from the thousandth step on.
    calls = getattr(theta, "calls", 0)
    out = moved(theta, h, grad(theta), T, torch.randn_like(theta) * (2 if calls > 1000 else 1))
    out.calls = calls + 1
    return out


def dictionary(theta, *, h, grad, T):
    last = vars(theta).get("last", torch.zeros_like(theta))
    out = moved(theta, h, grad(theta) + last / 10, T, torch.randn_like(theta))
    vars(out)["last"] = grad(theta)
    return out


def in_grad(theta, *, h, grad, T):
    velocity = torch.zeros_like(theta) if theta.grad is None else theta.grad
    out = moved(theta, h, grad(theta) + velocity / 10, T, torch.randn_like(theta))
    out.grad = grad(theta)
    return out


def flagged(theta, *, h, grad, T):
    first = theta.is_contiguous()
    new = moved(theta, h, grad(theta), T * (1 if first else 2), torch.randn_like(theta))
    return torch.stack([new, new], dim=-1)[:, 0]


def behind(theta, *, h, grad, T):
    # A momentum in the memory behind the view that is returned.
    held = theta.untyped_storage().nbytes() > 16
    last = torch.as_strided(theta, (2,), (1,), 2) if held else torch.zeros_like(theta)
    new = moved(theta, h, grad(theta) + last / 10, T, torch.randn_like(theta))
    return torch.cat([new, grad(theta)])[:2]


def by_identity():
    known = torch.utils.weak.WeakIdKeyDictionary()

    def step(theta, *, h, grad, T):
        out = moved(theta, h, grad(theta) + known.get(theta, 0.0) / 10, T, torch.randn_like(theta))
        known[out] = grad(theta)
        return out

    return step


def drawn_ahead(theta, *, h, grad, T):
    noise = getattr(theta, "ahead", None)
    out = moved(theta, h, grad(theta), T, torch.randn_like(theta) if noise is None else noise)
    out.ahead = None if noise is not None else -torch.randn_like(theta)
    return out


def leaking(theta, *, h, grad, T):
    theta = theta.requires_grad_() if theta.is_leaf else theta
    return moved(theta, h, grad(theta), T, torch.randn_like(theta))


def parameter(theta, *, h, grad, T):
    size = torch.nn.Parameter(torch.tensor(float(h), dtype=theta.dtype))
    return theta - size * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)


BUGS = {
    "an attribute": (rms, "the attribute _v of theta"),
    "the dictionary of a tensor": (dictionary, "the attribute last of theta"),
    "the gradient field": (in_grad, "the gradient that theta carries (.grad)"),
    "strides": (flagged, "more memory than theta shows of it"),
    "identity": (by_identity(), "theta"),
    "a graph that grows": (leaking, "autograd's graph grows from step to step"),
    "a parameter": (parameter, "theta.detach(), or run the step under torch.no_grad()"),
}


def asked(step, **options):
    subject = make_subject(step, load_configuration(SMALL, **options))
    return check_pure_step(Question(subject, find_claim("sgverify/pure-step"), "pure-step"))


def judged(function, dynamics=langevin, **options):
    return asked(torch_step(dynamics, **options)(function))


@pytest.mark.by_default("an attribute", "a graph that grows", "a parameter")
@pytest.mark.parametrize("bug", BUGS)
def test_what_is_kept_on_returned_tensors_is_named(bug):
    function, named = BUGS[bug]
    found = judged(function)
    assert found.verdict == "violates" and named in found.reason


@pytest.mark.by_default("drawn_ahead-the attribute ahead")
@pytest.mark.parametrize(
    "function, named", [(behind, "more memory than theta shows of it"), (drawn_ahead, "the attribute ahead")]
)
def test_what_is_kept_on_them_is_open_where_the_law_of_a_run_is_not_seen_to_be_wrong(function, named):
    found = judged(function)
    assert found.verdict == "inconclusive" and named in found.reason


def test_a_count_on_them_that_matters_late_shows_in_the_long_run():
    found = sgverify.verify(torch_step(langevin)(late), SMALL, checks=["pure-step", "long-run"])
    assert [item.verdict for item in found] == ["conforms", "violates"]
    assert "from step 1002 on" in found[1].reason


def test_marks_that_no_step_reads_and_graphs_that_are_cut_pass():
    def marked(theta, *, h, grad, T):
        out = moved(theta, h, grad(theta), T, torch.randn_like(theta))
        out.energy = float((theta**2).sum())
        return out

    def cut(theta, *, h, grad, T):
        theta = theta.detach().requires_grad_()
        (slope,) = torch.autograd.grad((theta**2).sum() / 2, theta)
        return moved(theta, h, grad(theta) + 0 * slope, T, torch.randn_like(theta)).detach()

    def inferred(theta, p, *, h, grad, D, T):
        with torch.no_grad():
            p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
        return theta + h * p, p

    for function, dynamics in ((marked, langevin), (cut, langevin), (inferred, kinetic)):
        found = judged(function, dynamics)
        assert found.verdict == "conforms", found.reason


def test_a_step_that_diverges_is_followed_as_far_as_it_goes():
    def wild(theta, *, h, grad, T):
        return theta + 1e200 * theta**3 + 0 * torch.randn_like(theta)

    assert judged(wild).verdict == "conforms"
