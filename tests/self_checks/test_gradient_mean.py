"""The gradient check: it passes every estimator as it runs, and refutes each of its planted bugs on the rung that it should."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, permutations, product

import numpy as np
import pytest
import torch

from sgverify import scheme, sqrt
from sgverify.configuration import load_configuration
from sgverify.samplers.gradients.minibatches import Reshuffle, WithoutReplacement
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.randomness.variates import indices
from sgverify.schemes import langevin
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from sgverify.targets import build_target
from tests.mutants.planting import planted, right
from tests.mutants.registry import find_mutant, mutants
from tests.self_checks.enumeration import (
    Scripted,
    estimates,
    every_sequence,
    minibatches_of,
    resolution_of,
)
from tests.self_checks.finding import Finding
from tests.self_checks.gradient_cases import ensemble_of, problems
from tests.self_checks.gradient_mean import check_gradient_mean
from tests.self_checks.gradient_parts import gradient_parts
from tests.self_checks.index_stream import _divergence

KINDS = ("full", "iid", "without-replacement", "reshuffle", "symmetric", "svrg", "additive")
# What a run forgets when it is paused, or drawn in blocks, is for pure-step to see.
PAUSED = {"saga-table-emptied-by-a-pause", "svrg-snapshot-by-steps-of-the-block"}
FAMILY = [
    name
    for name, mutant in mutants().items()
    if mutant.family == "gradient estimators" and name not in PAUSED
]


def evidence_of(subject: Subject) -> Finding:
    return check_gradient_mean(subject)


def subject_of(name: str, *settings: str) -> Subject:
    return make_subject(name, load_configuration(None, settings))


@pytest.mark.by_default(
    *(f"sghmc-baoab-settings0-{kind}" for kind in KINDS),
    "sgld-euler-settings1-iid",
    "sgld-euler-settings1-svrg",
    "sgld-euler-settings2-reshuffle",
    "sgld-euler-settings2-without-replacement",
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("scheme", "settings"),
    [
        ("sghmc-baoab", ("target.dim=2", "target.size=30", "gradient.batch=5")),
        ("sgld-euler", ("target.name=logistic-regression", "target.size=6", "gradient.batch=3")),
        (
            "sgld-euler",
            ("target.name=gamma-poisson", "target.size=12", "gradient.batch=4", "temperature=0.5"),
        ),
    ],
)
def test_every_estimator_conforms_as_it_runs(scheme: str, settings: tuple[str, ...], kind: str) -> None:
    found = evidence_of(subject_of(scheme, f"gradient.kind={kind}", *settings))
    assert (found.verdict, found.method) == ("conforms", "exact"), found.reason


@scheme(langevin)
def two_minibatches(theta, *, h, grad, noise, T):
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    other = grad.fresh()
    return theta - h / 2 * (grad(theta) + other(guess)) + kick


@pytest.mark.parametrize("kind", KINDS)
def test_steps_that_take_two_minibatches_conform(kind: str) -> None:
    settings = (f"gradient.kind={kind}", "gradient.batch=2", "target.size=6")
    found = evidence_of(make_subject(two_minibatches, load_configuration(None, settings)))
    assert found.verdict == "conforms", found.reason


@pytest.mark.parametrize(
    "settings",
    [
        ("gradient.kind=iid", "gradient.clip=0.5", "gradient.scale=1.5", "target.name=logistic-regression"),
        ("gradient.kind=reshuffle", "gradient.scale=0.5", "target.name=linear-regression", "target.size=20"),
        (
            "gradient.kind=iid",
            "dtype=float32",
            "target.name=gamma-poisson",
            "target.size=12",
            "gradient.batch=4",
        ),
        ("gradient.kind=without-replacement", "gradient.batch=40", "target.size=60"),
        ("gradient.kind=iid", "target.data=[1000000.5,1000001.5,1000000.25]", "gradient.batch=3"),
        ("gradient.kind=reshuffle", "target.size=12", "gradient.batch=12"),
        ("gradient.kind=svrg", "target.data=[0.5]", "gradient.batch=1"),
        ("gradient.kind=iid", "target.dim=7", "target.size=20", "gradient.batch=3"),
    ],
)
def test_biased_clipped_single_large_and_rounded_gradients_conform(settings: tuple[str, ...]) -> None:
    found = evidence_of(subject_of("sgld-euler", *settings))
    assert found.verdict == "conforms", found.reason


@lru_cache
def verdict_of_right(scheme: str, configuration: str) -> str:
    mutant = next(
        m for m in mutants().values() if (m.scheme, str(m.configuration)) == (scheme, configuration)
    )
    return evidence_of(right(mutant)).verdict


FIRST = {name.partition("-")[0]: name for name in reversed([*FAMILY])}.values()
"""A bug of each kind: the others are behind `power`."""


@pytest.mark.by_default(*FIRST)
@pytest.mark.parametrize("name", FAMILY)
def test_a_planted_bug_is_refuted_by_enumeration(name: str) -> None:
    mutant = find_mutant(name)
    assert verdict_of_right(mutant.scheme, str(mutant.configuration)) == "conforms"
    with planted(mutant) as subject:
        found = evidence_of(subject)
    assert (found.verdict, found.method) == ("violates", "exact"), found.reason


def test_a_datum_that_is_never_drawn_is_seen_in_the_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the few data of an enumeration: an end that is lost at the configured number of data alone."""
    from sgverify.samplers.gradients import minibatches

    def short(stream: Stream, first: int, count: int, bound: int | torch.Tensor) -> torch.Tensor:
        return indices(stream, first, count, bound - 1 if isinstance(bound, int) and bound > 10 else bound)

    monkeypatch.setattr(minibatches, "indices", short)
    found = evidence_of(subject_of("sgld-euler", "gradient.kind=iid", "target.size=300"))
    assert (found.verdict, found.method) == ("violates", "monte-carlo")
    assert "datum 299 of 0 to 299 is drawn 0 times" in found.reason


