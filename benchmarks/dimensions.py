"""Benchmark: stationary bias in dimension 20 and mean square error in dimension 5, on dense precisions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

import sgverify
from benchmarks.mean_square_error import AGREEMENT, LENGTHS
from benchmarks.measuring import Row, Setting, close, compare, measure
from benchmarks.moment_recursion import Step, mean_square_error, start_of, step_of, test_function_of
from benchmarks.moment_recursion import TestFunction as Phi
from sgverify.configuration import load_configuration
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

SCHEME = "sghmc-aboba"
RECURSED = 10**4

# A bias of a few per cent of phi_bar is what is left of two numbers of float64 precision, solved from a
# Lyapunov equation whose condition is about 1 / (1 - radius^2) < 1e3.
LYAPUNOV_AGREEMENT = 1e-8


def dense_target(dim: int) -> dict[str, object]:
    """A Gaussian with distinct scales and every pair of coordinates coupled.

    precision_ij = (1 + i/4) [i = j] + 0.3 / (1 + |i - j|); the second term is positive definite (Polya), so the sum is.
    """
    precision = [
        [(1 + i / 4) * (i == j) + round(0.3 / (1 + abs(i - j)), 6) for j in range(dim)] for i in range(dim)
    ]
    return {"name": "gaussian", "dim": dim, "precision": precision}


def run(setting: Setting) -> Iterator[Row]:
    """The whole answers, then their values alone beside numpy and scipy."""
    yield from _stationary(3 if setting.tiny else 20, setting)
    yield from _finite(2 if setting.tiny else 5, setting)


def _stationary(dim: int, setting: Setting) -> Iterator[Row]:
    target = dense_target(dim)
    timing = measure(lambda: sgverify.rate(SCHEME, quantity="stationary-bias", target=target), setting)
    yield Row(f"stationary-bias exponent of {SCHEME}, dim {dim} dense", timing)
    subject = make_subject(SCHEME, load_configuration(None, target=target))
    h, model = subject.step, subject.model
    step, phi = step_of(model, h), test_function_of(model)
    timing, peer = compare(
        lambda: answers_for(model).stationary_bias(fixed_step(h)).value,
        lambda: _stationary_bias(step, phi),
        setting,
        same=lambda ours, theirs: close(ours, theirs, LYAPUNOV_AGREEMENT),
    )
    note = "a floor: M, c and Q are given to it, and it solves in float64 without an error bound"
    yield Row(
        f"stationary bias of {SCHEME}, dim {dim} dense, one step size",
        timing,
        None,
        "scipy solve_discrete_lyapunov",
        peer,
        note=note,
    )


def _stationary_bias(step: Step, phi: Phi) -> float:
    mean = np.linalg.solve(np.eye(len(step.shift)) - step.map, step.shift)
    spread = solve_discrete_lyapunov(step.map, step.covariance)
    return float(
        phi.constant
        + phi.linear @ mean
        + mean @ phi.quadratic @ mean
        + np.sum(phi.quadratic * spread)
        - phi.truth
    )


def _finite(dim: int, setting: Setting) -> Iterator[Row]:
    target = dense_target(dim)
    lengths, recursed = ([10, 100], 100) if setting.tiny else (LENGTHS, RECURSED)
    sweep = {"lengths": lengths}
    timing = measure(lambda: sgverify.rate(SCHEME, quantity="mse", target=target, sweep=sweep), setting)
    yield Row(
        f"mse exponent of {SCHEME}, dim {dim} dense, {len(lengths)} lengths to {lengths[-1]:.0e}", timing
    )
    subject: Subject = make_subject(SCHEME, load_configuration(None, target=target))
    h, model = subject.step, subject.model
    step, start, phi = step_of(model, h), start_of(model), test_function_of(model)
    timing, peer = compare(
        lambda: answers_for(model).mean_square_error(fixed_step(h), recursed).value,
        lambda: mean_square_error(repeat(step, recursed), start, phi),
        setting,
        same=lambda ours, theirs: close(ours, theirs, AGREEMENT),
    )
    yield Row(
        f"mse of {SCHEME}, dim {dim} dense, one step size, L = {recursed:.0e}",
        timing,
        None,
        "moments step by step in numpy float64",
        peer,
        note="the engine's time does not grow with L",
    )
