"""The wider domains: landscapes, prescribed condition numbers, all dynamics, irrational shares, whole configurations."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from sgverify.configuration import Configuration, load_configuration, settings_of
from sgverify.exact.series.local_order import local_order
from sgverify.schemes import Scheme
from sgverify.schemes.loading import load_scheme
from sgverify.strategies import configurations, gradients, schemes, targets, words
from sgverify.strategies.schemes import DYNAMICS, REMEMBERING
from sgverify.strategies.targets import NAMES
from sgverify.subject.subject import Subject
from sgverify.targets import build_target


@settings(max_examples=20)
@given(st.sampled_from([1.0, 1.5, 25.0, 1000.0]), st.data())
def test_targets_have_the_prescribed_condition_exactly(condition: float, data: Any) -> None:
    table = data.draw(targets(dims=[2, 3, 4], condition=condition))
    event(table.name)
    target = build_target(table)
    values = np.linalg.eigvalsh(target.precision_float64())
    # eigvalsh is backward stable: 50 eps of the largest one.
    assert abs(values[-1] - condition * values[0]) <= 50 * 2.3e-16 * condition * values[-1]
    if table.name == "gaussian-mean":
        prior = np.array(table.prior_precision, dtype=float)
        least = np.linalg.eigvalsh(prior if prior.ndim == 2 else np.diag(prior * np.ones(target.dim)))[0]
        assert target.size is not None
        assert abs(least - target.size * table.noise_precision) < 1e-9 * least * condition


@pytest.mark.by_default(
    "gaussian",
    "linear-regression",
    "double-well",
    "quartic",
    "mixture",
    "poisson-regression",
    "beta-bernoulli",
)
@pytest.mark.parametrize("name", NAMES)
def test_every_target_is_drawn_valid_and_without_symmetry(name: str) -> None:
    @settings(max_examples=10)
    @given(configurations(names=[name], dims=[1, 2]))
    def valid(configuration: Configuration) -> None:
        again = load_configuration(json.loads(json.dumps(configuration.as_dict())))
        assert again.as_dict() == configuration.as_dict()
        assert load_configuration(None, settings_of(configuration)) == configuration
        reference = "sgld-euler"
        Subject(load_scheme(reference), configuration, reference).validate()
        target = build_target(configuration.target)
        where, spread = target.location_float64(1.0), target.spread_float64(1.0)
        assert np.isfinite(where).all() and (spread > 0).all()

    valid()


@settings(max_examples=10)
@given(
    schemes(dynamics=DYNAMICS, memory=True).flatmap(
        lambda s: st.tuples(st.just(s), configurations(scheme=s, dims=[1]))
    )
)
def test_schemes_of_all_dynamics_load_by_their_reference_and_make_subjects(
    drawn: tuple[Scheme, Configuration],
) -> None:
    scheme, configuration = drawn
    event(scheme.dynamics.name)
    again = load_scheme(scheme.reference)
    assert (again.state, again.dynamics) == (scheme.state, scheme.dynamics)
    assert scheme.word is None or again.word.text == scheme.word.text
    subject = Subject(scheme, configuration, scheme.reference)
    subject.validate()
    assert subject.step > 0


@settings(max_examples=10)
@given(words(shares="composed"))
def test_composed_words_have_irrational_shares_and_keep_their_order(scheme: Scheme) -> None:
    word = scheme.word
    assert any(not isinstance(share, Fraction) for share in word.shares) and min(word.shares) < 0
    assert word.palindromic and load_scheme(scheme.reference).word.shares == word.shares
    assert local_order(scheme, 1).order >= 2


def test_schemes_with_memory_carry_what_they_say() -> None:
    assert [scheme.name for scheme in REMEMBERING] == ["averaged_noise", "kept_force"]
    for scheme in REMEMBERING:
        assert load_scheme(scheme.reference).memory.keys() == scheme.memory.keys()
    # A step from a memory that was just drawn misses half of the last noise: the law is right, the first step is not.
    assert [local_order(scheme, 2).order for scheme in REMEMBERING] == [1, 2]


@settings(max_examples=10)
@given(
    targets(data=True, dims=[1, 2]).flatmap(lambda t: st.tuples(st.just(t), gradients(target=t, biased=True)))
)
def test_biased_gradients_are_biased(drawn: Any) -> None:
    _, gradient = drawn
    assert (gradient.scale != 1) != (gradient.clip is not None)


@pytest.mark.power  # 0.8 s
def test_what_hides_bugs_is_rare() -> None:
    """statistics.md: T != 1, dim >= 2, asymmetric data and a strong prior, or whole classes of bugs are invisible."""
    seen: Counter[str] = Counter()

    @settings(max_examples=50)
    @given(configurations(kinds=["iid", "svrg", "additive", "full"]))
    def count(c: Configuration) -> None:
        target = build_target(c.target)
        seen["all"] += 1
        seen["T"] += c.temperature != 1
        seen["D"] += c.friction != 1
        seen["dim"] += target.dim >= 2
        if target.data is not None:
            seen["data"] += 1
            centred = target.data - target.data.mean(0)
            seen["asymmetric"] += bool((abs((centred**3).sum(0)) > 1e-9).all())
            # A prior that is forgotten, doubled or scaled by N/n moves the Hessian by a twentieth at least.
            prior = np.array(c.target.prior_precision, dtype=float)
            share = np.trace(prior) if prior.ndim == 2 else (prior * np.ones(target.dim)).sum()
            seen["strong"] += bool(share >= 0.05 * np.trace(target.precision_float64()))

    count()
    assert seen["T"] == seen["D"] == seen["all"] and seen["asymmetric"] == seen["data"]
    assert seen["dim"] >= 0.4 * seen["all"] and seen["data"] >= 0.4 * seen["all"]
    assert seen["strong"] >= 0.6 * seen["data"]
