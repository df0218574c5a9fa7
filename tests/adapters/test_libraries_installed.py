"""Samplers of libraries, named as a user names them: each is a step that can be judged, or refused in five lines.

`pytest -m wild tests/adapters`; with devinterp 2.0.1, torch-sgld 0.1.0, blackjax 1.7.1, posteriors 0.1.3, SGMCMCJax 0.2.13,
jax-sgmc 0.1.5 (which does not load with JAX 0.10.2), NumPyro 0.22.0 and Pyro 1.9.2.
"""

from __future__ import annotations

import importlib.util

import pytest

import sgverify
from sgverify.errors import UserError
from sgverify.schemes.loading import load_step

pytestmark = [pytest.mark.wild, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize(
    "reference",
    [
        "devinterp.optim.sgld:SGLD",
        "devinterp.optim.sgmcmc:SGMCMC",
        "devinterp.optim.sgnht:SGNHT",
        "blackjax:sgld",
        "blackjax:sghmc",
        "posteriors.sgmcmc.sgld:build",
        "sgmcmcjax.diffusions:sgld",
    ],
)
def test_what_is_judged(reference: str) -> None:
    pytest.importorskip(reference.partition(".")[0].partition(":")[0])
    assert load_step(reference).reference == reference


@pytest.mark.parametrize("name", ["SGLD", "SGMCMC"])
def test_samplers_of_devinterp_sample_at_their_lr(name: str) -> None:
    module = pytest.importorskip(f"devinterp.optim.{name.lower()}")
    (answer,) = sgverify.verify(getattr(module, name), checks=["local-order"], adapter={"order": 1})
    assert answer.outcome == "pass"


@pytest.mark.parametrize(
    "reference",
    [
        "blackjax:mala",
        "jax_sgmc.alias:sgld",
        "numpyro.infer:HMC",
        "numpyro.infer:HMCECS",
        "pyro.infer.mcmc:HMC",
        "sghmc.sghmc:sghmc",
        "torch_sgld.sgld:SGLD",
    ],
)
def test_what_is_refused_is_five_lines(reference: str) -> None:
    if importlib.util.find_spec(reference.partition(".")[0].partition(":")[0]) is None:
        pytest.skip("not installed")
    with pytest.raises(UserError) as refusal:
        load_step(reference)
    told = [str(refusal.value), *refusal.value.paste.splitlines()]
    assert len(told) in (1, 5) and len(told[0]) < 600
