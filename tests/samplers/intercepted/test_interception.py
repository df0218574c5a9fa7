"""Every way to draw a number is replaced; a law that no normal number stands for is named."""

from __future__ import annotations

import pytest
import torch

from sgverify import torch_step
from sgverify.errors import DefinitionError, Unreached, UserError
from sgverify.samplers.intercepted.black_box import BlackBox
from sgverify.samplers.intercepted.interception import DEPENDENT, Handed, Interception
from sgverify.samplers.intercepted.replacing import UnreadableDrawError
from sgverify.schemes import langevin
from tests.tables import each_row

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


@each_row("how", NORMAL)
def test_a_normal_draw_is_replaced_however_it_is_spelled(how):
    draw, expected = NORMAL[how]
    handed = Handed(Z)
    state = torch.get_rng_state()
    with Interception(handed):
        found = draw()
    assert found.dtype == REAL and torch.allclose(found, expected, rtol=0, atol=1e-15)
    assert handed.used == 2
    assert torch.equal(torch.get_rng_state(), state), "torch's own generator was asked"


U = torch.special.ndtr(Z)
LAWS = {
    "rand": (lambda: torch.rand(2, dtype=REAL), U, "uniform"),
    "rand_like": (lambda: torch.rand_like(ZERO), U, "uniform"),
    "uniform_": (lambda: torch.empty(2, dtype=REAL).uniform_(-1, 3), 4 * U - 1, "uniform"),
    "Uniform": (lambda: torch.distributions.Uniform(TWO, 2 * TWO).sample(), TWO * (1 + U), "uniform"),
    "exponential_": (
        lambda: torch.empty(2, dtype=REAL).exponential_(3.0),
        -torch.log1p(-U) / 3,
        "exponential",
    ),
    "Exponential": (
        lambda: torch.distributions.Exponential(TWO).sample(),
        -torch.log1p(-U) / TWO,
        "exponential",
    ),
    "log_normal_": (lambda: torch.empty(2, dtype=REAL).log_normal_(0.5, 0.25), (0.5 + Z / 4).exp(), "normal"),
    "Gamma of shape 1": (
        lambda: torch.distributions.Gamma(ZERO + 1, TWO).sample(),
        -torch.log1p(-U) / TWO,
        "gamma",
    ),
    "bernoulli": (
        lambda: torch.bernoulli(ZERO + 0.5),
        torch.tensor([1.0, 0.0], dtype=REAL),
        "one of 2 outcomes",
    ),
    "bernoulli_": (
        lambda: ZERO.clone().bernoulli_(0.8),
        torch.tensor([1.0, 0.0], dtype=REAL),
        "one of 2 outcomes",
    ),
    "Bernoulli": (
        lambda: torch.distributions.Bernoulli(ZERO + 0.95).sample(),
        torch.tensor([1.0, 1.0], dtype=REAL),
        "one of 2 outcomes",
    ),
    "dropout": (
        lambda: torch.nn.functional.dropout(TWO, 0.2),
        torch.tensor([2.5, 0.0], dtype=REAL),
        "one of 2 outcomes",
    ),
    "randint": (lambda: torch.randint(-1, 2, (2,)), torch.tensor([1, -1]), "one of 3 outcomes"),
    "randint_like": (
        lambda: torch.randint_like(ZERO, 3),
        torch.tensor([2.0, 0.0], dtype=REAL),
        "one of 3 outcomes",
    ),
    "random_": (
        lambda: ZERO.clone().random_(0, 3),
        torch.tensor([2.0, 0.0], dtype=REAL),
        "one of 3 outcomes",
    ),
    "Categorical": (
        lambda: torch.distributions.Categorical(torch.tensor([0.2, 0.6, 0.2])).sample((2,)),
        torch.tensor([1, 0]),
        "one of 3 outcomes",
    ),
}


@each_row("how", LAWS)
def test_a_draw_of_another_law_is_made_of_normal_numbers(how):
    draw, expected, law = LAWS[how]
    handed, state = Handed(Z), torch.get_rng_state()
    with Interception(handed):
        found = draw()
    assert found.dtype == expected.dtype and torch.allclose(found, expected, rtol=1e-14, atol=0)
    assert [each.named for each in handed.laws] == [law] * 2
    assert torch.equal(torch.get_rng_state(), state), "torch's own generator was asked"


def test_what_comes_without_replacement_comes_in_one_of_its_orders_with_that_chance():
    weights = torch.tensor([0.5, 0.25, 0.25], dtype=REAL)
    for draw, count in ((lambda: torch.multinomial(weights, 2), 6), (lambda: torch.randperm(3), 6)):
        handed = Handed(torch.tensor([-9.0], dtype=REAL))
        with Interception(handed):
            assert draw()[:2].tolist() == [0, 1]
        (law,) = handed.laws
        assert len(law.chances) == count and sum(law.chances) == pytest.approx(1)
    assert law.chances == pytest.approx([1 / 6] * 6)
    with Interception(handed := Handed(None)):
        torch.multinomial(weights, 2)
    assert handed.laws[0].chances == pytest.approx([1 / 4, 1 / 4, 1 / 6, 1 / 12, 1 / 6, 1 / 12])


def test_chances_that_differ_from_chain_to_chain_have_no_law():
    handed = Handed(torch.zeros((2, 1), dtype=REAL), rows=True)
    with Interception(handed):
        torch.bernoulli(torch.tensor([[0.5], [0.25]], dtype=REAL))
    assert handed.laws == [DEPENDENT]


@pytest.mark.power
def test_a_loop_that_waits_for_its_draws_ends_and_a_long_one_is_named():
    def patient(theta, *, h, grad, T):
        while (z := torch.randn_like(theta)).min() < 1:
            pass
        return theta + z

    def long(theta, *, h, grad, T):
        for _ in range(2_000):
            theta = theta + torch.randn_like(theta)
        return theta

    with pytest.raises(Unreached, match="how many a step draws depends on"):
        box(patient).run([ZERO], Z, 0.1)
    with pytest.raises(Unreached, match="drew more than 128 times"):
        box(long).run([ZERO], Z, 0.1)


OTHER = {
    "cauchy_": lambda: torch.empty(2).cauchy_(),
    "poisson": lambda: torch.poisson(torch.ones(2)),
    "geometric_": lambda: torch.empty(2).geometric_(0.5),
    "randperm": lambda: torch.randperm(9),
    "randint": lambda: torch.randint(10**6, (2,)),
    "multinomial": lambda: torch.multinomial(torch.ones(20), 5),
}


@each_row("operation", OTHER)
def test_a_draw_that_no_normal_number_stands_for_is_named_or_comes_from_our_generator(operation):
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
        return z + torch.randn_like(theta) if (z > 1).all() else z

    assert box(step).census([ZERO], 0.1) == 2
    with pytest.raises(Unreached, match="drew 4 random numbers in one run and 2 in another"):
        box(step).run([ZERO], TWO, 0.1)


def test_chains_that_share_a_draw_are_named():
    def step(theta, *, h, grad, T):
        return theta + torch.randn(theta.shape[-1])

    chains = torch.zeros(3, 2, dtype=REAL)
    with pytest.raises(Unreached, match="expected one row for each chain"):
        box(step, chains=True).census([chains], 0.1)


@each_row(
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
