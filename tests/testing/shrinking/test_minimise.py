"""A violation is made simple: fewer keys, plainer values, never another violation and never a conforming configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings

from sgverify.checks.applicable_claims import judge_pair
from sgverify.claims import find_claim
from sgverify.configuration import Configuration, load_configuration, settings_of, tree_of
from sgverify.errors import UserError
from sgverify.evidence import Evidence, Found, Predicted
from sgverify.exact.readings.formula import plant
from sgverify.schemes import Scheme, find_scheme, langevin, torch_step
from sgverify.schemes.catalogue.kinetic import CHEN
from sgverify.strategies import configurations
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from sgverify.testing import minimise
from sgverify.testing.shrinking.counterexample import Minimal, ask, descend, subject_under, violation
from sgverify.testing.shrinking.simpler import paths, value_at, without

ABOBA = find_scheme("sghmc-aboba")
NOISE = "sqrt(2*D*T*h)*z1"

Holds = Callable[[Configuration], bool]


def violating(method: str = "exact") -> Evidence:
    return Evidence(
        scheme="x", claim="a/b", check="q", configuration={}, method=method, predicted=Predicted(2), found=Found(1),
        verdict="violates", reason="so",
    )  # type: ignore[arg-type]  # fmt: skip


def minimal(configuration: Configuration, holds: Holds, **options: int) -> Minimal:
    return descend(configuration, violating(), lambda c: violating() if holds(c) else None, **options)


def dimension(c: Configuration) -> int:
    data = c.target.data
    return c.target.dim or (len(data[0]) if data and isinstance(data[0], list) else 1)


RULES: dict[str, tuple[Holds, int]] = {
    "any": (lambda c: True, 0),
    "warm": (lambda c: c.temperature > 1.5, 1),
    "warm and strong": (lambda c: c.temperature != 1 and c.friction != 2, 2),
    "two dimensions": (lambda c: dimension(c) >= 2, 1),
    "reads the second": (lambda c: dimension(c) >= 2 and "theta[1]" in c.test_function, 2),
    "minibatch of few": (lambda c: c.gradient.kind == "iid" and c.gradient.batch < 5, 2),
    "coupled": (lambda c: isinstance(c.target.precision, list) and len(c.target.precision) > 1, 1),
}


SEEN = {
    "temperature": 0.5,
    "friction": 3.0,
    "start": 1.5,
    "test_function": "theta[0]**2 + theta[0]*theta[1]",
    "target": {"name": "gaussian", "dim": 2, "precision": [[4.0, 1.0], [1.0, 2.0]], "mean": [1.0, -0.5]},
}

MET: Counter[str] = Counter()


@settings(max_examples=25)
@example(load_configuration(SEEN))
@given(configurations(dims=[1, 2, 3]))
def minimise_under_every_rule(configuration: Configuration) -> None:
    for rule, (holds, least) in RULES.items():
        if not holds(configuration):
            continue
        MET[rule] += 1
        found = minimal(configuration, holds)
        tree = tree_of(found.configuration)
        assert holds(found.configuration)
        # A target is one choice; of the other tables every key counts.
        chosen = [
            path for path in paths(tree) if not isinstance(value_at(tree, path), dict) or path == ("target",)
        ]
        assert len([path for path in chosen if path[0] != "target" or len(path) == 1]) <= least, rule
        # Nothing more can be left out, and the same search again ends in the same place.
        for path in paths(tree):
            assert path == ("target", "name") or not holds(load_configuration(without(tree, path))), rule
        assert minimal(configuration, holds) == found


@pytest.mark.power  # 0.5 s
def test_as_few_keys_are_left_as_each_rule_asks_for() -> None:
    minimise_under_every_rule()
    assert set(MET) == set(RULES)


def test_values_that_stay_get_plain() -> None:
    given_ = load_configuration(
        {
            "temperature": 3.74,
            "start": -1.7,
            "test_function": "2*theta[0]*theta[1] - 1/2*theta[1]**2",
            "target": {"name": "gaussian", "dim": 3, "precision": [3.1, 2.2, 7.9], "mean": [0.5, 0.1, 2.0]},
        }
    )
    found = minimal(
        given_, lambda c: c.temperature > 3 and "theta[1]" in c.test_function and dimension(c) > 1
    )
    assert settings_of(found.configuration) == [
        "temperature=4.0",
        "test_function=theta[1]",
        "target.dim=2",
    ]


def test_a_bug_of_the_second_coordinate_ends_in_its_square_and_one_of_coupling_in_a_plain_matrix() -> None:
    coupled = [[25.424, -17.568], [-17.568, 15.176]]
    start = load_configuration(target={"name": "gaussian", "precision": coupled, "dim": 2})

    def couples(c: Configuration) -> bool:
        rows = c.target.precision
        return isinstance(rows, list) and len(rows) == 2 and isinstance(rows[0], list) and rows[0][1] != 0

    found = minimal(start, lambda c: couples(c) or (dimension(c) > 1 and "[1]" in c.test_function))
    assert tree_of(found.configuration) == {"target": {"dim": 2}, "test_function": "theta[1]**2"}
    found = minimal(start, couples)
    assert found.configuration.target.precision == [[2.0, 1.0], [1.0, 2.0]]


def test_what_is_refused_or_violates_on_another_rung_is_no_step() -> None:
    def judge(configuration: Configuration) -> Evidence | None:
        if "temperature" not in configuration.model_fields_set:
            raise UserError("no")
        return violating("exact" if configuration.friction != 2 else "monte-carlo")

    start = load_configuration(temperature=2.0, friction=3.0, start=1.0)
    found = descend(start, violating(), judge)
    assert "temperature" in found.configuration.model_fields_set and found.configuration.friction != 2
    assert found.evidence.method == "exact" and "start" not in found.configuration.model_fields_set


def test_the_judgements_are_bounded_and_those_of_samples_more() -> None:
    start = load_configuration(temperature=3.74, friction=4.21, start=1.3)
    calls = 0

    def judge(configuration: Configuration) -> Evidence | None:
        nonlocal calls
        calls += 1
        return None

    assert descend(start, violating(), judge, most=5).judgements == calls == 5
    calls = 0
    assert descend(start, violating("monte-carlo"), judge).judgements == calls <= 24


BUGS: list[tuple[str, Scheme, str, str, list[str]]] = [
    ("noise without its 2", plant(ABOBA, NOISE, "sqrt(D*T*h)*z1"), "chen2015/theorem-4", "stationary-bias", []),
    ("D outside the root", plant(ABOBA, NOISE, "D*sqrt(2*T*h)*z1"), "chen2015/theorem-4", "stationary-bias", []),
    ("T outside the root", plant(ABOBA, NOISE, "T*sqrt(2*D*h)*z1"), "chen2015/theorem-4", "stationary-bias", ["temperature"]),
    ("T missing", plant(ABOBA, NOISE, "sqrt(2*D*h)*z1"), "chen2015/theorem-3", "mse", ["temperature"]),
    ("a missing A half", plant(ABOBA, "theta1 + h/2*p3", "theta1"), "chen2015/theorem-4", "stationary-bias", []),
    ("not palindromic", CHEN.word("ABOA", order=2), "sgverify/stated-order", "local-order", []),
]  # fmt: skip


@pytest.mark.by_default("D outside the root", "a missing A half", "not palindromic")
@pytest.mark.parametrize(("name", "scheme", "claim", "quantity", "keys"), BUGS, ids=[bug[0] for bug in BUGS])
def test_planted_bugs_end_in_the_key_that_shows_them(
    name: str, scheme: Scheme, claim: str, quantity: str, keys: list[str]
) -> None:
    found = minimise(scheme, load_configuration(SEEN), claim, quantity=quantity)
    assert sorted(found.configuration.model_fields_set) == keys
    assert found.judgements <= 5


def test_the_evidence_is_that_of_the_minimal_configuration_judged_anew() -> None:
    _, scheme, claim, quantity, _ = BUGS[0]
    found = minimise(scheme, load_configuration(SEEN), claim, quantity=quantity)
    (again,) = judge_pair(make_subject(scheme, found.configuration), find_claim(claim), quantity)
    assert replace(again, seconds=0.0) == replace(found.evidence, seconds=0.0)


def test_what_does_not_violate_is_refused() -> None:
    with pytest.raises(UserError, match="nothing violates under this configuration"):
        minimise("sghmc-aboba", load_configuration(), "chen2015/theorem-4", quantity="stationary-bias")
    with pytest.raises(UserError, match="does not speak of it"):
        minimise("sghmc-aboba", load_configuration(), "chen2015/theorem-4", quantity="mse")


@pytest.mark.parametrize(("second", "verdict"), [("violates", "violates"), ("conforms", "inconclusive")])
def test_a_sampled_violation_counts_where_another_seed_confirms_it(
    monkeypatch: pytest.MonkeyPatch, second: Any, verdict: str
) -> None:
    asked: list[int] = []

    def judged(subject: Subject, *_: Any) -> list[Evidence]:
        asked.append(subject.configuration.seed)
        return [replace(violating("monte-carlo"), verdict=second if len(asked) > 1 else "violates")]

    monkeypatch.setattr("sgverify.testing.shrinking.counterexample.judge_pair", judged)
    subject = make_subject("sgld-euler", load_configuration())
    (found,) = ask(subject, load_configuration(seed=7), find_claim("chen2015/theorem-4"), "stationary-bias")
    assert found.verdict == verdict and asked == [7, 8]
    assert (violation([found]) is None) == (verdict == "inconclusive")
    assert verdict == "violates" or found.reason == "seed=8 does not confirm it: so"


def test_torch_code_stays_torch_code_under_another_configuration() -> None:
    @torch_step(langevin, order=1)
    def mine(theta, *, h, grad, T):  # type: ignore[no-untyped-def]
        return theta - h * grad(theta) + (2 * T * h) ** 0.5 * torch.randn_like(theta)

    subject = make_subject(mine, load_configuration())
    other = subject_under(subject, load_configuration(friction=3.0))
    assert type(other) is type(subject) and other.configuration.friction == 3.0


def test_the_replay_of_torch_code_names_the_check_where_the_claim_has_several() -> None:
    def step(theta: torch.Tensor, *, h: float, grad: Any, T: float) -> torch.Tensor:
        return theta - h * grad(theta) + (2 * T * h) ** 0.5 * torch.randn_like(theta)

    subject = make_subject(torch_step(langevin)(step), load_configuration())
    found = judge_pair(subject, find_claim("chen2015/theorem-4"), "stationary-bias")
    assert found[0].replay == "sgverify verify step --checks stationary-bias"
