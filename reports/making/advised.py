"""What `sgverify advise` predicts on six real posteriors, held against runs. Writes posteriors/advised.json and .md.

`python -m reports advised --data FOLDER` reads the data as `posteriors` does. On each posterior the advised plan for an error of
5 % is run, and for 15 % the cheapest plan of every scheme and the cheapest with plain minibatches, so that there are biases to
find. A run has as many chains and steps as the predicted autocorrelations ask for: the Monte Carlo error of a standard deviation is
a fifth of its predicted bias where that exceeds 3 %. True means and standard deviations come from importance sampling.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

import sgverify
import sgverify.errors
from reports.making.posterior_models import OF_POSTERIORDB, Posterior
from reports.making.posteriors import FOLDER
from sgverify.advice.chain_laws import ClosureLaws, StationaryMoments
from sgverify.advice.plans import Advice, Plan
from sgverify.advice.plans.model import FORGOTTEN
from sgverify.configuration import load_configuration
from sgverify.keeping.files import json_text, write_atomically
from sgverify.samplers.importance.averages import draw_weighted
from sgverify.subject.subject import Subject

ADVISED, COARSE = 0.05, 0.15
"""The errors for which plans are asked."""

TOLD, FACTOR, CLOSE = 0.03, 1.25, 0.05
"""From which bias of a standard deviation on prediction and run have to agree, and within which factor; and a mean's error."""

PRECISIONS = ((0.06, 0.006, 0.01), (0.15, 0.013, 0.02), (0.19, 0.02, 0.03), (0.19, 0.03, 0.05))
"""Monte Carlo errors that a run is made for: the share of a bias that is told, those of other standard deviations, those of means.

The first that is not too long, the finest only where it takes a tenth of that.
"""

SEEN = 0.015
"""The standard error of a standard deviation up to which a run is evidence for a bias below `TOLD`."""

FEWEST, MOST = 64, 2000
"""Chains: enough for a standard error from their spread, and no more than are quicker together."""

TIMES = 30
"""Steps of a chain over those in which it forgets, if the chains may be as many as they need."""

MOST_GRADIENTS = {"quick": 1e8, "default": 1e9, "full": 1e10}
"""Gradients of single data of one run; a run that needs more is not made."""


def subject_of(plan: Plan, posterior: Posterior) -> Subject:
    """The subject that a plan describes."""
    subject = Subject(sgverify.find_scheme(plan.scheme), load_configuration(settings_of(plan)), plan.scheme)
    vars(subject)["target"] = posterior.density.target()
    return subject


def settings_of(plan: Plan) -> dict[str, Any]:
    """The configuration of a plan, without chains and steps."""
    gradient = {"kind": plan.gradient, **({} if plan.batch is None else {"batch": plan.batch})}
    friction = {} if plan.friction is None else {"friction": plan.friction}
    return {"gradient": gradient, "schedule": {"step": plan.step}, **friction}


def plans_of(posterior: Posterior) -> Iterator[tuple[float, Plan | Advice]]:
    """The plans that are run, each with the error that it is for; an advice where nothing is to be trusted."""
    advised = sgverify.advise(posterior.density, error=ADVISED)
    if advised.best is None:
        yield ADVISED, advised
        return
    yield ADVISED, advised.best
    coarse = sgverify.advise(posterior.density, error=COARSE)
    seen = {_settings(advised.best)}
    found: set[tuple[str, bool]] = set()
    for plan in coarse.plans:
        # Of each scheme the cheapest, and the cheapest of all with plain minibatches.
        plain = plan.gradient == "iid"
        key = ("", True) if plain else (plan.scheme, False)
        if key not in found and _settings(plan) not in seen:
            found.add(key)
            yield COARSE, plan


def truth(posterior: Posterior) -> dict[str, Any]:
    """Means and standard deviations under the posterior, with the largest standard error of both in standard deviations."""
    draws = draw_weighted(posterior.density.target(), 1.0)
    means, sds, errors = [], [], []
    for column in draws.points.T:
        mean = draws.average_of(column)
        variance = draws.average_of((column - mean.value) ** 2)
        sd = math.sqrt(variance.value)
        means.append(mean.value)
        sds.append(sd)
        errors += [mean.standard_error / sd, variance.standard_error / (2 * sd**2)]
    return {
        "mean": means,
        "sd": sds,
        "standard_error": max(errors),
        "effective": draws.share,
        "draws": draws.count,
    }


