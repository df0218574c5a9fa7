"""Averages: their weights, their errors, their memory, and their law against exact recursions."""

from __future__ import annotations

import gc
import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.linalg import solve_discrete_lyapunov

from sgverify.errors import ConfigurationError
from sgverify.samplers import (
    Fixed,
    GradientChoice,
    Power,
    Row,
    Settings,
    fixed,
    horizon,
    power,
    sample,
)
from sgverify.samplers.reading.constants import Constant
from sgverify.samplers.run.averages import RunningSums
from sgverify.schemes import find_scheme
from sgverify.targets import Target, parse_observable
from tests.sampled_states import sample_states

ABOBA = find_scheme("sghmc-aboba")
SGLD = find_scheme("sgld-euler")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["fixed", "power", "mixed"])
def test_averages_are_the_weighted_sums_of_the_states(posterior: Target, dtype: str, kind: str) -> None:
    """Bit for bit: states in float64, added in order, each times its h_l on a power schedule."""
    lengths, length = [1, 7, 40], 40
    rows = {
        "fixed": fixed([0.01, 0.02], lengths),
        "power": power([0.01, 0.02], 0.4, lengths),
        "mixed": (*fixed([0.01], lengths), *power([0.02], 0.4, lengths)),
    }[kind]
    settings = Settings(chains=3, dtype=dtype, gradient=GradientChoice("iid", batch=4))
    texts = ["theta**2", "theta*p - 1/2*p**3"]
    tests = [parse_observable(text, 1, ABOBA.state) for text in texts]
    found = sample(ABOBA, posterior, rows, observables=tests, settings=settings)
    states = sample_states(ABOBA, posterior, rows, at=range(1, length + 1), settings=settings).values
    theta, p = states["theta"][..., 0], states["p"][..., 0]
    for o, phi in enumerate([theta * theta, theta * p + p * p * p * -0.5]):
        for s, row in enumerate(rows):
            total, weight = np.zeros(3), 0.0
            for step in range(1, length + 1):
                h = row.schedule.at(step) if row.schedule.weighted else 1.0
                total, weight = total + phi[s, step - 1] * h, weight + h
                if step in lengths:
                    assert np.array_equal(found.values[o, s, lengths.index(step)], total / weight)
    assert np.array_equal(found.last["theta"][..., 0], theta[:, -1])


def kept(length: int, burn_in: int, thinning: int) -> list[int]:
    """The states that an average over `length` steps takes, by enumeration."""
    return [step for step in range(1, length + 1) if step > burn_in and (step - burn_in) / thinning % 1 == 0]


def leaves_out(posterior: Target, burn_in: int, thinning: int, block: int | None) -> None:
    """Rows of their own burn-in, one with weights, against the states themselves, added in order."""
    lengths = [9, 40]
    rows = [
        Row(Fixed(0.01), (9, 40)), Row(Fixed(0.02), (9, 40), burn_in=2), Row(Power(0.02, 0.4), (9, 40), burn_in=0),
    ]  # fmt: skip
    settings = Settings(chains=3, burn_in=burn_in, thinning=thinning)
    found = sample(
        ABOBA, posterior, rows, observables=[lambda theta, p: theta[..., 0]], settings=settings, block=block
    )
    states = sample_states(ABOBA, posterior, rows, at=range(1, 41), settings=settings).values["theta"]
    for s, row in enumerate(rows):
        for k, length in enumerate(lengths):
            total, weight = np.zeros(3), 0.0
            for step in kept(length, burn_in if row.burn_in is None else row.burn_in, thinning):
                h = row.schedule.at(step) if row.schedule.weighted else 1.0
                total, weight = total + states[s, step - 1, :, 0] * h, weight + h
            assert np.array_equal(found.values[0, s, k], total / weight)


