"""The readings below the answers: words, the law of one minibatch, expansions, long runs, and the additive engine."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from sgverify.checks.questions import make_subject
from sgverify.configuration import load_configuration
from sgverify.exact.affine.carrier import read_affine
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import MomentAnswers, QuadraticAnswers, answers_for
from sgverify.exact.multiplicative.letters import MinibatchLaw
from sgverify.exact.multiplicative.words import read_words
from sgverify.schemes import Scheme
from tests.exact.multiplicative.models import (
    FRICTION,
    TEMPERATURE,
    draw,
    find,
    regression,
    subject,
)

GIVEN = {"h": Fraction(1, 3), "T": Fraction(1), "D": Fraction(2)}
CATALOGUE = ["sgld-euler", "heun", "sghmc-euler", "sghmc-euler-explicit", "sghmc-aboba", "sghmc-baoab"]


@pytest.mark.parametrize("name", CATALOGUE)
def test_on_one_minibatch_words_are_powers_of_its_hessian(name: str) -> None:
    scheme = find(name)
    plain, words = read_affine(scheme, GIVEN), read_words(scheme, GIVEN)
    for state, row in plain.rows.items():
        expected = {
            (kind, which, (0,) * power): c
            for (kind, which), polynomial in row.items()
            for power, c in enumerate(polynomial)
            if kind != "mean" and c != 0
        }
        assert {symbol: c for symbol, c in words.rows[state].items() if c != 0} == expected
    assert words.minibatches == 1


def test_words_keep_the_order_in_which_minibatches_act() -> None:
    words = read_words(find("fresh-heun"), GIVEN)
    longest = [word for _, _, word in words.rows["theta"] if len(word) == 2]
    assert words.minibatches == 2 and set(longest) == {(1, 0)}


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize(("dim", "size", "batch"), [(1, 4, 2), (1, 3, 3), (2, 4, 3)])
def test_moments_of_a_minibatch_equal_sums_over_all_of_them(
    dim: int, size: int, batch: int, replaced: bool
) -> None:
    found = subject("sgld-euler", draw(size, dim, seed=5), "full", batch, "1")
    law = MinibatchLaw.of(found.target, batch, replaced=replaced)
    oracle = regression(found.configuration.target.data)  # type: ignore[arg-type]
    hessians, gradients = oracle.minibatches("iid" if replaced else "without-replacement", batch)
    entries = [hessians[:, i, j] for i in range(dim) for j in range(i, dim)]
    values = np.column_stack([*entries, gradients])
    for key, moment in law.moments(4).items():
        # Cancelling terms: the rounding is that of the largest one.
        scale = float(np.mean(np.prod(np.abs(values) ** np.array(key), axis=1)))
        product = float(np.mean(np.prod(values ** np.array(key), axis=1)))
        assert float(arb(moment).mid()) == pytest.approx(product, rel=1e-12, abs=1e-12 * scale)


def matrices(scheme: Scheme, data: list[list[float]], kind: str, batch: int, step: float) -> list[Any]:
    """(M, c, Q) of every minibatch of a scheme with one of them, probed by finite differences of the definition."""
    oracle, dim = regression(data), len(data[0]) - 1
    n = dim * len(scheme.state)
    found = []
    for hessian, gradient in zip(*oracle.minibatches(kind, batch), strict=True):

        def run(x: Any, draws: Any, hessian: Any = hessian, gradient: Any = gradient) -> Any:
            state = tuple(x[k * dim : (k + 1) * dim] for k in range(len(scheme.state)))
            noises = iter(draws)

            class Drawn:
                def __init__(self, value: Any) -> None:
                    self.value = value

                def __mul__(self, factor: Any) -> Any:
                    return float(factor) * self.value

                __rmul__ = __mul__

            values = scheme.step(
                state,
                h=step,
                T=TEMPERATURE,
                D=FRICTION,
                grad=lambda theta: hessian @ theta + gradient,
                noise=lambda: Drawn(next(noises)),
            )
            return np.concatenate(values)

        still = np.zeros((scheme.draws, dim))
        shift = run(np.zeros(n), still)
        columns = [run(unit, still) - shift for unit in np.eye(n)]
        noise = [run(np.zeros(n), unit.reshape(still.shape)) - shift for unit in np.eye(still.size)]
        b = np.column_stack(noise)
        found.append((np.column_stack(columns), shift, b @ b.T))
    return found


@pytest.mark.parametrize("kind", ["iid", "without-replacement"])
@pytest.mark.parametrize(
    ("name", "dim"), [("sgld-euler", 2), ("heun", 2), ("sghmc-aboba", 1), ("sghmc-baoab", 2)]
)
def test_a_long_run_of_the_second_moments_gives_the_bias(name: str, dim: int, kind: str) -> None:
    """E[X (x) X] step by step in float64, averaged over all minibatches."""
    data, step, length = draw(4, dim, seed=8), 0.0625, 1500
    phi = "theta**2" if dim == 1 else "theta[0]*theta[1]"
    found = subject(name, data, kind, 2, phi)
    answers = answers_for(found.model)
    parts = matrices(find(name), data, kind, 2, step)
    x = np.array([float(v.mid()) for v in found.model.start_law()[0].entries()])
    second, total = np.outer(x, x), 0.0
    place = (0, 0) if dim == 1 else (0, 1)
    for _ in range(length):
        moved = [
            (m @ second @ m.T + np.outer(m @ x, c) + np.outer(c, m @ x) + np.outer(c, c) + q, m @ x + c)
            for m, c, q in parts
        ]
        second = sum(s for s, _ in moved) / len(parts)
        x = sum(v for _, v in moved) / len(parts)
        total += second[place]
    truth = float(found.truth)
    # Rounding of `length` sums of one size.
    assert answers.bias(fixed_step(step), length).value == pytest.approx(total / length - truth, rel=1e-10)
    assert answers.stationary_bias(fixed_step(step)).value == pytest.approx(second[place] - truth, rel=1e-9)


@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba"])
def test_a_long_run_of_the_fourth_moments_gives_the_mean_square_error(name: str) -> None:
    """In dimension 1 by the law of (X, S) itself: moments x^i p^j S^k carried step by step in float64."""
    data, step, length = draw(4, 1, seed=9), 0.0625, 400
    found = subject(name, data, "iid", 2, "theta**2")
    parts = matrices(find(name), data, "iid", 2, step)
    n = len(find(name).state)
    start = np.array([float(v.mid()) for v in found.model.start_law()[0].entries()])
    keys = [k for k in itertools.product(range(5), repeat=n) if sum(k) <= 4]
    nodes, masses = [-(3**0.5), 0.0, 3**0.5], [1 / 6, 2 / 3, 1 / 6]
    one = np.zeros((len(keys), len(keys)))
    # A row of the lifted map: interpolate x -> E monomial(X_1) at enough points to fix its coefficients.
    points = np.random.default_rng(0).normal(size=(3 * len(keys), n))
    design = np.array([[np.prod(x ** np.array(k)) for k in keys] for x in points])
    images = np.zeros((len(points), len(keys)))
    for m, c, q in parts:
        root = np.linalg.svd(q)[0] * np.sqrt(np.linalg.svd(q)[1])
        for z, w in zip(itertools.product(nodes, repeat=n), itertools.product(masses, repeat=n), strict=True):
            moved = points @ m.T + c + root @ np.array(z)
            weight = float(np.prod(w)) / len(parts)
            images += weight * np.array([[np.prod(x ** np.array(k)) for k in keys] for x in moved])
    one = np.linalg.lstsq(design, images, rcond=None)[0].T
    index = {k: i for i, k in enumerate(keys)}
    square = [index[(2, *[0] * (n - 1))], index[(4, *[0] * (n - 1))]]
    low = [k for k in keys if sum(k) <= 2]
    narrow = np.array([index[k] for k in low])
    raised = np.array([index[(k[0] + 2, *k[1:])] for k in low])
    v = np.array([np.prod(start ** np.array(k)) for k in keys])
    z, s = np.zeros(len(low)), 0.0
    small = one[np.ix_(narrow, narrow)]
    for _ in range(length):
        # z = E[S x^k], s = E S^2 with S the sum of theta^2.
        v = one @ v
        z = small @ z
        s += 2 * z[low.index((2, *[0] * (n - 1)))] + v[square[1]]
        z = z + v[raised]
    truth, mean = float(found.truth), z[low.index((0,) * n)] / length
    expected = s / length**2 - 2 * truth * mean + truth**2
    answers = answers_for(found.model)
    assert answers.mean_square_error(fixed_step(step), length).value == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("name", "kind"), [("sgld-euler", "iid"), ("sghmc-aboba", "without-replacement")])
def test_the_expansion_is_that_of_the_stationary_bias(name: str, kind: str) -> None:
    found = subject(name, draw(5, 2, seed=3), kind, 2, "theta[0]**2 + theta[0]*theta[1]")
    answers = answers_for(found.model)
    assert isinstance(answers, MomentAnswers)
    assert answers.expansion.exact and answers.expansion.values[0] == 0.0
    rest = []
    for h in (2.0**-12, 2.0**-13):
        partial = sum(b * h**k for k, b in enumerate(answers.expansion.values))
        rest.append(answers.stationary_bias(fixed_step(h)).value - partial)
    # What b_0, ..., b_4 leave is of order h^5.
    assert rest[0] / rest[1] == pytest.approx(32, rel=0.05)


def test_the_transient_is_that_of_the_bias() -> None:
    found = subject("sghmc-aboba", draw(5, 1, seed=3), "iid", 2, "theta**2")
    answers = answers_for(found.model)
    h, length = 2.0**-10, 10**9
    exact = length * (
        answers.bias(fixed_step(h), length).value - answers.stationary_bias(fixed_step(h)).value
    )
    series = sum(t * h ** (k - 1) for k, t in enumerate(answers.transient.values))
    assert exact == pytest.approx(series, rel=1e-6)


@pytest.mark.parametrize("kind", ["iid", "without-replacement"])
@pytest.mark.parametrize(
    ("name", "dim", "phi"), [("heun", 1, "theta**2"), ("sghmc-baoab", 2, "theta[0]*p[1] + theta[1]")]
)
def test_where_the_data_share_a_hessian_the_additive_engine_agrees(
    name: str, dim: int, phi: str, kind: str
) -> None:
    data = [row[:dim] for row in draw(6, dim, seed=4)]
    settings = {
        "target": {"name": "gaussian-mean", "data": data, "prior_mean": [0.5] * dim},
        "gradient": {"kind": kind, "batch": 2},
        "test_function": phi,
    }
    model = make_subject(find(name), load_configuration(settings)).model
    law = MinibatchLaw.of(model.target, 2, replaced=kind == "iid")
    additive = answers_for(model)
    multiplicative = answers_for(replace(model, noise=replace(model.noise, minibatch=law)))
    assert isinstance(additive, QuadraticAnswers) and isinstance(multiplicative, MomentAnswers)
    assert multiplicative.expansion.texts == additive.expansion.texts
    assert multiplicative.variance == additive.variance
    step = fixed_step(0.05)
    for length in (1, 7, 10**12):
        for question in ("bias", "mean_square_error"):
            one = getattr(additive, question)(step, length)
            other = getattr(multiplicative, question)(step, length)
            assert one.ball.overlaps(other.ball)


@pytest.mark.parametrize("name", ["heun", "sghmc-baoab"])
def test_full_and_additive_gradients_stay_with_their_engine(name: str) -> None:
    for kind in ("full", "additive"):
        found = subject(name, draw(5, 1, seed=3), kind, 2, "theta**2")
        assert isinstance(answers_for(found.model), QuadraticAnswers)
    whole = subject(name, draw(5, 1, seed=3), "without-replacement", 5, "theta**2")
    full = subject(name, draw(5, 1, seed=3), "full", 5, "theta**2")
    step = fixed_step(0.01)
    assert answers_for(whole.model).bias(step, 9).value == answers_for(full.model).bias(step, 9).value


def test_a_batch_of_all_data_leaves_no_noise() -> None:
    found = subject("sghmc-baoab", draw(5, 2, seed=3), "full", 5, "theta[0]**2")
    law = MinibatchLaw.of(found.target, 5, replaced=False)
    noise = replace(found.noise, minibatch=law)
    step, one = fixed_step(0.01), answers_for(found.model)
    other = answers_for(replace(found.model, noise=noise))
    assert one.expansion.texts == other.expansion.texts
    assert one.mean_square_error(step, 50).ball.overlaps(other.mean_square_error(step, 50).ball)


def test_moments_of_the_invariant_law_are_those_of_the_answers() -> None:
    found = subject("sghmc-aboba", draw(5, 2, seed=3), "iid", 2, "theta[0]*p[1]")
    answers = answers_for(found.model)
    assert isinstance(answers, MomentAnswers)
    moments = answers.moments(fixed_step(0.01))
    product = moments.covariance[0, 3] + moments.mean[0, 0] * moments.mean[3, 0]
    assert float(product.mid()) == pytest.approx(answers.stationary_bias(fixed_step(0.01)).value, rel=1e-12)
    series = answers.moment_series()
    for k, coefficient in enumerate(answers.expansion.values[:3]):
        products = sum((series[i].mean[0, 0] * series[k - i].mean[3, 0] for i in range(k + 1)), fmpq(0))
        value = series[k].covariance[0, 3] + products
        assert float(arb(value).mid()) == pytest.approx(coefficient, rel=1e-12, abs=1e-300)