def lengths(plan: Plan, moments: StationaryMoments, target: StationaryMoments, effort: str) -> dict[str, Any]:
    """Chains, steps and burn-in of a run, from the predicted autocorrelations; or the gradients that it would take."""
    chain = moments.chain
    assert chain is not None
    bias, gradients = np.abs(moments.sd / target.sd - 1), 0.0
    for share, elsewhere, of_a_mean in PRECISIONS:
        wanted = np.where(bias > TOLD, share * bias, elsewhere)
        of_sds = chain.square_variance / (2 * moments.sd * target.sd) ** 2 / wanted**2
        of_means = chain.mean_variance / target.sd**2 / of_a_mean**2
        steps = float(max(of_sds.max(), of_means.max()))
        burn_in = math.ceil(chain.forgetting * math.log(1 / (FORGOTTEN * elsewhere)))
        chains = int(min(MOST, max(FEWEST, steps / (TIMES * chain.forgetting))))
        length = burn_in + math.ceil(steps / chains)
        gradients = length * chains * plan.gradients_per_step
        most = MOST_GRADIENTS[effort] * (0.1 if share == PRECISIONS[0][0] else 1.0)
        if gradients <= most:
            return {"chains": chains, "steps": length, "burn_in": burn_in}
    return {"not_run": f"{gradients:.2g} gradients of single data would be needed"}


