"""An exception that nobody foresaw, met before any check is asked."""

from __future__ import annotations

import pytest

from sgverify import rate, verify
from sgverify.errors import ConfigurationError
from sgverify.evidence.crash import RAISE
from sgverify.subject.composite import TorchSubject
from tests.mutants import torch_code


def stumbles(error):
    def validate(self):
        raise error

    return validate


def test_a_look_at_the_configuration_that_stumbles_is_one_answer(monkeypatch):
    monkeypatch.delenv(RAISE)
    monkeypatch.setattr(TorchSubject, "validate", stumbles(RuntimeError("not foreseen")))
    (found,) = verify(torch_code.sgld, gradient={"kind": "full"})
    assert found.verdict == "inconclusive" and "RuntimeError: not foreseen" in found.reason
    asked = rate(torch_code.sgld, quantity="stationary-bias")
    assert asked.verdict == "inconclusive" and asked.exception


def test_a_mistake_that_it_meets_is_raised(monkeypatch):
    monkeypatch.delenv(RAISE)
    monkeypatch.setattr(TorchSubject, "validate", stumbles(ConfigurationError("friction=-1: expected more")))
    with pytest.raises(ConfigurationError, match="friction=-1"):
        verify(torch_code.sgld)
