"""Gradients in C against the same gradients on torch: the same bits for every estimator, on potentials of every form."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch

from sgverify import log_density
from sgverify.errors import ConfigurationError
from sgverify.samplers import GradientChoice, Settings, fixed, power, sample
from sgverify.samplers.fused import driver
from sgverify.samplers.fused.compiler import build, compiler
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes import find_scheme, langevin, scheme, sqrt
from sgverify.targets import Target

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
TESTS = [lambda theta, *p: theta[..., 0] ** 2]
REGRESSION = {"name": "linear-regression", "dim": 3, "size": 40, "data_seed": 2}


@scheme(langevin)
def fresh_heun(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad.fresh()(guess)) + kick


def run(subject: Any, target: Target, compiled: Any = "kernel", **how: Any) -> list[np.ndarray]:
    settings = Settings(**{"chains": 7, "start": 0.3, "compiled": compiled, **how})
    # The shorter row ends first, so that a second leg takes over what is carried.
    rows = [*fixed([0.002], [14]), *fixed([0.001], [25]), *power([0.002], 0.3, [33])]
    found = sample(subject, target, rows, observables=TESTS, settings=settings)
    return [found.values[:, 0, -1], *found.last.values()]


def same(subject: Any, target: Target, **how: Any) -> None:
    for one, other in zip(run(subject, target, **how), run(subject, target, False, **how), strict=True):
        np.testing.assert_array_equal(one, other)


KINDS = [
    "full",
    "iid",
    "without-replacement",
    "reshuffle",
    "symmetric",
    "svrg",
    "saga",
    "control-variate",
    "additive",
]


@pytest.mark.by_default("full", "iid", "reshuffle", "svrg", "saga", "control-variate", "additive")
@pytest.mark.parametrize("kind", KINDS)
def test_every_estimator_has_the_bits_of_the_definition(
    kind: str, make_target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Several blocks of steps, from each of which the next takes over what is carried.
    monkeypatch.setattr(driver, "_LONGEST", 4)
    # Batches beyond a run of `add_up`, and two minibatches a step.
    batch = {"batch": 20} if kind not in ("full", "additive") else {}
    how = {"first_chain": 61, "dtype": "float32" if kind == "iid" else "float64"}
    same(fresh_heun, make_target(**REGRESSION), gradient=GradientChoice(kind, **batch), **how)


@pytest.mark.by_default("double-well", "rosenbrock", "mixture")
@pytest.mark.parametrize("name", ["double-well", "quartic", "rosenbrock", "mixture", "levy"])
def test_potentials_that_are_not_quadratic_have_the_bits_of_the_definition(
    name: str, make_target: Any
) -> None:
    same(find_scheme("sghmc-baoab"), make_target(name, dim=2), dtype="float32", chains=70)


@pytest.mark.by_default("full-robust-regression", "svrg-logistic-regression")
@pytest.mark.parametrize(
    "name", ["logistic-regression", "poisson-regression", "robust-regression", "dirichlet-multinomial"]
)
@pytest.mark.parametrize("kind", ["full", "svrg"])
def test_likelihoods_that_are_not_quadratic_have_the_bits_of_the_definition(
    name: str, kind: str, make_target: Any
) -> None:
    how = {"gradient": GradientChoice(kind, batch=5), "dtype": "float32"}
    # Few chains, for which data lie side by side, and more of them.
    for chains in (2, 18):
        same(find_scheme("sgld-euler"), make_target(name, dim=3, size=37), chains=chains, **how)


@pytest.mark.by_default("how0")
@pytest.mark.parametrize("how", [{"scale": 0.5}, {"clip": 3.0}])
def test_biased_gradients_have_the_bits_of_the_definition(how: dict[str, Any], make_target: Any) -> None:
    same(
        find_scheme("sghmc-aboba"), make_target(**REGRESSION), gradient=GradientChoice("iid", batch=5, **how)
    )


BUGS = {
    "halves are added across runs": (">> 1 & 1", ">> 2 & 1", "iid"),
    "the last of the data is left out": ("u < 40;", "u < 39;", "full"),
    "a minibatch is used twice": ("* MINIBATCHES + 1)", "* MINIBATCHES + 0)", "iid"),
    "the snapshot is never renewed": ("(first + k) % 2 == 0", "0", "svrg"),
    "the snapshot is that of the step before": ("% 2 == 0", "% 2 == 1", "svrg"),
    "given data of the block's first step": (
        "(place - source->start) * source->stride",
        "(place - source->start) % 20 * source->stride",
        "reshuffle",
    ),
    "the table keeps its first gradients": ("entry[j] = found[j];", ";", "saga"),
    "the table's sum is never recomputed": ("(first + k) % 2 == 0) sum_table", "0) sum_table", "saga"),
    "changes from one datum's entry": ("places[b][l]) * DIM", "places[0][l]) * DIM", "saga"),
    "one datum's entry is written": ("places[m][b][l]) * DIM", "places[m][0][l]) * DIM", "saga"),
    "gradients enter that are not the first": ("entering[0][", "entering[1][", "saga"),
    "noise of another step": ("added[(((k * ", "added[(((0 * ", "additive"),
}


@pytest.mark.by_default(
    "the last of the data is left out",
    "the snapshot is never renewed",
    "given data of the block's first step",
)
@pytest.mark.parametrize("name", BUGS)
def test_a_gradient_with_a_bug_is_never_used(
    name: str, make_target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    was, now, kind = BUGS[name]

    def planted(text: str, *given: Any) -> Any:
        assert was in text
        return build(text.replace(was, now), *given)

    monkeypatch.setattr("sgverify.samplers.fused.kernel.build", planted)
    more = {"svrg": {"batch": 20, "refresh": 2}, "full": {"clip": 3.0}, "additive": {}}
    choice = GradientChoice(kind, **more.get(kind, {"batch": 20}))
    with pytest.raises(ConfigurationError, match=r"end at another .* than the definition|carries"):
        run(fresh_heun, make_target(**REGRESSION), gradient=choice)


RARE = {
    "the snapshot is never renewed": (
        "(first + k) % 20 == 0",
        "first + k == 0",
        {"kind": "svrg", "refresh": 20},
    ),
    "the table's sum is never recomputed": ("% 20 == 0) sum_table", "% 20 == 1) sum_table", {"kind": "saga"}),
    "the way back repeats its first block": ("2 * length - 1 - place", "length - 1", {"kind": "symmetric"}),
}


@pytest.mark.parametrize("name", RARE)
def test_what_is_renewed_after_many_steps_is_proved_too(
    name: str, make_target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    was, now, kind = RARE[name]
    found = []

    def planted(text: str, *given: Any) -> Any:
        found.append(was in text)
        return build(text.replace(was, now), *given)

    for place in ("kernel", "drawing"):
        monkeypatch.setattr(f"sgverify.samplers.fused.{place}.build", planted)
    # The 20 blocks of two data end between the first and the last 16 steps.
    how = {"gradient": GradientChoice(batch=2, **kind), "compiled": "kernel", "start": 0.3}
    with pytest.raises(ConfigurationError, match=r"steps .8 to .1 in C"):
        sample(
            find_scheme("sgld-euler"),
            make_target(**REGRESSION),
            fixed([0.001], [60]),
            observables=TESTS,
            settings=Settings(chains=7, **how),
        )
    assert any(found)


def test_a_position_of_a_run_keeps_its_table_while_the_run_goes_on(
    make_target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel writes over tables that it made; a run can still be continued from each of its earlier positions."""
    monkeypatch.setattr(driver, "_LONGEST", 4)
    choice = GradientChoice("saga", batch=2)
    settings = Settings(chains=7, start=0.3, compiled="kernel", gradient=choice)
    ensemble = Ensemble(find_scheme("sgld-euler"), make_target(**REGRESSION), fixed([0.001], [30]), settings)
    found, positions = {}, []
    for block in ensemble.blocks():
        found = block.state
        if block.last < 30:
            positions.append(ensemble.position(block))
    assert len(positions) > 5
    # Twice, since a run from a position might write over it.
    for position in (*positions, *positions):
        *_, last = ensemble.blocks(start=position)
        assert torch.equal(last.state["theta"], found["theta"])


def test_torch_code_of_a_user_is_refused_by_name() -> None:
    @log_density(dim=2)
    def own(theta: torch.Tensor) -> torch.Tensor:
        return -(theta**4).sum(-1)

    with pytest.raises(ConfigurationError, match="torch code of a user|comes from outside"):
        run(find_scheme("sgld-euler"), own.target())


@pytest.mark.power
def test_a_kernel_of_many_coordinates_fits_a_thread_with_a_small_stack(make_target: Any) -> None:
    """Its arrays, some hundred of kilobytes each, are no stack's."""
    target, found = make_target("logistic-regression", dim=64, size=20), []
    settings = Settings(chains=18, compiled="kernel", gradient=GradientChoice("svrg", batch=5))
    before = threading.stack_size(512 << 10)
    try:
        thread = threading.Thread(
            target=lambda: found.append(
                sample(
                    find_scheme("sghmc-baoab"),
                    target,
                    fixed([1e-3], [3]),
                    observables=TESTS,
                    settings=settings,
                )
            )
        )
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert np.isfinite(found[0].values).all()