def row_of(
    name: str, error: float, plan: Plan, posterior: Posterior, true: dict[str, Any], effort: str
) -> dict[str, Any]:
    """One plan: predicted biases, and those of a run with their standard errors."""
    laws = ClosureLaws(subject_of(plan, posterior))
    moments, target = laws.at(plan.step), laws.target
    row: dict[str, Any] = {
        "posterior": name,
        "for_error": error,
        "scheme": plan.scheme,
        "gradient": plan.label,
        "friction": plan.friction,
        "step": plan.step,
        "predicted_mean": [float(value) for value in (moments.mean - target.mean) / target.sd],
        "predicted_sd": [float(value) for value in moments.sd / target.sd - 1],
    }
    run = lengths(plan, moments, target, effort)
    row |= run
    if "not_run" in run:
        return row
    kept = max(1, (run["steps"] - run["burn_in"]) // max(20, 4_000_000 // (run["chains"] * len(target.sd))))
    started = time.process_time()
    try:
        draws = sgverify.sample(
            plan.scheme,
            {**settings_of(plan), **run, "start": 0.0, "thinning": kept},
            target=posterior.density,
            energy=False,
        )
    except sgverify.errors.InstabilityError as fault:
        return row | {"not_run": str(fault).partition(";")[0]}
    if draws.attrs["diverged"]:
        return row | {"not_run": f"a chain diverged at step {draws.attrs['steps_done']}"}
    theta = draws["posterior"]["theta"].values
    return row | found(theta, true) | {"seconds": time.process_time() - started}


def found(theta: np.ndarray, true: dict[str, Any]) -> dict[str, Any]:
    """The biases of draws and their standard errors, from the spread of independent chains. Shape (chains, draws, d)."""
    mean, sd = np.array(true["mean"]), np.array(true["sd"])
    centre = theta.mean((0, 1))
    squares = ((theta - centre) ** 2).mean(1)
    width, chains = np.sqrt(squares.mean(0)), math.sqrt(len(theta))
    of_mean = theta.mean(1).std(0, ddof=1) / chains / sd
    of_sd = squares.std(0, ddof=1) / chains / (2 * width * sd)
    return {
        "found_mean": ((centre - mean) / sd).tolist(),
        "found_sd": (width / sd - 1).tolist(),
        "error_of_mean": np.hypot(of_mean, true["standard_error"]).tolist(),
        "error_of_sd": np.hypot(of_sd, true["standard_error"]).tolist(),
    }


def agreement(row: dict[str, Any]) -> list[str]:
    """What of a run is not as predicted, in words; empty where all is."""
    said = []
    for i, (told, seen, error) in enumerate(
        zip(row["predicted_sd"], row["found_sd"], row["error_of_sd"], strict=True)
    ):
        if max(abs(told), abs(seen) - 3 * error) > TOLD:
            low, high = sorted((told / FACTOR, told * FACTOR))
            # Of a bias about 3 % the same in absolute terms, where prediction and run lie on both sides of it.
            slack = TOLD * (FACTOR - 1)
            off = max(min(low, told - slack) - seen, seen - max(high, told + slack), 0.0)
            if off > 3 * error:
                said.append(f"sd[{i}]: predicted {told:+.1%}, found {seen:+.1%} +- {error:.1%}")
            elif off > 0:
                said.append(f"sd[{i}]: not decided, predicted {told:+.1%}, found {seen:+.1%} +- {error:.1%}")
    for i, (told, seen, error) in enumerate(
        zip(row["predicted_mean"], row["found_mean"], row["error_of_mean"], strict=True)
    ):
        if abs(seen) > CLOSE + 3 * error and abs(seen - told) > 3 * error + abs(told) * (FACTOR - 1):
            said.append(f"mean[{i}]: predicted {told:+.1%}, found {seen:+.1%} +- {error:.1%}")
    return said


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = [
        "# What `sgverify advise` predicts on six real posteriors, and what runs find",
        "",
        "Written by `python -m reports advised --data FOLDER`. For an error of 5 % the advised plan is run, for 15 % the cheapest",
        "one of each scheme and the cheapest with plain minibatches. `sd` is the relative bias of a standard deviation of theta,",
        "`mean` that of a mean in standard deviations: each of the coordinate where predicted or found is largest, predicted /",
        f"found with its standard error. They agree where every sd whose bias exceeds {TOLD:.0%} is predicted within a",
        f"factor of {FACTOR:g}, and every mean is found within {CLOSE:.0%} of an sd and 3 standard errors, or is predicted. True",
        "values: importance sampling.",
        "",
        "| posterior | error | scheme | gradient | friction | step | sd: predicted / found | mean: predicted / found | agree |",
        "|---|--:|---|---|--:|--:|--:|--:|---|",
    ]
    for row in rows:
        if "distrust" in row:
            said = f"not to be trusted here: {row['distrust']}"
            lines.append(f"| {row['posterior']} | {row['for_error']:.0%} |{' - |' * 6} {said} |")
            continue
        friction = "-" if row["friction"] is None else f"{row['friction']:.3g}"
        cells = [
            row["posterior"],
            f"{row['for_error']:.0%}",
            row["scheme"],
            row["gradient"],
            friction,
            f"{row['step']:.3g}",
        ]
        if "not_run" in row:
            cells += [
                f"{_largest(row['predicted_sd']):+.1%} / -",
                f"{_largest(row['predicted_mean']):+.1%} / -",
            ]
            cells.append(f"not run: {row['not_run']}")
        else:
            cells += [_pair(row, "sd"), _pair(row, "mean"), "; ".join(agreement(row)) or _agrees(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def render(folder: Path) -> None:
    """Write FOLDER/posteriors/advised.md from the rows beside it."""
    stored = json.loads((folder / "posteriors" / "advised.json").read_text())
    write_atomically(folder / "posteriors" / "advised.md", table(stored))


def main(arguments: Sequence[str], effort: str = "default") -> None:
    """Run the plans on the posteriors of a folder, all or those named after it; rows of the others stay."""
    torch.set_num_threads(1)
    logging.getLogger("sgverify").setLevel(logging.ERROR)
    folder, *names = arguments
    stored = FOLDER / "advised.json"
    rows: list[dict[str, Any]] = json.loads(stored.read_text()) if stored.exists() else []
    for name in names or OF_POSTERIORDB:
        given = json.loads((Path(folder) / f"{name}.json").read_text())
        posterior = OF_POSTERIORDB[name](given["data"])
        new: list[dict[str, Any]] = []
        true: dict[str, Any] | None = None
        for error, plan in plans_of(posterior):
            if isinstance(plan, Advice):
                new.append({"posterior": name, "for_error": error, "distrust": plan.distrust})
                continue
            true = true or truth(posterior)
            new.append(row_of(name, error, plan, posterior, true, effort))
            print({key: value for key, value in new[-1].items() if not isinstance(value, list)}, flush=True)
        rows = sorted([row for row in rows if row["posterior"] != name] + new, key=_place)
        write_atomically(stored, json_text(rows))
        write_atomically(FOLDER / "advised.md", table(rows))


def _settings(plan: Plan) -> tuple[Any, ...]:
    return plan.scheme, plan.gradient, plan.batch, plan.friction, plan.step


def _agrees(row: dict[str, Any]) -> str:
    """Agreement, and how little is seen where a run is short."""
    error = max(row["error_of_sd"])
    return "yes" if error <= SEEN else f"not contradicted, but standard errors of sds are up to {error:.1%}"


def _largest(values: Sequence[float]) -> float:
    return max(values, key=abs)


def _pair(row: dict[str, Any], kind: str) -> str:
    told, seen, error = (row[f"{what}_{kind}"] for what in ("predicted", "found", "error_of"))
    place = max(range(len(told)), key=lambda i: max(abs(told[i]), abs(seen[i])))
    return f"{told[place]:+.1%} / {seen[place]:+.1%} ± {error[place]:.1%}"


def _place(row: dict[str, Any]) -> int:
    return list(OF_POSTERIORDB).index(row["posterior"])


if __name__ == "__main__":
    main(sys.argv[1:])
