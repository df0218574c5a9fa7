"""sgverify itself: averages by `sgverify.samplers.sample`, draws by the public `sgverify.sample`, as its defaults have it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import torch

from benchmarks.peers.problems import EDGES, FRICTION, HIDDEN, Answer, Problem, Task
from sgverify.errors import ConfigurationError


def make(task: Task) -> Callable[[int], Answer]:
    """A run by the fastest way that there is."""
    return _draws(task) if task.thinning else _averages(task)


def _averages(task: Task) -> Callable[[int], Answer]:
    from sgverify.samplers import GradientChoice, Settings, fixed, sample
    from sgverify.samplers.composites.exchange import ExchangeChoice
    from sgverify.schemes import find_scheme
    from sgverify.schemes.composites.adaptation import PartitionChoice
    from sgverify.schemes.composites.composite import COMPOSITES

    problem, seeds, target = task.problem, count(1), target_of(task.problem)
    scheme: Any = COMPOSITES.get(problem.scheme) or find_scheme(problem.scheme)
    how = ["kernel"]

    def once(steps: int, seed: int) -> Any:
        settings = Settings(
            chains=task.chains,
            seed=seed,
            dtype=task.dtype,
            start=0.0,
            friction=FRICTION,
            gradient=GradientChoice(problem.kind),
            compiled=how[0],
            exchange=ExchangeChoice(ladder=problem.ladder) if problem.ladder else None,
            partition=PartitionChoice(edges=EDGES) if problem.name == "csgld" else None,
        )
        return sample(
            scheme,
            target,
            fixed([problem.h], [steps]),
            observables=[lambda theta, *_: theta[..., 0] ** 2],
            settings=settings,
        )

    try:
        once(20, 0)
    except ConfigurationError:
        how[0] = "auto"

    def run(steps: int) -> Answer:
        found = once(steps, next(seeds))
        # Replicas side by side: shape (rows, C, d) becomes (C, rows d).
        last = np.moveaxis(found.last["theta"], 0, 1).reshape(task.chains, -1)
        return Answer(steps, found.values[0, 0, 0], last)

    run.note = how[0]  # type: ignore[attr-defined]
    return run


def _draws(task: Task) -> Callable[[int], Answer]:
    import sgverify

    problem, seeds, target = task.problem, count(1), target_of(task.problem)

    def run(steps: int) -> Answer:
        draws: Any = sgverify.sample(
            problem.scheme,
            target=target,
            chains=task.chains,
            steps=steps,
            thinning=task.thinning,
            seed=next(seeds),
            dtype=task.dtype,
            start=0.0,
            friction=FRICTION,
            gradient={"kind": problem.kind},
            schedule={"kind": "fixed", "step": problem.h},
        )
        theta = np.asarray(draws["posterior"]["theta"])
        return Answer(steps, np.square(theta[:, :, 0], dtype=np.float64).mean(1), theta[:, -1])

    return run


def target_of(problem: Problem) -> Any:
    """The target; a network is one of `module_target`."""
    if problem.target != "network":
        return problem.made
    from sgverify import module_target

    module = torch.nn.Sequential(torch.nn.Linear(10, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 1))
    torch.nn.utils.vector_to_parameters(torch.tensor(problem.start, dtype=torch.float32), module.parameters())
    data = torch.tensor(problem.data, dtype=torch.float32)
    return module_target(module, torch.nn.MSELoss(reduction="sum"), data=(data[:, :10], data[:, 10:]))
