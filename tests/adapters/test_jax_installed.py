"""Steps of JAX, blackjax and SGMCMCJax: what is found in them, and that each find vanishes with the line that causes it.

`pytest -m wild tests/adapters`; found in blackjax 1.7.1 and SGMCMCJax 0.2.13, with JAX 0.10.2.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import sgverify

pytestmark = [pytest.mark.wild, pytest.mark.filterwarnings("ignore")]

jax = pytest.importorskip("jax")

ORDER = {"order": 1}


def _mended(module: ModuleType, function: str, was: str, now: str) -> Callable[..., Any]:
    """A function of the library with one text of its source replaced, wherever it stands."""
    text = inspect.getsource(getattr(module, function))
    assert was in text, was
    space = dict(vars(module))
    exec(compile(text.replace(was, now), f"{module.__name__}, mended", "exec"), space)
    made: Callable[..., Any] = space[function]
    return made


def _reasons(answers: Any) -> dict[str, str]:
    return {item.check: f"{item.outcome}: {item.reason}" for item in answers}


@pytest.mark.parametrize(
    ("name", "checks", "outcome"),
    [
        ("sgld", ["local-order", "dtype", "stationary-bias"], "pass"),
        ("looped", ["local-order"], "pass"),
        ("handed", ["local-order"], "pass"),
        ("symmetric", ["local-order"], "pass"),
        ("bits", ["local-order"], "pass"),
        ("decides", ["local-order"], "pass"),
        ("weak", ["local-order"], "fail"),
        ("one_key", ["local-order"], "fail"),
        ("own_key", ["local-order"], "fail"),
        ("narrow", ["dtype"], "fail"),
        ("computed_key", ["local-order"], "undecided"),
        ("leaf_keys", ["local-order", "pure-step"], "pass"),
        ("leaf_sizes", ["pure-step"], "fail"),
        ("leaf_rows", ["pure-step"], "fail"),
        ("cold_float32", ["pure-step"], "fail"),
    ],
)
def test_steps_of_jax(name: str, checks: list[str], outcome: str) -> None:
    from tests.zoo import jax_code

    before = jax.config.jax_enable_x64
    answers = sgverify.verify(getattr(jax_code, name), checks=checks, adapter=ORDER)
    assert answers.outcome == outcome, _reasons(answers)
    assert jax.config.jax_enable_x64 == before


def test_a_step_without_a_temperature_samples_the_tempered_density_that_it_is_given() -> None:
    from tests.zoo import jax_code

    (found,) = sgverify.verify(jax_code.half_steps, checks=["local-order"], temperature=0.5)
    assert found.outcome == "pass" and "a step of h is one of size 1/2 h" in found.reason


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("doubled", r"returned an array of shape \(4,\) for `theta`; expected \(2,\)"),
        ("curved", "raised ValueError: Pure callbacks do not support JVP"),
        ("valued", "returned NaN for `theta`"),
        ("uncalled", "grad is a function of theta here, and was multiplied; expected grad\\(theta\\)"),
        ("half", "expected a whole position of dimension 2"),
    ],
)
def test_what_no_step_does_is_one_message(name: str, told: str) -> None:
    from tests.zoo import jax_code

    with pytest.raises(sgverify.errors.UserError, match=told):
        sgverify.verify(getattr(jax_code, name), checks=["local-order"], adapter=ORDER)


def test_draws_have_the_law_that_jax_draws_from() -> None:
    """A jaxpr with every number put in is the function itself, at the numbers that its key gives."""
    import jax.numpy as jnp
    import numpy as np

    from sgverify.adapters.jax_draws.evaluation import GivenNumbers, Known, RandomNumbers, evaluate

    def drawn(key: Any) -> Any:
        one, other = jax.random.split(key)
        again = jax.vmap(lambda key: jax.random.normal(key, (2,)))(jax.random.split(other, 2))
        return jax.random.normal(one, (3,)), jax.random.uniform(one, (2,)), again

    key = jax.random.PRNGKey(3)
    closed, table = jax.make_jaxpr(drawn)(key), RandomNumbers()
    evaluate(closed, [Known(key, keyed=True)], GivenNumbers(table, None))
    # The two uniform numbers are made from the key of the first two normal ones.
    assert len(table.laws) == 3 + 4
    due = drawn(key)
    # Those of the second key are drawn first.
    values = jnp.concatenate([due[2].reshape(-1), due[0]])
    found = evaluate(closed, [Known(key, keyed=True)], GivenNumbers(table, values))
    for one, other in zip(found, due, strict=True):
        assert np.allclose(one, other, rtol=1e-5, atol=1e-6)


def test_blackjax_sgld_is_sound() -> None:
    blackjax = pytest.importorskip("blackjax")
    answers = sgverify.verify(blackjax.sgld, adapter=ORDER)
    assert answers.outcome == "pass", _reasons(answers)


def test_momenta_of_variance_one_are_found_in_blackjax_sghmc(monkeypatch: pytest.MonkeyPatch) -> None:
    blackjax = pytest.importorskip("blackjax")
    module = inspect.getmodule(blackjax.sghmc.build_kernel)
    assert module is not None
    (answer,) = sgverify.verify(blackjax.sghmc, checks=["pure-step"])
    assert (
        answer.outcome == "fail"
        and "at T = 4 a trajectory begins with momenta of variance 1" in answer.reason
    )
    made = _mended(
        module,
        "build_kernel",
        "momentum = generate_gaussian_noise(rng_key, position)",
        "momentum = jax.tree.map(lambda n: temperature**0.5 * n, generate_gaussian_noise(rng_key, position))",
    )
    monkeypatch.setattr(module, "build_kernel", made)
    (answer,) = sgverify.verify(module, checks=["pure-step"])
    assert answer.outcome == "pass", answer.reason


def test_a_start_of_zero_is_found_to_be_replaced_in_blackjax_sgnht(monkeypatch: pytest.MonkeyPatch) -> None:
    blackjax = pytest.importorskip("blackjax")
    module = inspect.getmodule(blackjax.sgnht.build_kernel)
    assert module is not None
    (answer,) = sgverify.verify(blackjax.sgnht, checks=["pure-step"])
    assert answer.outcome == "fail" and "begun with init_xi=0, a chain starts at 0.01" in answer.reason
    made = _mended(module, "as_top_level_api", "init_xi or alpha", "alpha if init_xi is None else init_xi")
    monkeypatch.setattr(module, "as_top_level_api", made)
    (answer,) = sgverify.verify(module, checks=["pure-step"])
    assert answer.outcome == "pass", answer.reason


def test_a_kernel_of_another_state_is_refused_by_name() -> None:
    blackjax = pytest.importorskip("blackjax")
    with pytest.raises(sgverify.errors.DefinitionError, match="holds position, energy_pdf, energy_idx"):
        sgverify.adapt(blackjax.csgld)


@pytest.mark.parametrize(
    ("name", "was", "now", "clause"),
    [
        ("baoab", "tau * c2", "jnp.sqrt(tau) * c2", "local order 0"),
        ("badodab", "jnp.linalg.norm(v) - v.size", "jnp.linalg.norm(v) ** 2 - v.size", "local order 0"),
    ],
)
def test_what_is_found_in_sgmcmcjax(
    monkeypatch: pytest.MonkeyPatch, name: str, was: str, now: str, clause: str
) -> None:
    diffusions = pytest.importorskip("sgmcmcjax.diffusions")
    (answer,) = sgverify.verify(getattr(diffusions, name), checks=["local-order"], adapter=ORDER)
    assert answer.outcome == "fail" and clause in answer.reason, answer.reason
    made = _mended(diffusions, name, was, now)
    (answer,) = sgverify.verify(made, checks=["local-order"], adapter=ORDER)
    assert answer.outcome == "pass", answer.reason


@pytest.mark.parametrize("name", ["sgld", "sghmc", "sgnht"])
def test_what_is_right_in_sgmcmcjax_passes(name: str) -> None:
    diffusions = pytest.importorskip("sgmcmcjax.diffusions")
    (answer,) = sgverify.verify(getattr(diffusions, name), checks=["local-order"], adapter=ORDER)
    assert answer.outcome == "pass", answer.reason
