"""The readings below the answers: words, the law of one minibatch, expansions, long runs, and the additive engine."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from sgverify.configuration import load_configuration
from sgverify.exact.affine.carrier import read_affine
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import QuadraticAnswers, answers_for
from sgverify.exact.answers.moments import MomentAnswers
from sgverify.exact.minibatch.hessians import MinibatchLaw, read_hessian_products
from sgverify.subject.binding import make_subject
from tests.tables import each_row
from tests.zoo.regressions import draw, find, regression, subject

GIVEN = {"h": Fraction(1, 3), "T": Fraction(1), "D": Fraction(2)}
CATALOGUE = ["sgld-euler", "heun", "sghmc-euler", "sghmc-euler-explicit", "sghmc-aboba", "sghmc-baoab"]


@each_row("name", CATALOGUE)
def test_on_one_minibatch_words_are_powers_of_its_hessian(name: str) -> None:
    scheme = find(name)
    plain, words = read_affine(scheme, GIVEN), read_hessian_products(scheme, GIVEN)
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
    words = read_hessian_products(find("fresh-heun"), GIVEN)
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


@pytest.mark.by_default("heun-1-theta**2-iid", "heun-1-theta**2-without-replacement")
@pytest.mark.parametrize(
    ("name", "dim", "phi", "kind"),
    [
        ("heun", 1, "theta**2", "iid"),
        ("heun", 1, "theta**2", "without-replacement"),
        ("sghmc-baoab", 2, "theta[0]*p[1] + theta[1]", "without-replacement"),
    ],
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
    assert multiplicative.expansion.values == pytest.approx(additive.expansion.values, rel=1e-9)
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


@pytest.mark.power  # 0.8 s
def test_a_batch_of_all_data_leaves_no_noise() -> None:
    found = subject("sghmc-baoab", draw(5, 2, seed=3), "full", 5, "theta[0]**2")
    law = MinibatchLaw.of(found.target, 5, replaced=False)
    noise = replace(found.noise, minibatch=law)
    step, one = fixed_step(0.01), answers_for(found.model)
    other = answers_for(replace(found.model, noise=noise))
    assert one.expansion.values == pytest.approx(other.expansion.values, rel=1e-9)
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
        products = sum((series[i].mean[0, 0] * series[k - i].mean[3, 0] for i in range(k + 1)), arb(0))
        value = series[k].covariance[0, 3] + products
        assert float(value.mid()) == pytest.approx(coefficient, rel=1e-9, abs=1e-60)
