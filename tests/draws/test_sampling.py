"""`sgverify.sample`: InferenceData that says what it is and where it comes from."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import sgverify
from sgverify.cli import main
from sgverify.configuration import load_configuration
from sgverify.draws import Sampling, summarise_draws, summary, write_draws
from sgverify.draws.step_choice import check_memory, size_text
from sgverify.draws.summary import table_of
from sgverify.errors import ConfigurationError, InstabilityError, UserError
from sgverify.samplers import sample as averaged
from sgverify.schemes.catalogue import NAMED
from sgverify.schemes.composites.composite import COMPOSITES
from sgverify.targets import build_target
from tests.conftest import LogCapture

SMALL = {"chains": 3, "steps": 60, "burn_in": 10, "thinning": 5}


def draw(scheme: str = "sghmc-baoab", **settings: Any) -> Any:
    return sgverify.sample(scheme, **{**SMALL, **settings})


@pytest.mark.parametrize("scheme", sorted(NAMED))
def test_every_scheme_of_the_catalogue_draws(scheme: str) -> None:
    # Explicit Euler stands only up to h = D/r, 2/1000 here; half of it.
    slow = {"schedule": {"step": 0.001}} if scheme == "sgnht-euler-explicit" else {}
    draws = draw(scheme, steps=20, **slow)
    assert draws.posterior.theta.shape == (3, 2, 1)
    assert set(draws.sample_stats.data_vars) >= {"energy", "step_size", "diverging"}
    assert not draws.sample_stats.diverging.any()
    assert draws.attrs["complete"] == 1


def test_groups_names_and_coordinates() -> None:
    draws = draw("sgnht-euler", target={"name": "logistic-regression", "dim": 2, "size": 7}, energy=True)
    assert draws.posterior.theta.dims == ("chain", "draw", "coordinate")
    assert draws.posterior.draw.values.tolist() == list(range(15, 61, 5))
    assert draws.sample_stats.p.dims == ("chain", "draw", "coordinate")
    assert draws.sample_stats.xi.dims == draws.sample_stats.energy.dims == ("chain", "draw")
    data = build_target(
        load_configuration(target={"name": "logistic-regression", "dim": 2, "size": 7}).target
    ).data
    np.testing.assert_array_equal(draws.observed_data.data, data)


def test_the_same_configuration_and_seed_give_the_same_draws() -> None:
    first, again, other = draw(), draw(), draw(seed=1)
    np.testing.assert_array_equal(first.posterior.theta, again.posterior.theta)
    assert (first.posterior.theta != other.posterior.theta).all()


def test_a_chain_does_not_depend_on_how_many_there_are() -> None:
    np.testing.assert_array_equal(draw().posterior.theta[:2], draw(chains=2).posterior.theta)


def test_the_attributes_say_how_to_draw_them_again(capsys: pytest.CaptureFixture[str]) -> None:
    draws = draw(gradient={"kind": "iid", "batch": 5}, energy=False)
    words = shlex.split(draws.attrs["command"])
    assert words[:3] == ["sgverify", "sample", "sghmc-baoab"]
    assert "energy" not in draws.sample_stats
    # 50 steps, and the start is forgotten in a thousand.
    assert main([*words[1:], "--json", "-"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == json.loads(draws.attrs["verdict_json"])
    assert document["configuration"] == json.loads(draws.attrs["configuration"])
    assert document["summary"] == table_of(draws)


@pytest.mark.parametrize(
    ("target", "recorded"),
    [
        ({"name": "gaussian-mean", "size": 5}, True),
        ({"name": "double-well"}, True),
        ({"name": "logistic-regression", "dim": 2, "size": 7}, False),
    ],
)
def test_energies_are_recorded_by_default_where_they_need_no_pass_over_data(
    target: dict[str, Any], recorded: bool
) -> None:
    given = {"target": target, "schedule": {"step": 0.01}}
    draws, asked = draw(**given), draw(**given, energy=True)
    assert ("energy" in draws.sample_stats) == recorded
    assert "energy" in asked.sample_stats
    assert "--energy" not in draws.attrs["command"]
    assert "--energy" in asked.attrs["command"]


def test_decreasing_steps_come_with_their_weights() -> None:
    draws = draw(schedule={"kind": "power", "scale": 0.01, "alpha": 0.5})
    steps = draws.sample_stats.step_size[0]
    np.testing.assert_allclose(steps, 0.01 * draws.posterior.draw**-0.5)
    np.testing.assert_allclose(np.exp(draws.sample_stats.log_weight[0]), steps)
    assert "log_weight" in summarise_draws(draws)


def test_a_horizon_is_the_step_of_its_length() -> None:
    draws = draw(schedule={"kind": "horizon", "scale": 0.01, "alpha": 0.5})
    np.testing.assert_allclose(draws.sample_stats.step_size, 0.01 * 60**-0.5)


def test_the_summary_is_that_of_the_draws() -> None:
    draws = draw(target={"name": "gaussian", "dim": 3}, steps=300)
    table = table_of(draws)
    for k in range(3):
        values = draws.posterior.theta[..., k].values
        assert table[f"theta[{k}]"]["mean"] == pytest.approx(values.mean(), rel=1e-12)
        assert table[f"theta[{k}]"]["sd"] == pytest.approx(values.std(ddof=1), rel=1e-12)
    text = summarise_draws(draws)
    assert "58 draws of each of 3 chains" in text
    assert all(name in text for name in ("theta[2]", "ess_bulk", "r_hat"))


def test_of_very_many_draws_a_part_is_diagnosed_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = draw(target={"name": "gaussian", "dim": 2}, chains=8, steps=300)
    whole, kept = table_of(draws), draws.posterior.sizes["draw"]
    monkeypatch.setattr(summary, "MOST_DIAGNOSED", 8 * kept)
    text, part = summarise_draws(draws), table_of(draws)
    assert f"those of the last {kept} draws of the first 4 chains" in text
    for name, row in part.items():
        # Of all draws, whatever is diagnosed.
        assert (row["mean"], row["sd"]) == (whole[name]["mean"], whole[name]["sd"])
        assert row["ess_bulk"] is None
    # R-hat is that of all chains, however many draws of each it takes.
    r_hats = summary.arviz().rhat(draws.posterior.isel(draw=slice(None, None, 2))).theta.values
    assert [row["r_hat"] for row in part.values()] == pytest.approx(r_hats, rel=1e-12)
    shown = draws.posterior.theta.isel(chain=slice(0, 4))
    values = summary.arviz().ess(shown, method="bulk").theta.values
    assert f"{values[0]:.4g}" in text
    # More chains than the fewest where there is room, and the last draws where there is not.
    monkeypatch.setattr(summary, "MOST_DIAGNOSED", 10 * kept)
    assert "of the first 5 chains" in summarise_draws(draws)
    monkeypatch.setattr(summary, "MOST_DIAGNOSED", 4 * kept)
    assert f"the last {kept // 2} draws of the first 4 chains" in summarise_draws(draws)


def test_many_coordinates_are_summarised_on_one_screen() -> None:
    text = summarise_draws(draw(target={"name": "gaussian", "dim": 50}, schedule={"step": 0.1}))
    assert len(text.splitlines()) == 23
    assert text.endswith("... and 30 more coordinates")


def test_a_divergence_is_named_and_not_averaged(caplog: LogCapture) -> None:
    draws = sgverify.sample(
        "sgld-euler", target={"name": "quartic"}, schedule={"step": 0.3}, chains=4, steps=20_000, start=0.0
    )
    chain = int(draws.attrs["diverged"].split("chains ")[1].rstrip(")"))
    flagged = np.argwhere(draws.sample_stats.diverging.values)
    assert flagged.tolist() == [[chain, draws.posterior.sizes["draw"] - 1]]
    assert np.isfinite(draws.posterior.theta).all()
    assert "diverged at step" in caplog.text
    assert "take a smaller schedule.step" in caplog.text
    assert "diverged at step" in summarise_draws(draws)
    assert "mean" not in summarise_draws(draws)
    assert table_of(draws) == {}


def test_a_divergence_before_any_draw_is_refused() -> None:
    with pytest.raises(InstabilityError, match="before any draw was kept.*smaller schedule.step"):
        sgverify.sample(
            "sgld-euler", target={"name": "quartic"}, schedule={"step": 0.5}, steps=2000, burn_in=1000
        )


def test_an_unstable_step_is_refused() -> None:
    with pytest.raises(InstabilityError, match="spectral radius"):
        draw(schedule={"step": 10.0})


def test_more_draws_than_there_is_memory_for_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="larger thinning"):
        Sampling.of("sghmc-baoab", load_configuration(steps=10**12))
    check_memory(500, 1, 1, available=1000)
    with pytest.raises(ConfigurationError, match="take 501 B, and 1 kB while they are written"):
        check_memory(501, 1, 1, available=1000)
    assert size_text(61_600_000) == "61.6 MB"


def test_torch_code_of_a_user_is_refused_by_name() -> None:
    @sgverify.torch_step(sgverify.schemes.langevin)
    def mine(theta: Any, *, h: float, grad: Any) -> Any:
        return theta - h * grad(theta)

    with pytest.raises(UserError, match="torch code of your own"):
        sgverify.sample(mine)


MODULE = """\
import torch, sgverify
torch.manual_seed(0)
x = torch.randn(40, 2)
y = (x[:, 0] > 0).long()
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
posterior = sgverify.module_target(net, torch.nn.CrossEntropyLoss(), data=(x, y))
"""


@pytest.mark.power  # 0.7 s
def test_the_parameters_of_a_module_keep_their_names_and_shapes(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    name = f"{tmp_path / 'mine.py'}:posterior"
    draws = draw(
        "sghmc-euler",
        target={"name": name},
        gradient={"kind": "iid", "batch": 8},
        schedule={"step": 0.01},
        energy=True,
    )
    assert {part: value.shape for part, value in draws.posterior.data_vars.items()} == {
        "0.weight": (3, 10, 3, 2),
        "0.bias": (3, 10, 3),
        "2.weight": (3, 10, 2, 3),
        "2.bias": (3, 10, 2),
    }
    assert draws.posterior["0.weight"].dtype == np.float32
    assert json.loads(draws.attrs["configuration"])["dtype"] == "float32"
    theta = np.concatenate(
        [value.values.reshape(3, 10, -1) for value in draws.posterior.data_vars.values()], -1
    )
    target = build_target(load_configuration(target={"name": name}).target)
    np.testing.assert_allclose(draws.sample_stats.energy, target.energy_float64(theta), rtol=1e-5)
    written = write_draws(draws, tmp_path / "draws.nc")
    with xarray.open_dataset(written, group="posterior", engine="h5netcdf") as found:
        np.testing.assert_array_equal(found["2.weight"], draws.posterior["2.weight"])
    same = sgverify.sample("sghmc-euler", json.loads(draws.attrs["configuration"]), target=target)
    np.testing.assert_array_equal(same.posterior["0.bias"], draws.posterior["0.bias"])
    # The configuration cannot build a target that was made in Python, and names no other one.
    assert json.loads(same.attrs["configuration"])["target"] == {"name": target.name}
    with pytest.raises(ConfigurationError, match="a target that is made already"):
        draw(target={"name": name, "dim": 3})


@pytest.mark.by_default("resgld")
@pytest.mark.parametrize("name", sorted(COMPOSITES))
def test_every_composite_draws_and_says_what_it_did(name: str) -> None:
    table = {"name": "gaussian-mean", "size": 20}
    draws = draw(name, target=table, gradient={"kind": "iid", "batch": 5}, steps=200, thinning=20)
    stats = draws.sample_stats
    assert draws.posterior.theta.shape == (3, 9, 1)
    target = build_target(load_configuration(target=table).target)
    np.testing.assert_allclose(stats.energy, target.energy_float64(draws.posterior.theta.values), rtol=1e-12)
    if COMPOSITES[name].kind == "replica-exchange":
        assert stats.swaps.dtype.kind == "i"
        assert stats.swaps.sum() > 0
        assert ((stats.swap_probability >= 0) & (stats.swap_probability <= 1)).all()
        assert "log_weight" not in stats
    else:
        assert np.isfinite(stats.log_weight).all()
        assert "by sample_stats.log_weight" in summarise_draws(draws)


def test_swaps_are_counted_between_the_draws() -> None:
    every = draw("resgld", target={"name": "gaussian"}, thinning=1, burn_in=0, steps=60)
    thinned = draw("resgld", target={"name": "gaussian"}, thinning=5, burn_in=0, steps=60)
    np.testing.assert_array_equal(
        thinned.sample_stats.swaps, every.sample_stats.swaps.values.reshape(3, 12, 5).sum(-1)
    )


def test_the_weights_of_an_adaptive_composite_are_those_of_its_averages() -> None:
    settings = {"target": {"name": "double-well"}, "steps": 100, "burn_in": 0, "thinning": 1, "chains": 2}
    draws = sgverify.sample("awsgld", settings)
    sampling = Sampling.of("awsgld", load_configuration(settings))
    averages = sampler_averages(sampling)
    weights = np.exp(draws.sample_stats.log_weight.values)
    theta = draws.posterior.theta.values[..., 0]
    np.testing.assert_allclose((weights * theta**2).sum(1) / weights.sum(1), averages, rtol=1e-10)
    pooled = (weights * theta).sum() / weights.sum()
    assert table_of(draws)["theta[0]"]["mean"] == pytest.approx(pooled, rel=1e-10)


def sampler_averages(sampling: Sampling) -> np.ndarray:
    """What the sampler itself sums, of theta^2."""
    run = sampling.ensemble
    found = averaged(
        sampling.subject.composite,  # type: ignore[attr-defined]
        run.target,
        [run.rows[0]],
        observables=[lambda theta: theta[..., 0] ** 2],
        settings=run.settings,
    )
    return found.values[0, 0, 0]


def test_the_draws_of_cycles_are_those_of_their_sampling_stages() -> None:
    schedule = {"kind": "cyclical", "scale": 0.001, "cycles": 2, "threshold": 0.5}
    draws = draw(schedule=schedule, burn_in=0, thinning=1)
    assert draws.posterior.draw.values.tolist() == [*range(16, 31), *range(46, 61)]
    np.testing.assert_allclose(np.exp(draws.sample_stats.log_weight), draws.sample_stats.step_size)
