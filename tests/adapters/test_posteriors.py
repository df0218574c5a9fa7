"""Transforms of posteriors are judged as they are given: a builder, a module or what was built."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch

import sgverify
from sgverify.adapters.posteriors import ADAPTER, _log_posterior
from sgverify.errors import DefinitionError
from sgverify.schemes import TorchStep, kinetic
from sgverify.schemes.adapting import AdapterSettings
from tests.zoo.transforms import library

ORDER = {"order": 1}


def _step(found: object, **settings: object) -> TorchStep:
    made = ADAPTER.adapt(found, AdapterSettings(**settings), "theirs.py:found")  # type: ignore[arg-type]
    assert isinstance(made, TorchStep)
    return made


def test_a_builder_a_module_and_a_transform_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = library(monkeypatch)
    built = theirs.build(None, lr=0.1, sigma=2.0)
    for found in (theirs, theirs.build, functools.partial(theirs.build, alpha=3.0), built):
        assert ADAPTER.takes(found), found
        assert _step(found).dynamics is kinetic
    assert not ADAPTER.takes(1.0) and not ADAPTER.takes(ModuleType("posteriors_of_mine"))
    assert _step(theirs).conventions == "lr = h, temperature = T, alpha = D, sigma = 1.0"
    assert _step(built).conventions == "lr = h*2.0, temperature = T, alpha = D*2.0, sigma = 2.0"


def test_the_momentum_is_in_units_of_its_standard_deviation(monkeypatch: pytest.MonkeyPatch) -> None:
    found = library(monkeypatch).build(None, lr=0.1, sigma=2.0)
    answers = sgverify.verify(found, checks=["local-order"], adapter=ORDER)
    assert answers.outcome == "pass", answers[0].reason


def test_too_little_noise_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = sgverify.verify(library(monkeypatch, SHARE="1"), checks=["local-order"], adapter=ORDER)
    assert answers.outcome == "fail"
    # Noise by half is right for who means half the temperature by it.
    conventions = {**ORDER, "map": {"temperature": "2*T"}}
    answers = sgverify.verify(library(monkeypatch, SHARE="1"), checks=["local-order"], adapter=conventions)
    assert answers.outcome == "pass"


@pytest.mark.by_default("changes0-", "changes1-built with momenta=0, a chain starts at momenta=")
@pytest.mark.parametrize(
    ("changes", "clause"),
    [
        ({}, ""),
        ({"START": "not momenta"}, "built with momenta=0, a chain starts at momenta="),
        (
            {"SHARED": "torch.tensor(0)", "COUNTED": "state.step.add_(1)"},
            "another chain's step from ",
        ),
    ],
)
def test_starts_and_steps_in_place(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, str], clause: str
) -> None:
    in_place = {"map": {"inplace": True}}
    (answer,) = sgverify.verify(library(monkeypatch, **changes), checks=["pure-step"], adapter=in_place)
    assert answer.outcome == ("fail" if clause else "pass"), answer.reason
    assert clause in answer.reason
    assert "starts at momenta in {0, 0.5, -0.5}" in answer.certificate["tried_beside_the_step"]


def test_a_step_in_place_is_judged_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = library(monkeypatch, SHARED="torch.tensor(0)", COUNTED="state.step.add_(1)")
    answers = sgverify.verify(theirs, checks=["pure-step"])
    assert answers.outcome == "pass"
    assert "--set adapter.map.inplace=true" in [setting for _, setting in sgverify.adapt(theirs).untried]


def test_what_no_step_can_be_made_of_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = library(monkeypatch)
    with pytest.raises(DefinitionError, match="adapter.map.rate: .* has no such setting; expected lr, alpha"):
        _step(theirs, map={"rate": "h"})
    with pytest.raises(DefinitionError, match="has a state that .* does not keep .xi."):
        _step(theirs, dynamics="thermostat")
    closed = theirs.Transform(theirs.init, lambda state, batch: (state, None))
    with pytest.raises(DefinitionError, match="no log density can be put"):
        _step(closed)


@pytest.mark.parametrize(
    "twice",
    [
        lambda value, at: torch.func.jacrev(torch.func.grad(value))(at),
        lambda value, at: torch.autograd.functional.hessian(value, at),
    ],
)
def test_second_derivatives_of_the_log_density_are_refused(twice: Callable[[Any, Any], Any]) -> None:
    """A gradient is handed over: how a log density is curved is not known, and is not taken for 0."""
    at = torch.ones(2, dtype=torch.float64)

    def value(theta: torch.Tensor) -> torch.Tensor:
        return _log_posterior(lambda place: 3 * place)({"first": theta}, None)[0]

    assert torch.equal(torch.func.grad(value)(at), -3 * at)
    with pytest.raises(DefinitionError, match="has first derivatives; it is asked for second ones"):
        twice(value, at)
