"""The samplers of posteriors: all chains in one tensor, their log densities summed, states updated in place."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.peers.problems import BATCH, FRICTION, HIDDEN, SIZE, Absent, Answer, Task, why_absent


def make(task: Task) -> Callable[[int], Answer]:
    """posteriors; raises `Absent` for what it does not have."""
    try:
        import posteriors
    except Exception as error:
        raise Absent(why_absent(error)) from error
    if task.problem.ladder or task.problem.name in ("saga", "csgld"):
        raise Absent("has no such algorithm")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    problem, density = task.problem, _density(task)
    data = torch.from_numpy(task.data())

    def log_posterior(theta: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        return density(theta, rows), torch.empty(0)

    kinetic = problem.scheme == "sghmc-euler-explicit"
    if kinetic:
        transform = posteriors.sgmcmc.sghmc.build(log_posterior, lr=problem.h, alpha=FRICTION)
    else:
        transform = posteriors.sgmcmc.sgld.build(log_posterior, lr=problem.h)

    def run(steps: int) -> Answer:
        theta = torch.from_numpy(task.starts())
        state = transform.init(theta, momenta=0.0) if kinetic else transform.init(theta)
        total = torch.zeros(task.chains, dtype=torch.float64)
        kept = torch.empty(steps // task.thinning, *theta.shape, dtype=theta.dtype) if task.thinning else None
        for number in range(1, steps + 1):
            rows = data if problem.kind == "full" else data[torch.randint(SIZE, (task.chains, BATCH))]
            state, _ = transform.update(state, rows, inplace=True)
            if kept is None:
                total += state.params[:, 0].double() ** 2
            elif number % task.thinning == 0:
                kept[number // task.thinning - 1] = state.params
        averages = total / steps if kept is None else kept[:, :, 0].double().square().mean(0)
        return Answer(steps, averages.numpy(), state.params.numpy())

    return run


def _density(task: Task) -> Callable[[Tensor, Tensor], Tensor]:
    """The sum over chains of the log posterior's estimate; theta (C, d), data (C, n, w) or (N, w)."""
    name, scale = task.problem.target, 1 if task.problem.kind == "full" else SIZE / BATCH

    def well(theta: Tensor, rows: Tensor) -> Tensor:
        first = theta[:, 0]
        return -((first**2 - 1) ** 2 + 0.25 * first).sum() - 0.5 * (theta[:, 1:] ** 2).sum()

    def mean(theta: Tensor, rows: Tensor) -> Tensor:
        return -0.5 * (theta**2).sum() - scale * 0.5 * ((rows - theta[:, None]) ** 2).sum()

    def logistic(theta: Tensor, rows: Tensor) -> Tensor:
        if rows.ndim == 2:
            scores, labels = theta @ rows[:, :-1].T, rows[:, -1]
        else:
            scores, labels = (rows[..., :-1] @ theta[:, :, None])[..., 0], rows[..., -1]
        fit = labels * scores - torch.nn.functional.softplus(scores)
        return -0.5 * (theta**2).sum() + scale * fit.sum()

    def network(theta: Tensor, rows: Tensor) -> Tensor:
        first = HIDDEN * 10
        inner = theta[:, :first].view(-1, HIDDEN, 10)
        hidden = torch.tanh(torch.baddbmm(theta[:, None, first : first + HIDDEN], rows[..., :10], inner.mT))
        found = (hidden @ theta[:, first + HIDDEN : first + 2 * HIDDEN, None])[..., 0] + theta[:, -1:]
        return -0.5 * (theta**2).sum() - scale * ((found - rows[..., 10]) ** 2).sum()

    return {"double-well": well, "gaussian-mean": mean, "logistic-regression": logistic, "network": network}[
        name
    ]
