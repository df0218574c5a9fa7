"""The loops that one writes by hand for numba: one chain after the other, every number in a local variable or a small array.

Each runs under `njit(fastmath=True)` with numba's own generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.peers.problems import (
    ALPHA,
    BATCH,
    CORRECTION,
    EDGES,
    FRICTION,
    HIDDEN,
    OFFSET,
    PROBLEMS,
    SIZE,
    SMOOTHING,
    Absent,
    Answer,
    Problem,
    Task,
    why_absent,
)


def make(task: Task) -> Callable[[int], Answer]:
    """The loop of a problem; raises `Absent`."""
    try:
        import numba as _numba  # noqa: F401 - is it there?
    except Exception as error:
        raise Absent(why_absent(error)) from error
    h, data, thinning = task.problem.h, task.data(), task.thinning
    loop = _made(task.problem.name, task.dtype)

    def run(steps: int) -> Answer:
        theta = task.starts()
        if task.problem.ladder:
            theta = np.concatenate([theta, theta], axis=1)
        averages = np.zeros(task.chains)
        kept = np.empty((task.chains, steps // thinning if thinning else 0, theta.shape[1]), task.numbers)
        loop(theta, data, task.numbers.type(h), steps, averages, kept, max(thinning, 1))
        if thinning:
            averages = np.square(kept[:, :, 0], dtype=np.float64).mean(1)
        return Answer(steps, averages, theta)

    return run


@cache
def _made(problem: str, dtype: str) -> Any:
    """The compiled loop of a problem, for any number of chains."""
    import numba

    compiled, real, one = numba.njit(fastmath=True), np.dtype(dtype).type, PROBLEMS[problem]
    special = {"csgld": _contour, "saga": _table}
    if one.ladder:
        return _exchange(compiled, real, one)
    if problem in special:
        return special[problem](compiled, real)
    return _plain(compiled, real, _gradient(compiled, real, one), one.scheme == "sghmc-euler-explicit")


def _gradient(compiled: Any, one: Any, problem: Problem) -> Any:
    # A Python number is float64 in numba; a loop in float32 has constants of its own type.
    name, kind = problem.target, problem.kind
    size, scale, four, tilt, N, n = one(SIZE), one(SIZE / BATCH), one(4), one(0.25), SIZE, BATCH

    @compiled
    def well(theta: Any, data: Any, grad: Any) -> None:
        for k in range(1, theta.size):
            grad[k] = theta[k]
        grad[0] = four * theta[0] * (theta[0] * theta[0] - one(1)) + tilt

    @compiled
    def mean(theta: Any, data: Any, grad: Any) -> None:
        grad[:] = 0
        for _ in range(n):
            i = np.random.randint(N)
            for k in range(theta.size):
                grad[k] += data[i, k]
        for k in range(theta.size):
            grad[k] = theta[k] + size * theta[k] - scale * grad[k]

    @compiled
    def logistic(theta: Any, data: Any, grad: Any) -> None:
        grad[:] = 0
        for _ in range(n):
            i = np.random.randint(N)
            score = one(0)
            for k in range(theta.size):
                score += data[i, k] * theta[k]
            residual = one(1) / (one(1) + math.exp(-score)) - data[i, theta.size]
            for k in range(theta.size):
                grad[k] += residual * data[i, k]
        for k in range(theta.size):
            grad[k] = theta[k] + scale * grad[k]

    @compiled
    def logistic_full(theta: Any, data: Any, grad: Any) -> None:
        for k in range(theta.size):
            grad[k] = theta[k]
        for i in range(N):
            score = one(0)
            for k in range(theta.size):
                score += data[i, k] * theta[k]
            residual = one(1) / (one(1) + math.exp(-score)) - data[i, theta.size]
            for k in range(theta.size):
                grad[k] += residual * data[i, k]

    width, wide = HIDDEN, 10

    @compiled
    def network(theta: Any, data: Any, grad: Any) -> None:
        hidden = np.empty(width, theta.dtype)
        bias, outer, last = width * wide, width * wide + width, width * wide + 2 * width
        grad[:] = 0
        for _ in range(n):
            i = np.random.randint(N)
            found = theta[last]
            for j in range(width):
                score = theta[bias + j]
                for k in range(wide):
                    score += theta[j * wide + k] * data[i, k]
                hidden[j] = math.tanh(score)
                found += theta[outer + j] * hidden[j]
            residual = one(2) * (found - data[i, wide])
            grad[last] += residual
            for j in range(width):
                grad[outer + j] += residual * hidden[j]
                back = residual * theta[outer + j] * (one(1) - hidden[j] * hidden[j])
                grad[bias + j] += back
                for k in range(wide):
                    grad[j * wide + k] += back * data[i, k]
        for k in range(theta.size):
            grad[k] = theta[k] + scale * grad[k]

    if name == "logistic-regression":
        return logistic_full if kind == "full" else logistic
    return {"double-well": well, "gaussian-mean": mean, "network": network}[name]


def _plain(compiled: Any, real: Any, gradient: Any, kinetic: bool) -> Any:
    friction = FRICTION

    @compiled
    def loop(states: Any, data: Any, h: Any, steps: int, averages: Any, kept: Any, thinning: int) -> None:
        dim = states.shape[1]
        one = h / h
        root = math.sqrt((one + one) * h * (real(friction) if kinetic else one))
        damped = one - real(friction) * h
        grad, p = np.empty(dim, states.dtype), np.zeros(dim, states.dtype)
        for chain in range(states.shape[0]):
            theta = states[chain]
            p[:] = 0
            total = 0.0
            for number in range(1, steps + 1):
                gradient(theta, data, grad)
                for k in range(dim):
                    z = real(np.random.standard_normal())
                    if kinetic:
                        theta[k] += h * p[k]
                        p[k] = damped * p[k] - h * grad[k] + root * z
                    else:
                        theta[k] += root * z - h * grad[k]
                total += float(theta[0]) ** 2
                if kept.shape[1] and number % thinning == 0:
                    kept[chain, number // thinning - 1] = theta
            averages[chain] = total / steps

    return loop


def _exchange(compiled: Any, real: Any, problem: Problem) -> Any:
    ladder, reduced = problem.ladder, problem.name == "vr-resgld"
    N, n, gap, correction, smoothing = SIZE, BATCH, 1 / ladder[0] - 1 / ladder[1], CORRECTION, SMOOTHING
    period, temperatures = SIZE // BATCH if reduced else 1, np.array(ladder)

    @compiled
    def distance(theta: Any, x: Any) -> float:
        total = 0.0
        for k in range(theta.size):
            total += (theta[k] - x[k]) * (theta[k] - x[k])
        return total / 2

    @compiled
    def prior(theta: Any) -> float:
        total = 0.0
        for k in range(theta.size):
            total += theta[k] * theta[k]
        return total / 2

    @compiled
    def whole(theta: Any, data: Any) -> float:
        total = prior(theta)
        for i in range(N):
            total += distance(theta, data[i])
        return total

    @compiled
    def gap_reduced(theta: Any, at: Any, x: Any) -> float:
        return distance(theta[0], x) - distance(at[0], x) - distance(theta[1], x) + distance(at[1], x)

    @compiled
    def gap_plain(theta: Any, at: Any, x: Any) -> float:
        return distance(theta[0], x) - distance(theta[1], x)

    @compiled
    def begun_reduced(theta: Any, at: Any, full: Any) -> float:
        return prior(theta[0]) - prior(at[0]) + full[0] - prior(theta[1]) + prior(at[1]) - full[1]

    @compiled
    def begun_plain(theta: Any, at: Any, full: Any) -> float:
        return prior(theta[0]) - prior(theta[1])

    gap_at, begun = (gap_reduced, begun_reduced) if reduced else (gap_plain, begun_plain)

    @compiled
    def loop(states: Any, data: Any, h: Any, steps: int, averages: Any, kept: Any, thinning: int) -> None:
        dim = states.shape[1] // 2
        grad, spread = np.empty(dim, states.dtype), np.empty(n)
        at, full, one = np.empty((2, dim), states.dtype), np.empty(2), h / h
        for chain in range(states.shape[0]):
            theta = states[chain].reshape(2, dim)
            at[:] = theta
            full[0], full[1] = whole(theta[0], data), whole(theta[1], data)
            known, variance, total = False, 0.0, 0.0
            for number in range(1, steps + 1):
                for r in range(2):
                    grad[:] = 0
                    for _ in range(n):
                        i = np.random.randint(N)
                        for k in range(dim):
                            grad[k] += data[i, k]
                    root = math.sqrt(real(2 * temperatures[r]) * h)
                    for k in range(dim):
                        slope = theta[r, k] * real(N + 1) - real(N / n) * grad[k]
                        theta[r, k] += root * real(np.random.standard_normal()) - h * slope * one
                if number % period == 0:
                    mean = 0.0
                    for j in range(n):
                        x = data[np.random.randint(N)]
                        spread[j] = N * gap_at(theta, at, x)
                        mean += spread[j] / n
                    found = 0.0
                    for j in range(n):
                        found += (spread[j] - mean) ** 2 / (n - 1) / n
                    variance = variance + smoothing * (found - variance) if known else found
                    known = True
                change = begun(theta, at, full)
                for _ in range(n):
                    x = data[np.random.randint(N)]
                    change += (N / n) * gap_at(theta, at, x)
                if known and math.log(np.random.random()) < gap * (change - gap * variance / correction):
                    for k in range(dim):
                        theta[0, k], theta[1, k] = theta[1, k], theta[0, k]
                        at[0, k], at[1, k] = at[1, k], at[0, k]
                    full[0], full[1] = full[1], full[0]
                if reduced and number % period == 0:
                    at[:] = theta
                    full[0], full[1] = whole(theta[0], data), whole(theta[1], data)
                total += float(theta[0, 0]) ** 2
            averages[chain] = total / steps

    return loop


def _contour(compiled: Any, real: Any) -> Any:
    inner, width, top, m = np.array(EDGES[1:-1]), EDGES[1] - EDGES[0], EDGES[-1], len(EDGES) - 1
    alpha, offset = ALPHA, OFFSET

    @compiled
    def energy(theta: Any) -> float:
        total = (float(theta[0]) ** 2 - 1) ** 2 + 0.25 * theta[0]
        for k in range(1, theta.size):
            total += float(theta[k]) ** 2 / 2
        return total

    @compiled
    def region_of(U: float) -> int:
        region = 0
        while region < m - 1 and inner[region] < U:
            region += 1
        return region

    @compiled
    def loop(states: Any, data: Any, h: Any, steps: int, averages: Any, kept: Any, thinning: int) -> None:
        dim, one = states.shape[1], h / h
        root, weights = math.sqrt((one + one) * h), np.empty(m)
        for chain in range(states.shape[0]):
            theta = states[chain]
            weights[:] = 1 / m
            U, total = energy(theta), 0.0
            region = region_of(U)
            for number in range(1, steps + 1):
                bent = one
                if top >= U and region > 0:
                    bent = real(1 + math.log(weights[region] / weights[region - 1]) / width)
                first = theta[0]
                for k in range(dim):
                    slope = theta[k] if k else 4 * first * (first * first - one) + real(0.25)
                    theta[k] += root * real(np.random.standard_normal()) - h * bent * slope
                U = energy(theta)
                region = region_of(U)
                moved = weights[region] / (number**alpha + offset)
                for i in range(m):
                    weights[i] -= moved * weights[i]
                weights[region] += moved
                total += float(theta[0]) ** 2
            averages[chain] = total / steps

    return loop


def _table(compiled: Any, real: Any) -> Any:
    N, n = SIZE, BATCH

    @compiled
    def loop(states: Any, data: Any, h: Any, steps: int, averages: Any, kept: Any, thinning: int) -> None:
        dim, one = states.shape[1], h / h
        root, scale = math.sqrt((one + one) * h), real(N / n)
        table, added = np.empty((N, dim), states.dtype), np.empty(dim, states.dtype)
        chosen, found = np.empty(n, np.int64), np.empty((n, dim), states.dtype)
        grad = np.empty(dim, states.dtype)
        for chain in range(states.shape[0]):
            theta = states[chain]
            added[:] = 0
            for i in range(N):
                for k in range(dim):
                    table[i, k] = theta[k] - data[i, k]
                    added[k] += table[i, k]
            total = 0.0
            for _ in range(steps):
                for k in range(dim):
                    grad[k] = theta[k] + added[k]
                for j in range(n):
                    i = np.random.randint(N)
                    chosen[j] = i
                    for k in range(dim):
                        found[j, k] = theta[k] - data[i, k]
                        grad[k] += scale * (found[j, k] - table[i, k])
                for j in range(n):
                    for k in range(dim):
                        added[k] += found[j, k] - table[chosen[j], k]
                        table[chosen[j], k] = found[j, k]
                for k in range(dim):
                    theta[k] += root * real(np.random.standard_normal()) - h * grad[k]
                total += float(theta[0]) ** 2
            averages[chain] = total / steps

    return loop
