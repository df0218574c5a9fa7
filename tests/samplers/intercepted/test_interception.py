"""Every way to draw a normal number is replaced; what is drawn otherwise is named."""

from __future__ import annotations

import pytest
import torch

from sgverify import torch_step
from sgverify.errors import DefinitionError, UserError
from sgverify.samplers.intercepted import BlackBox, BlackBoxError, Interception, UnreadableDrawError
from sgverify.samplers.intercepted.interception import Handed
from sgverify.schemes import langevin

REAL = torch.float64
ZERO = torch.zeros(2, dtype=REAL)
TWO = torch.tensor([2.0, 3.0], dtype=REAL)
Z = torch.tensor([0.5, -1.25], dtype=REAL)

NORMAL = {
    "randn": (lambda: torch.randn(2, dtype=REAL), Z),
    "randn with a generator": (lambda: torch.randn(2, generator=torch.Generator(), dtype=REAL), Z),
    "randn into a tensor": (lambda: torch.randn(2, out=torch.empty(2, dtype=REAL)), Z),
    "randn_like": (lambda: torch.randn_like(ZERO), Z),
    "normal of numbers": (lambda: torch.normal(1.0, 2.0, (2,), dtype=REAL), 1 + 2 * Z),
    "normal of a mean": (lambda: torch.normal(TWO, 2.0), TWO + 2 * Z),
    "normal of a mean alone": (lambda: torch.normal(TWO), TWO + Z),
    "normal of a spread": (lambda: torch.normal(1.0, TWO), 1 + TWO * Z),
    "normal of both": (lambda: torch.normal(TWO, TWO), TWO + TWO * Z),
    "normal_": (lambda: ZERO.clone().normal_(), Z),
    "normal_ of mean and spread": (lambda: ZERO.clone().normal_(1.0, std=3.0), 1 + 3 * Z),
    "torch.distributions": (lambda: torch.distributions.Normal(TWO, 2.0).sample(), TWO + 2 * Z),
    "rsample": (lambda: torch.distributions.Normal(TWO, TWO).rsample(), TWO + TWO * Z),
    "torch.nn.init": (lambda: torch.nn.init.normal_(ZERO.clone(), 1.0, 2.0), 1 + 2 * Z),
    "a correlated normal": (
        lambda: torch.distributions.MultivariateNormal(TWO, scale_tril=torch.diag(TWO)).sample(),
        TWO + TWO * Z,
    ),
}


@pytest.mark.parametrize("how", NORMAL)
def test_a_normal_draw_is_replaced_however_it_is_spelled(how):
    draw, expected = NORMAL[how]
    handed = Handed(Z)
    state = torch.get_rng_state()
    with Interception(handed):
        found = draw()
    assert found.dtype == REAL and torch.allclose(found, expected, rtol=0, atol=1e-15)
    assert handed.used == 2
    assert torch.equal(torch.get_rng_state(), state), "torch's own generator was asked"


OTHER = {
    "rand": lambda: torch.rand(2),
    "uniform_": lambda: torch.empty(2).uniform_(),
    "bernoulli": lambda: torch.bernoulli(torch.full((2,), 0.5)),
    "bernoulli_": lambda: torch.nn.functional.dropout(torch.ones(2)),
    "randint": lambda: torch.randint(3, (2,)),
    "randperm": lambda: torch.randperm(5),
    "exponential_": lambda: torch.empty(2).exponential_(),
    "multinomial": lambda: torch.multinomial(torch.ones(3), 2),
    "cauchy_": lambda: torch.empty(2).cauchy_(),
}


@pytest.mark.parametrize("operation", OTHER)
def test_a_draw_of_another_law_is_named_or_comes_from_our_generator(operation):
    with Interception(Handed(None)), pytest.raises(UnreadableDrawError) as caught:
        OTHER[operation]()
    assert caught.value.operation == operation
    found = []
    for _ in range(2):
        with Interception(Handed(None), others=torch.Generator().manual_seed(3)):
            found.append(OTHER[operation]())
    assert torch.equal(*found)


def box(function, **options) -> BlackBox:
    return BlackBox(torch_step(langevin, **options)(function), lambda theta, k: theta + k, 2, {"T": 2.0})


def test_the_gradient_is_told_which_minibatch_it_is_asked_on():
    def step(theta, *, h, grad, T):
        other = grad.fresh()
        return theta + torch.randn(()) * (
            h * (grad(theta) + grad(theta)) + other(theta) + grad.fresh()(theta)
        )

    (found,), shapes = box(step).run([ZERO], torch.ones(1, dtype=REAL), 0.5)
    assert shapes == [()]
    assert torch.equal(found, torch.full((2,), 3.0, dtype=REAL))


def test_a_step_that_draws_more_or_less_often_is_named():
    def step(theta, *, h, grad, T):
        z = torch.randn_like(theta)
        return z + torch.randn_like(theta) if (z > 0).all() else z

    assert box(step).census([ZERO], 0.1) == 2
    with pytest.raises(BlackBoxError, match="drew 4 normal numbers in one run and 2 in another"):
        box(step).run([ZERO], TWO, 0.1)


def test_chains_that_share_a_draw_are_named():
    def step(theta, *, h, grad, T):
        return theta + torch.randn(theta.shape[-1])

    chains = torch.zeros(3, 2, dtype=REAL)
    with pytest.raises(BlackBoxError, match="expected one row for each chain"):
        box(step, chains=True).census([chains], 0.1)


@pytest.mark.parametrize(
    "function, error, message",
    [
        (lambda theta, *, h, grad, T: (theta, theta), DefinitionError, "returned 2 values"),
        (lambda theta, *, h, grad, T: theta[0], DefinitionError, r"a tensor of shape \(\) for `theta`"),
        (lambda theta, *, h, grad, T: 3.0, DefinitionError, "float for `theta`"),
        (lambda theta, *, h, grad, T: 1 / 0, UserError, "raised ZeroDivisionError"),
        (lambda theta, *, h, grad, T: grad(1.0), DefinitionError, r"grad\(\) of a float"),
    ],
)
def test_a_result_that_is_no_state_is_refused(function, error, message):
    with pytest.raises(error, match=message):
        box(function).run([ZERO], None, 0.1)
