"""A sampler of another library is handed to the adapter that takes it, with the conventions that a user tells."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sgverify
from sgverify.errors import ConfigurationError, DefinitionError, UnknownNameError, UserError
from sgverify.schemes import TorchStep, adapting, langevin, torch_step
from sgverify.schemes.adapting import Adapter, AdapterSettings, is_of, parameter
from sgverify.schemes.loading import load_step
from tests.tables import each_row

AT = {"h": 0.1, "T": 2.0, "D": 3.0, "dim": 2}


class Strange:
    """An object of a library: its update has a learning rate, and noise of the given share."""

    def __init__(self, share: float = 2.0) -> None:
        self.share = share


def _step(found: Strange, settings: AdapterSettings, reference: str) -> TorchStep:
    rate = parameter("lr", settings.map.get("lr", "h"))

    @torch_step(settings.dynamics_or(langevin), order=settings.order)
    def strange(theta: Any, *, h: float, grad: Any, T: float) -> Any:
        import torch

        lr = rate({"h": h, "T": T})
        return theta - lr * grad(theta) + (found.share * T * lr) ** 0.5 * torch.randn_like(theta)

    return strange.named(reference or "strange")


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Adapter:
    """An adapter of `Strange`, as those are that ship."""
    made = Adapter("strange", "objects of class Strange", lambda found: isinstance(found, Strange), _step)
    module = ModuleType("an_adapter_of_tests")
    module.ADAPTER = made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(adapting, "SHIPPED", (*adapting.SHIPPED, f"{module.__name__}:ADAPTER"))
    return made


@pytest.mark.usefixtures("adapter")
def test_an_object_is_judged_as_it_is() -> None:
    assert sgverify.verify(Strange(), checks=["local-order"]).outcome == "pass"
    assert sgverify.verify(Strange(1.0), checks=["local-order"], adapter={"order": 1}).outcome == "fail"


@pytest.mark.power  # 0.6 s
@pytest.mark.usefixtures("adapter")
def test_an_object_of_a_file_is_judged_under_its_conventions(tmp_path: Path) -> None:
    file = tmp_path / "theirs.py"
    file.write_text(
        "from tests.schemes.test_adapting import Strange\n\nsampler = Strange()\n", encoding="utf-8"
    )
    found = load_step(f"{file}:sampler", AdapterSettings(map={"lr": "2*h"}))
    assert isinstance(found, TorchStep) and found.dynamics is langevin
    settings = {"adapter": {"map": {"lr": "2*h"}, "order": 1}}
    answers = sgverify.verify(f"{file}:sampler", settings, checks=["local-order"])
    # A learning rate of 2h is Langevin dynamics at twice the speed.
    assert "a step of h is one of size 2 h" in answers[0].reason
    assert answers[0].configuration["adapter"]["map"] == {"lr": "2*h"}
    assert "--set 'adapter.map.lr=2*h'" in answers[0].replay


def test_what_nobody_takes_is_one_message(adapter: Adapter) -> None:
    with pytest.raises(DefinitionError, match=r"the class int, of which no adapter makes a step; expected"):
        sgverify.adapt(int)


@pytest.mark.usefixtures("adapter")
@pytest.mark.parametrize("unread", [{"density": "dens.py:log_density"}, {"state": {"p": "buffer/h"}}])
def test_a_setting_that_the_adapter_does_not_read_is_refused(unread: dict[str, Any]) -> None:
    (key,) = unread
    with pytest.raises(
        ConfigurationError, match=rf"adapter\.{key} with scheme=.*the adapter strange does not read it"
    ):
        sgverify.verify(Strange(), checks=["local-order"], adapter=unread)


def test_settings_beside_a_step_are_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"adapter\.map with scheme='sgld-euler': it is a step by itself"
    ):
        sgverify.verify("sgld-euler", adapter={"map": {"lr": "h"}})


@each_row(
    ("given", "value"),
    [
        ("h**2", 0.010000000000000002),
        ("1 - exp(-h*D)", 1 - math.exp(-0.1 * 3.0)),
        ("sqrt(2*T)/dim", 1.0),
        (True, True),
        (3, 3),
        ("'baoab'", "baoab"),
        (None, None),
    ],
)
def test_a_parameter_has_its_value(given: Any, value: Any) -> None:
    assert parameter("lr", given)(AT) == value


@each_row(
    ("make", "kind", "told"),
    [
        (lambda: parameter("lr", "__import__('os')"), DefinitionError, r"adapter\.map\.lr: .*is not allowed"),
        (lambda: parameter("lr", "h +"), DefinitionError, r"does not parse; write it like '1 - h\*D'"),
        (
            lambda: parameter("lr", [1]),
            DefinitionError,
            r"adapter\.map\.lr=\[1\]: expected an expression in h, T",
        ),
        (lambda: parameter("lr", "baoab"), DefinitionError, r"quotes within: \"'baoab'\""),
        (
            lambda: parameter("lr", "h/N")(AT),
            DefinitionError,
            r"this run has no N; expected an expression in h, T, D, dim",
        ),
        (lambda: parameter("lr", "sqrt(-h)")(AT), DefinitionError, r"no finite value at h = 0\.1"),
        (lambda: parameter("lr", "9.0**9**9**9")(AT), DefinitionError, "no finite value"),
        (lambda: AdapterSettings(dynamics="langevine"), UnknownNameError, "did you mean 'langevin'"),
    ],
)
def test_a_mistake_is_told(make: Callable[[], Any], kind: type[UserError], told: str) -> None:
    with pytest.raises(kind, match=told):
        make()


def test_ancestors_tell_the_library() -> None:
    assert is_of(Strange, "tests.schemes") and not is_of(Strange(), "tests.scheme")
