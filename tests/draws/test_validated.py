"""What a second call of `sample` does not repeat: nothing that could have changed, and nothing that the free keys decide."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import sgverify
from sgverify.advice.step_bias import step_bias
from sgverify.configuration import Configuration, load_configuration
from sgverify.draws import Sampling, validated
from sgverify.draws.step_choice import choose_step
from sgverify.errors import InstabilityError
from sgverify.schemes import dot, langevin, scheme, sqrt
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from sgverify.targets import Target

FACTOR = 2


@scheme(langevin)
def with_a_number_of_its_module(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    return theta - h * grad(theta) + sqrt(FACTOR * T * h) * noise()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Subject]]:
    """The subjects that are validated, from an empty memory on."""
    monkeypatch.setattr(validated, "_KNOWN", type(validated._KNOWN)())
    found: list[Subject] = []
    honest = Subject.validate
    monkeypatch.setattr(Subject, "validate", lambda self: found.append(self) or honest(self))
    yield found


def prepared(subject: Any = "sghmc-aboba", **settings: Any) -> Sampling:
    return Sampling.of(subject, load_configuration(None, **settings))


def test_a_second_call_validates_nothing_and_chooses_the_same_step(asked: list[Subject]) -> None:
    target = {"name": "logistic-regression", "dim": 2, "size": 9}
    first = prepared(target=target, gradient={"kind": "iid", "batch": 3}, seed=1, chains=2, steps=50)
    again = prepared(
        target=target, gradient={"kind": "iid", "batch": 3}, seed=2, chains=3, steps=60, thinning=2
    )
    assert len(asked) == 1
    assert again.choice is not None
    assert first.choice is not None
    assert again.choice.step == first.choice.step
    assert again.step_bias == first.step_bias
    c = again.subject.configuration
    assert (c.seed, c.chains, c.steps, c.thinning) == (2, 3, 60, 2)
    assert len(again.ensemble.chains) == 3


@pytest.mark.parametrize(
    "changed",
    [
        {"friction": 3.0},
        {"temperature": 2.0},
        {"start": 1.0},
        {"dtype": "float32"},
        {"gradient": {"kind": "full"}},
        {"target": {"dim": 2}},
        {"schedule": {"step": 0.01}},
        {"scheme": "sgld-euler"},
    ],
)
def test_any_other_key_is_validated_anew(changed: dict[str, Any], asked: list[Subject]) -> None:
    prepared()
    prepared(changed.pop("scheme", "sghmc-aboba"), **changed)
    assert len(asked) == 2


def test_an_unstable_step_is_refused_again_and_again(asked: list[Subject]) -> None:
    for _ in range(2):
        with pytest.raises(InstabilityError):
            prepared(schedule={"step": 10.0})
    assert len(asked) == 2


def test_what_may_have_changed_is_validated_anew(
    asked: list[Subject], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(with_a_number_of_its_module)
    prepared(with_a_number_of_its_module)
    assert len(asked) == 1
    monkeypatch.setitem(with_a_number_of_its_module.function.__globals__, "FACTOR", 3)
    prepared(with_a_number_of_its_module)
    assert len(asked) == 2
    data = tmp_path / "data.csv"
    for number in range(2):
        data.write_text(f"1.0\n2.0\n{number}.5\n")
        found = prepared(target={"file": str(data)})
        # The same data again, in a file written anew, are known.
        data.write_text(f"1.0\n2.0\n{number}.5\n")
        found = prepared(target={"file": str(data)})
        assert found.subject.target.data is not None
        assert found.subject.target.data[-1, 0] == number + 0.5
    assert len(asked) == 4


CENTRE = 1.0


def made_in_python(data: np.ndarray) -> Target:
    """A quartic about CENTRE for each datum, whose functions are made of Python numbers."""

    def likelihood(theta: Any, datum: Any) -> Any:
        return dot(theta - datum, theta - datum) ** 2 / 4

    def prior(theta: Any) -> Any:
        return CENTRE * dot(theta, theta)

    return Target("own", 1, prior, likelihood, data)


def test_a_target_made_in_python_is_validated_once_until_it_changes(
    asked: list[Subject], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = np.linspace(-1, 1, 5)[:, None]
    target = made_in_python(data)
    for seed in range(3):
        Sampling.of("sgld-euler", load_configuration(None, seed=seed, chains=2, steps=50), target=target)
    assert len(asked) == 1
    # Another object, whatever it is equal to, is not this one.
    same = Sampling.of("sgld-euler", load_configuration(None), target=made_in_python(data)).subject
    assert len(asked) == 2
    assert same.target is not target
    monkeypatch.setitem(globals(), "CENTRE", 2.0)
    Sampling.of("sgld-euler", load_configuration(None), target=target)
    assert len(asked) == 3
    # What can be written to is compared whole.
    data[-1] += 1e-9
    Sampling.of("sgld-euler", load_configuration(None), target=target)
    assert len(asked) == 4
    Sampling.of("sgld-euler", load_configuration(None), target=target)
    assert len(asked) == 4


def test_draws_are_those_of_the_data_and_the_functions_as_they_are_now(
    asked: list[Subject], monkeypatch: pytest.MonkeyPatch
) -> None:
    def likelihood(theta: Any, datum: Any) -> Any:
        return dot(theta - datum, theta - datum) / 2

    data = np.zeros((20, 1))
    target = Target("own", 1, lambda theta: int(CENTRE) * dot(theta, theta) / 2, likelihood, data)

    def limit() -> float:
        with pytest.raises(InstabilityError, match="take a step below") as refused:
            Sampling.of("sgld-euler", load_configuration(None, schedule__step=1.0), target=target)
        return float(str(refused.value).split("take a step below ")[1].split()[0])

    def mean() -> float:
        settings: Any = {"schedule": {"step": 0.01}, "steps": 400, "burn_in": 200, "chains": 20, "seed": 1}
        draws = sgverify.sample("sgld-euler", settings, target=target)
        return float(draws["posterior"].to_array().mean())

    assert abs(mean()) < 0.2
    assert limit() == pytest.approx(2 / 21, rel=1e-5)
    data[:] = 10.0
    assert abs(mean() - 10 * 20 / 21) < 0.2
    monkeypatch.setitem(globals(), "CENTRE", 80.0)
    assert limit() == pytest.approx(2 / 100, rel=1e-5)
    assert abs(mean() - 2.0) < 0.2


def test_a_log_density_is_the_same_target_at_every_call(asked: list[Subject]) -> None:
    @sgverify.log_density()
    def bell(theta):  # type: ignore[no-untyped-def]
        return -(theta**4).sum(-1)

    found = [Sampling.of("sgld-euler", load_configuration(None, seed=seed), target=bell) for seed in range(2)]
    assert len(asked) == 1
    assert found[0].subject.target is found[1].subject.target


def test_the_free_keys_are_read_by_nothing_that_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[str] = set()
    honest = Configuration.__getattribute__

    def watched(self: Configuration, name: str) -> Any:
        read.add(name)
        return honest(self, name)

    targets: list[dict[str, Any]] = [
        {"name": "gaussian", "dim": 2},
        {"name": "gaussian-mean", "size": 7},
        {"name": "double-well"},
        {"name": "logistic-regression", "dim": 2, "size": 9},
    ]
    for target in targets:
        for gradient in ({"kind": "full"}, {"kind": "additive"}, {"kind": "iid", "batch": 3}):
            if gradient["kind"] == "iid" and "size" not in target:
                continue
            subject = make_subject("sgld-euler", load_configuration(None, target=target, gradient=gradient))
            with monkeypatch.context() as patched:
                patched.setattr(Configuration, "__getattribute__", watched)
                subject.validate()
                step_bias(subject, subject.step)
            choose_step(subject)
    assert {"temperature", "target", "gradient", "schedule"} <= read
    assert not read & set(validated.FREE)


def test_the_latest_subjects_are_kept(asked: list[Subject], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validated, "MOST", 2)
    for friction in (1.0, 2.0, 3.0, 2.0, 1.0):
        prepared(friction=friction)
    assert len(asked) == 4
    # The latest one is kept, whatever its data.
    monkeypatch.setattr(validated, "MOST_DATA", 0)
    for friction in (1.0, 2.0, 2.0, 1.0):
        prepared(friction=friction)
    assert len(asked) == 6
    assert np.isfinite([subject.step for subject in asked]).all()


@pytest.mark.power  # 0.7 s
def test_draws_of_a_module_are_those_of_its_loss_as_it_is_now(asked: list[Subject]) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(400, 2), torch.zeros(400, dtype=torch.long)
    # None of the data whose energies are compared.
    y[8:10] = 1
    module, weights = torch.nn.Linear(2, 2), [1.0]

    def loss(outputs: Any, labels: Any) -> Any:
        return (torch.nn.functional.cross_entropy(outputs, labels, reduction="none") * factors(labels)).sum()

    def factors(labels: Any) -> Any:
        return 1 + (weights[0] - 1) * (labels == 1)

    def last(target: Any) -> np.ndarray:
        settings: Any = {"schedule": {"step": 0.002}, "steps": 50, "chains": 2, "gradient": {"kind": "iid"}}
        draws = sgverify.sample("sgld-euler", settings, target=target)["posterior"]
        return np.concatenate([draws[name].values[:, -1].ravel() for name in draws.data_vars])

    def made() -> Any:
        return sgverify.module_target(module, loss, data=(x, y), reduction="sum")

    target = made()
    before = last(target)
    weights[0] = 100.0
    after = last(target)
    assert not np.array_equal(before, after)
    assert np.array_equal(after, last(made()))
    assert len(asked) == 3
