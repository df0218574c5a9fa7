"""Settings of a run: read from a configuration, checked, and torch's threads left as they were."""

from __future__ import annotations

import pytest
import torch

from sgverify.configuration import Configuration
from sgverify.errors import ConfigurationError
from sgverify.samplers import Settings, one_thread


def test_defaults_are_those_of_the_configuration() -> None:
    configuration = Configuration()
    found = Settings.of(configuration)
    default = Settings()
    names = ("temperature", "friction", "chains", "seed", "start", "start_momentum", "dtype", "device")
    for name in (*names, "burn_in", "thinning"):
        assert getattr(found, name) == getattr(default, name) == getattr(configuration, name)
    assert found.gradient is configuration.gradient
    for name in ("kind", "batch", "covariance"):
        assert getattr(default.gradient, name) == getattr(configuration.gradient, name)
    assert Settings.of(configuration, chains=3, coupled=True) == Settings(
        chains=3, coupled=True, gradient=configuration.gradient
    )


def test_unknown_devices_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="device='abacus'"):
        _ = Settings(device="abacus").torch_device
    with pytest.raises(ConfigurationError, match="device='cpu:7'|device='cuda:99'"):
        _ = Settings(device="cuda:99").torch_device


def test_threads_are_given_back() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        with pytest.raises(ValueError, match="inside"), one_thread():
            raise ValueError("inside")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
