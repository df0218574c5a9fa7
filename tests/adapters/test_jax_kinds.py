"""Which objects the adapters of JAX code take, told without JAX: by the modules that functions and types come from."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import sgverify
from sgverify.adapters import blackjax, jax_code, sgmcmcjax
from sgverify.errors import DefinitionError
from sgverify.schemes.adapting import AdapterSettings

STEP = "def step(key, theta, *, grad, h): return theta"
KERNEL = """
def build_kernel(alpha=0.01):
    def kernel(rng_key, state, grad_estimator, minibatch, step_size, temperature=1.0):
        return state
    return kernel
"""


def _defined(monkeypatch: pytest.MonkeyPatch, module: str, source: str, **known: Any) -> Any:
    """The first function of `source`, as if it were defined in a module of this name."""
    made = ModuleType(module)
    vars(made).update(known)
    monkeypatch.setitem(sys.modules, module, made)
    exec(source, vars(made))
    return next(value for value in vars(made).values() if getattr(value, "__module__", "") == module)


def test_a_function_of_a_key_that_is_written_with_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    of_jax = _defined(monkeypatch, "mine", STEP, jnp=ModuleType("jax.numpy"))
    jitted = SimpleNamespace(__wrapped__=of_jax, __call__=of_jax)
    assert jax_code.takes(of_jax) and jax_code.takes(functools.partial(of_jax, h=0.1))
    assert jax_code.plain(jitted) is None or jax_code.takes(jitted)
    assert not jax_code.takes(_defined(monkeypatch, "other", STEP))
    swapped = STEP.replace("key, theta", "theta, key")
    assert jax_code.takes(_defined(monkeypatch, "swapped", swapped, jnp=ModuleType("jax.numpy")))
    keyless = STEP.replace("key, theta", "theta")
    assert not jax_code.takes(_defined(monkeypatch, "keyless", keyless, jnp=ModuleType("jax.numpy")))
    assert not jax_code.takes(3.0)


def test_kernels_of_blackjax_by_stochastic_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    build: Callable[..., Any] = _defined(monkeypatch, "blackjax.sgmcmc.sgnht", KERNEL)
    found = type("GenerateSamplingAPI", (), {"__module__": "blackjax"})()
    found.build_kernel = build
    for each in (found, build, functools.partial(build, alpha=0.5), sys.modules["blackjax.sgmcmc.sgnht"]):
        assert blackjax.takes(each)
    other = type("GenerateSamplingAPI", (), {"__module__": "blackjax"})()
    other.build_kernel = _defined(
        monkeypatch, "blackjax.mcmc.hmc", KERNEL.replace("grad_estimator", "logdensity")
    )
    assert not blackjax.takes(other) and not blackjax.takes(len)


def test_diffusions_of_sgmcmcjax(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _defined(monkeypatch, "sgmcmcjax.diffusions", "def psgld(dt): return dt")
    assert sgmcmcjax.takes(found) and sgmcmcjax.takes(functools.partial(found, dt=0.1))
    assert not sgmcmcjax.takes(_defined(monkeypatch, "sgmcmcjax.kernels", "def sgld(dt): return dt"))
    with pytest.raises(DefinitionError, match="psgld claims no invariant density; expected one of sgld"):
        sgmcmcjax.adapt(found, AdapterSettings(), "")


def test_a_function_of_jax_that_is_no_step_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    jax = {"jnp": ModuleType("jax.numpy")}
    for source, told in (
        ("def step(key, a, b, c, d, *, grad): return a", "takes .a, b, c, d. beside its key"),
        ("def step(key, theta, h): return theta", "takes no gradient and no log density"),
        (
            "def step(key, theta, *, grad, h, decay): return theta",
            "nothing is told of decay; add adapter.map.decay",
        ),
    ):
        with pytest.raises((DefinitionError, ModuleNotFoundError), match=f"{told}|No module named 'jax'"):
            sgverify.adapt(_defined(monkeypatch, "mine", source, **jax))
