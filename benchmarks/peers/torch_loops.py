"""The loops that one writes by hand in torch: all chains in one tensor, torch's own generator, updates in place."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.peers.problems import (
    ALPHA,
    BATCH,
    CORRECTION,
    EDGES,
    FRICTION,
    HIDDEN,
    OFFSET,
    SIZE,
    SMOOTHING,
    Answer,
    Task,
)

Gradient = Callable[[Tensor], Tensor]


def make(task: Task) -> Callable[[int], Answer]:
    """The loop of a problem."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    special = {"vr-resgld": _exchange, "resgld": _exchange, "csgld": _contour, "saga": _table}
    return special.get(task.problem.name, _plain)(task)


def gradient_of(task: Task, chains: int) -> Gradient:
    """The gradient estimate at theta, shape (C, d)."""
    name, kind = task.problem.target, task.problem.kind
    if name == "double-well":
        return _well
    data = torch.from_numpy(task.data())
    if name == "gaussian-mean":

        def mean(theta: Tensor) -> Tensor:
            chosen = data[torch.randint(SIZE, (chains, BATCH))].mean(1)
            return theta + SIZE * (theta - chosen)

        return mean
    if name == "network":
        return _network(data, chains)
    x, y = data[:, :-1].contiguous(), data[:, -1].contiguous()
    if kind == "full":
        return lambda theta: theta + (torch.sigmoid(theta @ x.T) - y) @ x

    def logistic(theta: Tensor) -> Tensor:
        chosen = torch.randint(SIZE, (chains, BATCH))
        rows = x[chosen]
        residual = torch.sigmoid((rows @ theta[:, :, None])[..., 0]) - y[chosen]
        return theta + SIZE / BATCH * (residual[:, None] @ rows)[:, 0]

    return logistic


def _well(theta: Tensor) -> Tensor:
    gradient = theta.clone()
    first = theta[:, 0]
    gradient[:, 0] = 4 * first * (first * first - 1) + 0.25
    return gradient


def _network(data: Tensor, chains: int) -> Gradient:
    first = HIDDEN * 10
    cuts = (first, first + HIDDEN, first + 2 * HIDDEN)

    def loss(theta: Tensor, rows: Tensor) -> Tensor:
        hidden = torch.tanh(rows[:, :10] @ theta[:first].view(HIDDEN, 10).T + theta[cuts[0] : cuts[1]])
        found = hidden @ theta[cuts[1] : cuts[2]] + theta[cuts[2]]
        return (found - rows[:, 10]).square().sum()

    each = torch.func.vmap(torch.func.grad(loss))

    def gradient(theta: Tensor) -> Tensor:
        rows = data[torch.randint(SIZE, (chains, BATCH))]
        return theta + SIZE / BATCH * each(theta, rows)

    return gradient


