"""What is found in the installed library posteriors, and that each find vanishes with the line that causes it.

`pytest -m wild tests/adapters`; found in release 0.1.3.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch

import sgverify

pytestmark = [
    pytest.mark.wild,
    # The library defines its states in a way that warns.
    pytest.mark.filterwarnings("ignore"),
]


def _module(name: str) -> ModuleType:
    samplers = pytest.importorskip("posteriors").sgmcmc
    return getattr(samplers, name)  # type: ignore[no-any-return]


def _mended(module: ModuleType, function: str, was: str, now: str) -> Callable[..., Any]:
    """A function of the library with one line of its text replaced."""
    text = inspect.getsource(getattr(module, function))
    assert text.count(was) == 1, was
    space = dict(vars(module))
    exec(compile(text.replace(was, now), f"{module.__name__}, mended", "exec"), space)
    made: Callable[..., Any] = space[function]
    return made


def test_a_constant_in_float32_is_found_in_baoa(monkeypatch: pytest.MonkeyPatch) -> None:
    baoa = _module("baoa")
    given = {
        "checks": ["dtype"],
        "target": {"name": "gaussian"},
        "friction": 0.01,
        "schedule": {"step": 1e-5},
    }
    (answer,) = sgverify.verify(baoa, **given)
    assert answer.outcome == "fail" and "float32 at baoa.py" in answer.reason
    made = _mended(
        baoa, "update", "torch.tensor(alpha * prec)", "torch.tensor(alpha * prec, dtype=torch.float64)"
    )
    monkeypatch.setattr(baoa, "update", made)
    # In a float32 run the mended constant is wider than the state, which is another matter.
    (answer,) = sgverify.verify(baoa, **given)
    assert "flows through a float64 step" not in answer.reason


def test_a_start_of_zero_is_found_to_be_replaced_in_sgnht(monkeypatch: pytest.MonkeyPatch) -> None:
    sgnht = _module("sgnht")
    (answer,) = sgverify.verify(sgnht, checks=["pure-step"])
    assert answer.outcome == "fail" and "built with xi=0, a chain starts at xi=0.01" in answer.reason
    monkeypatch.setattr(
        sgnht, "build", _mended(sgnht, "build", "xi=xi or alpha", "xi=alpha if xi is None else xi")
    )
    (answer,) = sgverify.verify(sgnht, checks=["pure-step"])
    assert answer.outcome == "pass", answer.reason


@pytest.mark.parametrize("name", ["sgld", "sghmc", "baoa"])
def test_a_step_in_place_is_found_to_change_other_chains(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    module = _module(name)
    (answer,) = sgverify.verify(module, checks=["pure-step"], adapter={"map": {"inplace": True}})
    assert answer.outcome == "fail" and "another chain's log_posterior" in answer.reason
    _private_counters(monkeypatch, module)
    (answer,) = sgverify.verify(module, checks=["pure-step"], adapter={"map": {"inplace": True}})
    assert answer.outcome == "pass", answer.reason


def _private_counters(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Each state gets tensors of its own, where the library's class holds one for all states."""
    kind = next(value for name, value in vars(module).items() if name.endswith("State"))
    first = kind.__init__

    def start(self: Any, *args: Any, **given: Any) -> None:
        known = inspect.signature(first).parameters
        named = [name for name in known if name != "self"][: len(args)]
        for field, value in (("log_posterior", torch.tensor(torch.nan)), ("step", torch.tensor(0))):
            if field not in named:
                given.setdefault(field, value)
        first(self, *args, **given)

    monkeypatch.setattr(kind, "__init__", start)


def test_what_is_right_passes() -> None:
    for name in ("sgld", "sghmc"):
        answers = sgverify.verify(
            _module(name), checks=["local-order", "stationary-bias", "dtype"], adapter={"order": 1}
        )
        assert answers.outcome == "pass", [item.reason for item in answers]
