"""SVRG gradients against every sequence of minibatches between two snapshots, probed from the definition."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import sgverify
from sgverify.errors import UserError
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import MomentAnswers, answers_for, unreached
from sgverify.exact.recursion import snapshots
from tests.exact.multiplicative.models import FRICTION, TEMPERATURE, draw, find, regression, subject

CASES = [
    # scheme, dim, data, batch, steps from snapshot to snapshot
    ("sgld-euler", 1, 3, 1, 3),
    ("heun", 1, 4, 1, 3),
    ("fresh-heun", 1, 2, 1, 2),
    ("sghmc-aboba", 1, 3, 2, 2),
    ("sghmc-baoab", 1, 3, 1, 3),
    ("sgld-euler", 2, 3, 1, 3),
]
STEP, PERIODS = 0.0625, 300


class Drawn:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __mul__(self, factor: Any) -> Any:
        return float(factor) * self.value

    __rmul__ = __mul__


def one_step(scheme: Any, x: Any, snapshot: Any, batches: Any, draws: Any, data: Any, h: float) -> Any:
    """The definition itself, its gradient N/n sum_B (grad_i(v) - grad_i(s)) + the full gradient at s, prior and all."""
    (hessians, gradients), whole = batches, data.minibatches("without-replacement", len(data.gradients))
    dim, noises, used = data.dim, iter(draws), itertools.count()
    full = whole[0][0] @ snapshot + whole[1][0]

    class Estimate:
        number: int | None = None

        def __call__(self, v: Any) -> Any:
            if self.number is None:
                self.number = next(used)
            k = self.number
            return (hessians[k] @ v + gradients[k]) - (hessians[k] @ snapshot + gradients[k]) + full

        def fresh(self) -> Estimate:
            return Estimate()

    state = tuple(x[k * dim : (k + 1) * dim] for k in range(len(scheme.state)))
    given = {"h": h, "T": TEMPERATURE, "D": FRICTION}
    return np.concatenate(scheme.step(state, grad=Estimate(), noise=lambda: Drawn(next(noises)), **given))


def periods(scheme: Any, data: Any, batch: int, refresh: int, h: float) -> list[list[Any]]:
    """(A, b, Q) of X_k given X_0 at a snapshot, for k = 1..m and every sequence of minibatches, all equally likely."""
    hessians, gradients = data.minibatches("iid", batch)
    dim, n, used = data.dim, data.dim * len(scheme.state), max(1, scheme.minibatches)
    found = []
    for sequence in itertools.product(range(len(hessians)), repeat=used * refresh):

        def path(x: Any, noise: Any, sequence: Any = sequence) -> list[Any]:
            snapshot, states = x[:dim], []
            for k in range(refresh):
                chosen = list(sequence[k * used : (k + 1) * used])
                picked = hessians[chosen], gradients[chosen]
                x = one_step(scheme, x, snapshot, picked, noise[k], data, h)
                states.append(x)
            return states

        still = np.zeros((refresh, scheme.draws, dim))
        shift = path(np.zeros(n), still)
        columns = [path(unit, still) for unit in np.eye(n)]
        kicks = [path(np.zeros(n), unit.reshape(still.shape)) for unit in np.eye(still.size)]
        found.append(
            [
                (
                    np.column_stack([c[k] - shift[k] for c in columns]),
                    shift[k],
                    sum(np.outer(z[k] - shift[k], z[k] - shift[k]) for z in kicks),
                )
                for k in range(refresh)
            ]
        )
    return found


def second_moments(paths: list[list[Any]], start: Any, count: int) -> list[Any]:
    """E X_l X_l^T for l = 1..(count periods)."""
    mean, second, found = start, np.outer(start, start), []
    for _ in range(count):
        for k in range(len(paths[0])):
            total, moved = 0.0, 0.0
            for path in paths:
                a, b, q = path[k]
                mixed = np.outer(a @ mean, b)
                total = total + a @ second @ a.T + mixed + mixed.T + np.outer(b, b) + q
                moved = moved + a @ mean + b
            found.append(total / len(paths))
        mean, second = moved / len(paths), found[-1]
    return found


def asked(name: str, data: Any, batch: int, refresh: int | None, phi: str = "theta**2", **more: Any) -> Any:
    gradient = {"kind": "svrg", "batch": batch, "refresh": refresh}
    return subject(name, data, "svrg", batch, phi, **{"gradient": gradient, **more})


@pytest.mark.parametrize(("name", "dim", "size", "batch", "refresh"), CASES)
def test_every_position_has_the_law_of_every_sequence_of_minibatches(
    name: str, dim: int, size: int, batch: int, refresh: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = draw(size, dim, seed=11)
    phi, place = ("theta**2", (0, 0)) if dim == 1 else ("theta[0]*theta[1]", (0, 1))
    found = asked(name, data, batch, refresh, phi)
    answers = answers_for(found.model)
    assert answers.steps == refresh
    start = np.array([float(v.mid()) for v in found.model.start_law()[0].entries()])
    paths = periods(find(name), regression(data), batch, refresh, STEP)
    values = [m[place] - float(found.truth) for m in second_moments(paths, start, PERIODS)]
    for length in (1, refresh, refresh + 1, 3 * refresh + 1):
        expected = float(np.mean(values[:length]))
        assert answers.bias(fixed_step(STEP), length).value == pytest.approx(expected, rel=1e-9)
    for k in range(refresh):
        expected = values[k - refresh]
        assert answers.stationary_bias(fixed_step(STEP), k + 1).value == pytest.approx(expected, rel=1e-7)
    mean = float(np.mean(values[-refresh:]))
    assert answers.stationary_bias(fixed_step(STEP)).value == pytest.approx(mean, rel=1e-7)
    moments = answers.moments(fixed_step(STEP))
    second = moments.covariance[place] + moments.mean[place[0], 0] * moments.mean[place[1], 0]
    assert float(second.mid()) - float(found.truth) == pytest.approx(mean, rel=1e-6)
    # A snapshot that is taken half as often is another law; so is one with another gradient.
    seldom = answers_for(asked(name, data, batch, 2 * refresh, phi).model)
    assert seldom.stationary_bias(fixed_step(STEP)).value != pytest.approx(mean, rel=1e-4)
    honest = snapshots.take_snapshot
    monkeypatch.setattr(snapshots, "take_snapshot", lambda *given: spoilt(honest(*given)))
    assert answers_for(found.model).stationary_bias(fixed_step(STEP)).value != pytest.approx(mean, rel=1e-4)


def spoilt(matrix: Any) -> Any:
    """The square of the gradient at the snapshot, the last moment of all, a tenth too large."""
    rows = matrix.tolist()
    return type(matrix)([*rows[:-1], [entry * 11 / 10 for entry in rows[-1]]])


@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba"])
def test_the_expansion_is_that_of_the_stationary_bias(name: str) -> None:
    answers = answers_for(asked(name, draw(4, 1, seed=7), 2, 3, "theta**2 + theta").model)
    assert answers.expansion.exact and answers.expansion.values[0] == 0.0
    for k in (None, 1, 3):
        coefficients = answers.expansion if k is None else answers.expansion_at(k)
        rest = []
        for h in (2.0**-9, 2.0**-10):
            partial = sum(b * h**j for j, b in enumerate(coefficients.values))
            step = fixed_step(h)
            bias = answers.stationary_bias(step) if k is None else answers.stationary_bias(step, k)
            rest.append(bias.value - partial)
        assert rest[0] / rest[1] == pytest.approx(32, rel=0.15)


@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba"])
def test_old_snapshots_leave_the_bias_of_first_order(name: str) -> None:
    """Far above the crossover the chain has forgotten the snapshot long before the next one."""
    data = draw(4, 1, seed=7)
    answers = answers_for(asked(name, data, 1, 10**8).model)
    quiet = answers_for(subject(name, data, "full", 1, "theta**2").model)
    assert isinstance(answers, MomentAnswers)
    first = answers.first_order_of_old_snapshots
    for h in (2.0**-16, 2.0**-18):
        share = answers.stationary_bias(fixed_step(h)).value - quiet.stationary_bias(fixed_step(h)).value
        share += h * quiet.expansion.values[1]
        assert share / h == pytest.approx(first, rel=40 * h * 2**5)


def evidence(scheme: str, **gradient: Any) -> Any:
    config = asked(scheme, draw(6, 1, seed=7), 2, gradient.get("refresh")).configuration
    return sgverify.rate(scheme, quantity="stationary-bias", config=config)


@pytest.mark.parametrize(("scheme", "order", "power"), [("sgld-euler", 1, 2), ("sghmc-aboba", 2, 3)])
def test_the_noises_share_passes_from_first_order_as_h_falls(scheme: str, order: int, power: int) -> None:
    found = evidence(scheme, refresh=10_000)
    assert found.found.exponent == order and found.verdict == "conforms"
    crossover = found.certificate["crossover"]
    slopes = list(crossover["local_exponents"].values())
    assert crossover["share_of_the_noise_below"].endswith(f"h^{power}")
    assert slopes[0] == pytest.approx(power, abs=0.1) and slopes[-1] == pytest.approx(1, abs=0.1)
    assert slopes == sorted(slopes, reverse=True)
    # Twice the steps between snapshots, half the step size of the crossover.
    further = evidence(scheme, refresh=20_000).certificate["crossover"]
    assert further["step"] == pytest.approx(crossover["step"] / 2, rel=1e-2)


def test_where_all_data_have_one_hessian_there_is_no_noise_and_evidence_says_so() -> None:
    found, full = (
        sgverify.rate("sghmc-aboba", quantity="stationary-bias", gradient={"kind": kind})
        for kind in ("svrg", "full")
    )
    assert [p.value for p in found.points] == [p.value for p in full.points]
    assert "same Hessian" in found.certificate["gradient_noise"]
    assert "gradient_noise" not in full.certificate


def test_a_period_that_expands_is_refused_though_one_step_contracts() -> None:
    data = draw(6, 1, seed=7)
    limit = asked("sghmc-aboba", data, 1, 50).step_sizes.limit
    assert limit < asked("sghmc-aboba", data, 1, 1).step_sizes.limit
    inside = asked("sghmc-aboba", data, 1, 50, schedule={"step": 0.99 * limit})
    inside.validate()
    answers_for(inside.model).stationary_bias(fixed_step(0.99 * limit))
    with pytest.raises(UserError, match=r"a period of gradient.refresh=50 steps"):
        asked("sghmc-aboba", data, 1, 50, schedule={"step": 1.01 * limit}).validate()
    with pytest.raises(UserError, match="does not contract"):
        answers_for(inside.model).stationary_bias(fixed_step(1.01 * limit))


def test_what_is_out_of_reach_says_why() -> None:
    why = unreached(asked("sghmc-aboba", draw(6, 2, seed=1), 2, 3, "theta[0]**3").model)
    assert why is not None and "degree 3" in why
    found = sgverify.rate(
        "sgld-euler",
        quantity="mse",
        method="exact",
        config=asked("sgld-euler", draw(6, 1, seed=1), 2, 3).configuration,
    )
    assert found.verdict == "inconclusive" and "snapshot" in found.reason


def test_the_claim_on_svrg_holds_for_schemes_of_order_two() -> None:
    config = asked("sghmc-baoab", draw(6, 1, seed=7), 2, 5).configuration
    found = sgverify.verify("sghmc-baoab", config, checks=["lu2025/svrg-bias"])
    assert [e.check for e in found] == ["stationary-bias", "covariance", "wasserstein-2"]
    assert all((e.verdict, e.method) == ("conforms", "exact") for e in found)