@pytest.mark.parametrize("block", [None, 1, 4])
@pytest.mark.parametrize(("burn_in", "thinning"), [(0, 1), (5, 1), (0, 3), (5, 4), (3, 6)])
def test_burn_in_and_thinning_leave_states_out(
    posterior: Target, burn_in: int, thinning: int, block: int | None
) -> None:
    leaves_out(posterior, burn_in, thinning, block)


@pytest.mark.parametrize("plant", ["burn-in", "thinning"])
def test_off_by_one_is_seen(posterior: Target, plant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = RunningSums.__init__

    def wrong(self: Any, *given: Any) -> None:
        made(self, *given)
        if plant == "burn-in":
            self._burn_in = [left_out + 1 for left_out in self._burn_in]
        else:
            self._thinning += 1

    monkeypatch.setattr(RunningSums, "__init__", wrong)
    with pytest.raises(AssertionError):
        leaves_out(posterior, 5, 3, None)


def test_a_state_that_is_left_out_may_overflow(line: Target) -> None:
    rows = [Row(Fixed(0.3), (200,), burn_in=150), Row(Fixed(0.5), (200,), burn_in=160)]
    found = sample(
        SGLD, line, rows, observables=[lambda theta: theta[..., 0] ** 64], settings=Settings(start=1e8)
    )
    assert found.diverged == (None, None)
    assert np.isfinite(found.values).all()


@pytest.mark.parametrize(
    ("keys", "own"), [({"burn_in": 9}, None), ({"thinning": 10}, None), ({}, 9), ({}, -1)]
)
def test_an_average_of_nothing_is_refused(line: Target, keys: dict, own: int | None) -> None:
    with pytest.raises(
        ConfigurationError, match=r"no state is left of the first 9 .* burn_in \+ thinning <= 9"
    ):
        sample(SGLD, line, [Row(Fixed(0.1), (9, 20), own)], observables=[lambda theta: theta[..., 0]],
               settings=Settings(**keys))  # fmt: skip


def test_means_and_errors_are_between_chains(line: Target) -> None:
    found = sample(SGLD, line, fixed([0.1, 0.2], [3, 9]), observables=[parse_observable("theta", 1)])
    assert found.values.shape == (1, 2, 2, 256)
    assert found.steps.tolist() == [0.1, 0.2]
    assert found.lengths.tolist() == [[3, 9], [3, 9]]
    assert np.allclose(found.mean, found.values.mean(-1), rtol=1e-15)
    assert np.allclose(found.standard_error, stats.sem(found.values, axis=-1), rtol=1e-13)


def test_one_chain_has_no_error(line: Target) -> None:
    found = sample(
        SGLD, line, fixed([0.1], [3]), observables=[parse_observable("theta", 1)], settings=Settings(chains=1)
    )
    assert np.isfinite(found.mean).all()
    assert np.isnan(found.standard_error).all()


def test_horizon_rows_carry_their_own_lengths(line: Target) -> None:
    found = sample(SGLD, line, horizon(0.3, 0.5, [4, 16]), observables=[parse_observable("theta", 1)])
    assert found.lengths.tolist() == [[4], [16]]
    assert found.steps.tolist() == [0.15, 0.075]
    assert np.isfinite(found.values).all()


def test_power_rows_report_their_scale(line: Target) -> None:
    found = sample(SGLD, line, power([0.3], 0.5, [4]), observables=[parse_observable("theta", 1)])
    assert found.steps.tolist() == [0.3]


def test_an_observable_of_the_momentum_needs_one(line: Target) -> None:
    with pytest.raises(ConfigurationError, match="reads the momentum p"):
        sample(SGLD, line, fixed([0.1], [3]), observables=[parse_observable("p**2", 1)])


def live() -> tuple[int, int]:
    """Bytes in tensors and number of constants that are alive."""
    gc.collect()
    kept = [item for item in gc.get_objects() if type(item) is torch.Tensor or type(item) is Constant]
    tensors = {
        item.untyped_storage().data_ptr(): item.untyped_storage().nbytes()
        for item in kept
        if type(item) is torch.Tensor
    }
    return sum(tensors.values()), sum(type(item) is Constant for item in kept)


@pytest.mark.parametrize(("kind", "gradient"), [("fixed", "full"), ("power", "reshuffle")])
def test_memory_does_not_grow_with_the_length(posterior: Target, kind: str, gradient: str) -> None:
    settings = Settings(chains=4, gradient=GradientChoice(gradient, batch=4))

    def peak(length: int) -> tuple[int, int]:
        rows = fixed([0.01], [length]) if kind == "fixed" else power([0.01], 0.3, [length])
        seen = []
        sample(
            ABOBA, posterior, rows, observables=[parse_observable("theta**2", 1)], settings=settings, block=50,
            progress=lambda share: seen.append(live()),
        )  # fmt: skip
        return max(memory for memory, _ in seen), max(constants for _, constants in seen)

    # What other tests left is set aside, so that a look does not go through millions of objects.
    gc.freeze()
    try:
        assert peak(300) == peak(100)
    finally:
        gc.unfreeze()


def test_progress_is_told_and_ctrl_c_keeps_what_was_reached(line: Target) -> None:
    shares: list[float] = []
    tests = [parse_observable("theta", 1)]
    whole = sample(SGLD, line, fixed([0.1], [10, 40]), observables=tests, progress=shares.append, block=5)
    assert shares == [k / 8 for k in range(1, 9)]
    assert whole.complete

    def interrupt(share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    part = sample(SGLD, line, fixed([0.1], [10, 40]), observables=tests, progress=interrupt, block=5)
    assert not part.complete
    assert np.array_equal(part.values[:, :, 0], whole.values[:, :, 0])
    assert np.isnan(part.values[:, :, 1]).all()


def aboba_map(h: float, D: float, T: float, H: np.ndarray, V: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """(M, Q) of ABOBA on U = x.Hx/2, by the letters' matrices; V is the covariance of the gradient noise."""
    d = len(H)
    eye, zero = np.eye(d), np.zeros((d, d))
    A = np.block([[eye, h / 2 * eye], [zero, eye]])
    B = np.block([[eye, zero], [zero, math.exp(-D * h / 2) * eye]])
    kick = np.block([[eye, zero], [-h * H, eye]])
    after = A @ B
    noise = 2 * D * T * h * eye + (h * h * V if V is not None else 0)
    Q = after @ np.block([[zero, zero], [zero, noise]]) @ after.T
    return after @ kick @ B @ A, Q


def recursion(M: np.ndarray, Q: np.ndarray, start: np.ndarray, length: int) -> tuple[np.ndarray, ...]:
    """Mean and covariance of X_L, and the average over l = 1..L of E X_l X_l^T."""
    mean, covariance, total = start, np.zeros_like(Q), np.zeros_like(Q)
    for _ in range(length):
        mean, covariance = M @ mean, M @ covariance @ M.T + Q
        total = total + covariance + np.outer(mean, mean)
    return mean, covariance, total / length


LEVEL = 1e-7


def test_the_law_of_the_state_is_the_exact_one(space: Target) -> None:
    """With full gradients X_L is normal: (X - m) C^-1 (X - m) is chi-square, C its exact covariance."""
    h, D, T, length, chains = 0.3, 1.4, 1.7, 25, 4000
    settings = Settings(temperature=T, friction=D, chains=chains, start=1.5)
    found = sample_states(ABOBA, space, fixed([h], [1]), at=[length], settings=settings).values
    mean = space.mean_float64()
    state = np.concatenate([found["theta"][0, 0] - mean, found["p"][0, 0]], axis=-1)
    M, Q = aboba_map(h, D, T, space.precision_float64())
    start = np.concatenate([1.5 * np.sqrt(T * np.diag(space.covariance_float64())), np.zeros(3)])
    centre, covariance, _ = recursion(M, Q, start, length)
    white = np.linalg.solve(np.linalg.cholesky(covariance), (state - centre).T)
    law = stats.chi2(chains)
    for row in white:
        assert law.ppf(LEVEL) < float((row**2).sum()) < law.isf(LEVEL)
        assert abs(float(row.sum())) / math.sqrt(chains) < stats.norm.isf(LEVEL / 2)
    for i in range(6):
        for j in range(i):
            # A sum of products of two independent normals: its tail is below that of a chi-square difference.
            total = float((white[i] * white[j]).sum())
            assert abs(total) < (law.isf(LEVEL) - chains) / 2 + (chains - law.ppf(LEVEL)) / 2


@pytest.mark.power  # 0.5 s
def test_the_stationary_law_is_that_of_the_lyapunov_equation(space: Target) -> None:
    """From far enough in, every sampled second moment is the exact one; t-statistic over 4000 chains, level 1e-7.

    The transient is bounded by the spectral radius to the power of the number of steps, far below the error.
    """
    h, D, length, chains = 1.0, 1.4, 60, 4000
    M, Q = aboba_map(h, D, 1.0, space.precision_float64())
    assert max(abs(np.linalg.eigvals(M))) ** length < 1e-6
    exact = solve_discrete_lyapunov(M, Q)
    settings = Settings(friction=D, chains=chains)
    found = sample_states(
        ABOBA, space, fixed([h], [1]), at=range(length, length + 40), settings=settings
    ).values
    state = np.concatenate([found["theta"][0] - space.mean_float64(), found["p"][0]], axis=-1)
    moments = np.einsum("lci,lcj->cij", state, state) / 40
    z = (moments.mean(0) - exact) / stats.sem(moments, axis=0)
    assert np.abs(z).max() < stats.t.isf(LEVEL / 2, chains - 1)
    # The test sees the bias of the scheme: against the target's own covariance it fails.
    biased = (moments.mean(0)[:3, :3] - space.covariance_float64()) / stats.sem(moments, axis=0)[:3, :3]
    assert np.abs(biased).max() > 10


@pytest.mark.power  # 2.2 s
@pytest.mark.parametrize(
    ("kind", "batch"), [("iid", 3), ("without-replacement", 3), ("without-replacement", 12)]
)
def test_averages_with_minibatches_have_the_exact_expectation(
    wide_posterior: Target, kind: str, batch: int
) -> None:
    """E phi_hat of theta_i theta_j from the second-moment recursion with the covariance of the minibatch noise."""
    h, D, T, length, chains, N = 0.1, 1.4, 0.8, 60, 2000, 12
    data = np.array(wide_posterior.data_gradients(), dtype=float)
    V = data.T @ data / N / batch * (1 if kind == "iid" else (N - batch) / (N - 1))
    M, Q = aboba_map(h, D, T, wide_posterior.precision_float64(), V)
    start = np.concatenate([2 * np.sqrt(T * np.diag(wide_posterior.covariance_float64())), np.zeros(3)])
    _, _, exact = recursion(M, Q, start, length)
    mean = wide_posterior.mean_float64()
    pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2)]

    def centred(i: int, j: int) -> Any:
        return lambda theta, p: (theta[..., i] - float(mean[i])) * (theta[..., j] - float(mean[j]))

    settings = Settings(temperature=T, friction=D, chains=chains, gradient=GradientChoice(kind, batch=batch))
    found = sample(
        ABOBA,
        wide_posterior,
        fixed([h], [length]),
        observables=[centred(*pair) for pair in pairs],
        settings=settings,
    )
    expected = np.array([exact[pair] for pair in pairs])
    z = (found.mean[:, 0, 0] - expected) / found.standard_error[:, 0, 0]
    assert np.abs(z).max() < stats.t.isf(LEVEL / 2, chains - 1)
    if batch < N:
        _, _, full = recursion(*aboba_map(h, D, T, wide_posterior.precision_float64()), start, length)
        wrong = (found.mean[:, 0, 0] - np.array([full[pair] for pair in pairs])) / found.standard_error[
            :, 0, 0
        ]
        assert np.abs(wrong).max() > 10
