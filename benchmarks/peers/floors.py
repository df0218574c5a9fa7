"""What a step cannot do without, and nothing else: its random numbers, the gathering of its data, its matrix products, by torch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from benchmarks.peers.problems import BATCH, HIDDEN, SIZE, Absent, Answer, Task


def make(task: Task) -> Callable[[int], Answer]:
    """The floor of a problem; raises `Absent` for one chain, where the calls of torch would be measured."""
    if task.chains < 100:
        raise Absent("one chain: the calls of torch alone would be measured")
    torch.set_num_threads(1)
    problem, chains = task.problem, task.chains
    replicas = max(1, len(problem.ladder))
    theta = torch.from_numpy(task.starts()).repeat(replicas, 1)
    noise = torch.empty_like(theta)
    data = torch.from_numpy(task.data())
    x = data[:, :-1].contiguous() if problem.kind == "full" else data
    # Replicas share the minibatch of a swap's energies, and that on which their noise is measured.
    shared = {"vr-resgld": 1, "resgld": 2}.get(problem.name, 0)
    minibatches = {"full": 0}.get(problem.kind, replicas + shared)
    inner, outer = torch.empty(chains, 10, HIDDEN), torch.empty(chains, HIDDEN, 1)

    def run(steps: int) -> Answer:
        with torch.no_grad():
            for _ in range(steps):
                noise.normal_()
                for _ in range(minibatches):
                    rows = data[torch.randint(SIZE, (chains, BATCH))]
                if problem.name == "logistic-full":
                    (theta @ x.T) @ x
                elif problem.name == "network":
                    # Forward through both layers, back through the second, and the gradient of each.
                    hidden = rows[..., :10] @ inner
                    (hidden @ outer) @ outer.mT
                    rows[..., :10].mT @ hidden
                    hidden.mT @ rows[..., 10:]
        return Answer(steps, np.zeros(chains), np.zeros((chains, 1)))

    return run
