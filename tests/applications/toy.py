"""An application that is no model of a paper: a Gaussian on which SGLD runs, for tests of what all applications share."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from reports.applications import keeping, registry
from reports.applications.application import Application, Job, Option
from reports.applications.chains import ChainRecorder, ChainRun, ChainSetting, SampledModel
from reports.applications.result import AdviceBeside, AppFindings, PaperFinding
from reports.applications.samplers_checked import checked
from reports.applications.statistics import mean_of
from sgverify.evidence import Panel, Series, Study
from sgverify.schemes import find_scheme

STEPS = 40
KILLED_AT = "TOY_KILLED_AT"


class Toy(SampledModel):
    dim, far = 2, 1e6

    def start(self, chains: range) -> Tensor:
        return torch.ones((1, len(chains), 2), dtype=torch.float64)

    def gradient(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        return theta + np.cos(step)


class Sum(ChainRecorder):
    at = range(1, STEPS + 1)

    def __init__(self) -> None:
        self.total = np.zeros(())

    def see(self, number: int, state: dict[str, Tensor], alive: np.ndarray) -> None:
        self.total = self.total + np.where(alive, state["theta"].numpy().sum(-1), np.nan)
        if os.environ.get(KILLED_AT) == str(number):
            os.kill(os.getpid(), signal.SIGKILL)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"total": self.total}

    def resume(self, arrays: dict[str, np.ndarray]) -> None:
        self.total = arrays["total"]


def run(job: Job) -> AppFindings:
    settings = [ChainSetting(step) for step in job.settings["step"]]
    scheme, rows, diverged = find_scheme("sgld-euler"), [], []
    for part in ("first", "second"):
        chains = ChainRun(scheme, Toy(), settings, steps=STEPS, seed=job.seed, chains=job.seeds)
        seen = Sum()
        chains.run(seen, kept=job.kept, part=part, tell=lambda done, part=part: job.tell(part, done, STEPS))
        diverged += chains.diverged()
        for setting, values in zip(settings, seen.total, strict=True):
            mean = mean_of(values)
            rows.append({"part": part, "setting": str(setting), "mean": mean and mean.value})
    means = tuple(row["mean"] for row in rows[: len(settings)])
    curve = Series("SGLD", "sampled", tuple(job.settings["step"]), means)
    panel = Panel("Sum against step", "h", "sum", (curve,), y_scale="linear")
    return AppFindings(
        summary="A sum of a Gaussian's draws.",
        data={"size": 0},
        samplers=checked([scheme], ["local-order"]),
        rows=tuple(rows),
        findings=(
            PaperFinding(
                statement="The sum is small",
                source="nowhere",
                printed="0",
                found=f"{means[0]:.3g}",
                verdict="undecided",
                reason="Nothing is printed.",
            ),
        ),
        advice=(
            AdviceBeside(
                sampler="sgld-euler", applies=False, approximation="none", answer="a toy", grid="h = 0.1"
            ),
        ),
        diverged=tuple(diverged),
        not_tested=("anything else",),
        studies=(Study("toy/sum", "The sum", "nowhere", "A sum.", (panel,)),),
    )


DECLARED = Application(
    name="toy",
    title="A toy",
    summary="Sample a Gaussian.",
    source="nowhere",
    minutes=0.01,
    run=f"{__name__}:run",
    options=(
        Option("step", float, (0.1, 0.2), "The steps.", many=True, least=1e-9, most=1e4, quick=(0.1,)),
        Option("corpus", str, None, "A file.", metavar="FILE"),
    ),
)


def install() -> None:
    """Make the toy known by its name, in this process."""
    sys.modules["reports.applications.toy"] = sys.modules[__name__]
    registry.APPLICATIONS = (*registry.APPLICATIONS, "toy")
    keeping.OFTEN, keeping.SHARE = 0.0, 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    install()
    from reports.applications.__main__ import main

    sys.exit(main(sys.argv[1:]))