def _plain(task: Task) -> Callable[[int], Answer]:
    problem, h = task.problem, task.problem.h
    gradient = gradient_of(task, task.chains)
    kinetic = problem.scheme == "sghmc-euler-explicit"
    root = math.sqrt((2 * FRICTION if kinetic else 2) * h)

    def run(steps: int) -> Answer:
        with torch.no_grad():
            theta = torch.from_numpy(task.starts())
            p, noise = torch.zeros_like(theta), torch.empty_like(theta)
            total = torch.zeros(task.chains, dtype=torch.float64)
            kept = (
                torch.empty(steps // task.thinning, *theta.shape, dtype=theta.dtype)
                if task.thinning
                else None
            )
            for number in range(1, steps + 1):
                grad = gradient(theta)
                if kinetic:
                    theta.add_(p, alpha=h)
                    p.mul_(1 - FRICTION * h).sub_(grad, alpha=h).add_(noise.normal_(), alpha=root)
                else:
                    theta.sub_(grad, alpha=h).add_(noise.normal_(), alpha=root)
                if kept is None:
                    total += theta[:, 0].square()
                elif number % task.thinning == 0:
                    kept[number // task.thinning - 1] = theta
            averages = total / steps if kept is None else kept[:, :, 0].double().square().mean(0)
        return Answer(steps, averages.numpy(), theta.numpy())

    return run


def _exchange(task: Task) -> Callable[[int], Answer]:
    """Two replicas of every chain, side by side along the first axis, shape (2, C, d); with control variates in vr-resgld."""
    h, chains, data = task.problem.h, task.chains, torch.from_numpy(task.data())
    ladder, reduced = task.problem.ladder, task.problem.name == "vr-resgld"
    roots = torch.tensor([math.sqrt(2 * T * h) for T in ladder], dtype=data.dtype)[:, None, None]
    gap, period = 1 / ladder[0] - 1 / ladder[1], SIZE // BATCH if reduced else 1

    def prior(theta: Tensor) -> Tensor:
        return theta.double().square().sum(-1) / 2

    def each(theta: Tensor, rows: Tensor) -> Tensor:
        """The energies of theta, (2, C, d), on each of the data (C, n, d); shape (2, C, n)."""
        return (theta[:, :, None] - rows).double().square().sum(-1) / 2

    def whole(theta: Tensor) -> Tensor:
        # sum_i |x_i - theta|^2 = sum |x_i|^2 - 2 theta . sum x_i + N |theta|^2
        wide = theta.double()
        cross = wide @ data.double().sum(0)
        return prior(theta) + data.double().square().sum() / 2 - cross + SIZE * wide.square().sum(-1) / 2

    def run(steps: int) -> Answer:
        with torch.no_grad():
            theta = torch.from_numpy(task.starts()).repeat(2, 1, 1)
            noise, total = torch.empty_like(theta), torch.zeros(chains, dtype=torch.float64)
            variance = torch.full((chains,), math.inf, dtype=torch.float64)
            at, full = theta.clone(), whole(theta)
            for number in range(1, steps + 1):
                chosen = data[torch.randint(SIZE, (2, chains, BATCH))].mean(2)
                grad = theta + SIZE * (theta - chosen)
                theta.sub_(grad, alpha=h).add_(noise.normal_().mul_(roots))
                if number % period == 0:
                    rows = data[torch.randint(SIZE, (chains, BATCH))]
                    change = SIZE * (each(theta, rows) - each(at, rows) if reduced else each(theta, rows))
                    found = (change[0] - change[1]).var(-1) / BATCH
                    variance = torch.where(
                        variance.isfinite(), variance + SMOOTHING * (found - variance), found
                    )
                rows = data[torch.randint(SIZE, (chains, BATCH))]
                change = each(theta, rows) - each(at, rows) if reduced else each(theta, rows)
                energy = prior(theta) + SIZE / BATCH * change.sum(-1)
                if reduced:
                    energy += full - prior(at)
                rate = gap * (energy[0] - energy[1] - gap * variance / CORRECTION)
                swap = torch.rand(chains, dtype=torch.float64).log() < rate
                theta = torch.where(swap[:, None], theta.flip(0), theta)
                if reduced:
                    at = torch.where(swap[:, None], at.flip(0), at)
                    full = torch.where(swap, full.flip(0), full)
                if reduced and number % period == 0:
                    at, full = theta.clone(), whole(theta)
                total += theta[0, :, 0].square()
        last = theta.movedim(0, 1).reshape(chains, -1)
        return Answer(steps, (total / steps).numpy(), last.numpy())

    return run


def _contour(task: Task) -> Callable[[int], Answer]:
    h, chains = task.problem.h, task.chains
    inner = torch.tensor(EDGES[1:-1], dtype=torch.float64)
    width, top, regions = EDGES[1] - EDGES[0], EDGES[-1], len(EDGES) - 1

    def energy(theta: Tensor) -> Tensor:
        wide = theta.double()
        square = wide[:, 0].square()
        return (square - 1).square() + 0.25 * wide[:, 0] + (wide.square().sum(-1) - square) / 2

    def run(steps: int) -> Answer:
        with torch.no_grad():
            theta = torch.from_numpy(task.starts())
            noise, total = torch.empty_like(theta), torch.zeros(chains, dtype=torch.float64)
            weights = torch.full((chains, regions), 1 / regions, dtype=torch.float64)
            U = energy(theta)
            region = torch.bucketize(U, inner)[:, None]
            for number in range(1, steps + 1):
                here, below = weights.gather(1, region), weights.gather(1, (region - 1).clamp_(0))
                bent = 1 + (here.log() - below.log()) / width * (top >= U)[:, None]
                theta.sub_(_well(theta) * bent.to(theta.dtype), alpha=h)
                theta.add_(noise.normal_(), alpha=math.sqrt(2 * h))
                U = energy(theta)
                region = torch.bucketize(U, inner)[:, None]
                moved = weights.gather(1, region) / (number**ALPHA + OFFSET)
                weights.sub_(moved * weights).scatter_add_(1, region, moved)
                total += theta[:, 0].square()
        return Answer(steps, (total / steps).numpy(), theta.numpy())

    return run


def _table(task: Task) -> Callable[[int], Answer]:
    h, chains, data = task.problem.h, task.chains, torch.from_numpy(task.data())
    lines = torch.arange(chains)

    def run(steps: int) -> Answer:
        with torch.no_grad():
            theta = torch.from_numpy(task.starts())
            noise, total = torch.empty_like(theta), torch.zeros(chains, dtype=torch.float64)
            table = theta[:, None] - data
            added = table.sum(1)
            for number in range(1, steps + 1):
                if number % (SIZE // BATCH) == 0:
                    added = table.sum(1)
                chosen = torch.randint(SIZE, (chains, BATCH))
                found = theta[:, None] - data[chosen]
                grad = theta + added + SIZE / BATCH * (found - table[lines[:, None], chosen]).sum(1)
                for k in range(BATCH):
                    added += found[:, k] - table[lines, chosen[:, k]]
                    table[lines, chosen[:, k]] = found[:, k]
                theta.sub_(grad, alpha=h).add_(noise.normal_(), alpha=math.sqrt(2 * h))
                total += theta[:, 0].square()
        return Answer(steps, (total / steps).numpy(), theta.numpy())

    return run