def test_a_scheme_that_asks_for_no_gradient_has_none_to_compare() -> None:
    @scheme(langevin)
    def walk(theta, *, h, noise, T):
        return theta + sqrt(2 * T * h) * noise()

    assert evidence_of(make_subject(walk, load_configuration(None))).verdict == "not-applicable"


def test_scripted_words_meet_every_outcome_equally_often() -> None:
    """Subsets by Floyd and permutations by Fisher and Yates, from all sequences of words: an exact count."""
    table = every_sequence(resolution_of(4), range(4), 4)
    stream = Scripted.of_table(table)
    drawn = np.asarray(indices(stream, 0, 4, 4)[:, 0]).T
    kinds, counts = np.unique(drawn, axis=0, return_counts=True)
    assert [tuple(k) for k in kinds] == list(product(range(4), repeat=4)) and len(set(counts)) == 1
    subsets = np.sort(np.asarray(WithoutReplacement(stream, 4, 2).block(0, 2)[1, :, 0]), axis=0).T
    kinds, counts = np.unique(subsets, axis=0, return_counts=True)
    assert [tuple(k) for k in kinds] == list(combinations(range(4), 2)) and len(set(counts)) == 1
    orders = np.asarray(Reshuffle(stream, 4, 1).block(0, 4)[:, 0, 0]).T
    kinds, counts = np.unique(orders, axis=0, return_counts=True)
    assert [tuple(k) for k in kinds] == list(permutations(range(4))) and len(set(counts)) == 1


def test_estimates_by_hand() -> None:
    """Gaussian mean, precision 1 of data and 5 of the prior at 1: every estimate of two data of three."""
    subject = subject_of(
        "sgld-euler",
        "target.data=[0.0,1.0,7.0]",
        "target.prior_precision=5.0",
        "target.prior_mean=1.0",
        "gradient.kind=iid",
        "gradient.batch=2",
    )
    problem, _ = problems(subject)
    ensemble = ensemble_of(subject, problem, hoist=False)
    theta, data = 0.3, np.array([0.0, 1.0, 7.0])
    (first, *_) = estimates(ensemble, problem.numbers, lambda step: np.array([theta]))
    drawn = minibatches_of(ensemble, 1)[0]
    by_hand = 5 * (theta - 1) + 3 / 2 * (theta - data[drawn]).sum(0)
    assert first[:, 0] == pytest.approx(by_hand, abs=1e-13)
    assert first.mean() == pytest.approx(5 * (theta - 1) + (theta - data).sum(), abs=1e-12)


@pytest.mark.parametrize("name", ["logistic-regression", "linear-regression", "gaussian-mean"])
def test_the_parts_of_a_gradient_are_difference_quotients(name: str) -> None:
    settings = (f"target.name={name}", "target.dim=3", "target.size=5")
    target = build_target(load_configuration(None, settings).target)
    theta, step = np.array([0.3, -0.7, 1.1]), 1e-5
    parts = gradient_parts(target, theta)
    assert target.likelihood is not None and target.data is not None
    for j in range(3):
        e = step * np.eye(3)[j]
        of_prior = (target.prior(theta + e) - target.prior(theta - e)) / (2 * step)
        of_data = (target.likelihood(theta + e, target.data) - target.likelihood(theta - e, target.data)) / (
            2 * step
        )
        assert float(parts.prior[j]) == pytest.approx(of_prior, abs=1e-7)
        assert parts.data[:, j].astype(float) == pytest.approx(of_data, abs=1e-7)
    assert np.all(parts.conditioning > 0)


def test_counts_are_bounded_by_the_divergence_of_coins() -> None:
    """exp(-n KL(a/n, p)) bounds both tails of the binomial law."""
    from scipy import stats

    n, p = 50, 0.1
    for a in (0, 1, 12, 20):
        bound = np.exp(-n * _divergence(np.array(a / n), np.array(p)))
        tail = stats.binom.cdf(a, n, p) if a < n * p else stats.binom.sf(a - 1, n, p)
        assert tail <= bound * (1 + 1e-12)
