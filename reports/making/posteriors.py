"""The step sizes that `sample` warns of on six real posteriors, held against runs. Writes posteriors/posteriors.json and .md.

`python -m reports posteriors --data FOLDER` reads data and reference answers of posteriordb from FOLDER (wells.json, kidiq.json,
sblri.json, arK.json, low_dim_gauss_mix.json, eight_schools.json); they are no part of this repository. Each posterior is
run with minibatches at the default step and at the one that the warning names. A positive parameter is sampled as its
logarithm and a share as its logit, with the Jacobian.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import sgverify
import sgverify.errors
from sgverify.advice.closure.gaussian_closure import GaussianClosure
from sgverify.configuration import load_configuration
from sgverify.draws.sampling import Sampling
from sgverify.keeping.files import json_text, write_atomically
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from sgverify.targets.own.log_density import LogDensity

FOLDER = Path(__file__).parents[1] / "posteriors"
CHAINS = 100
SCHEMES = ("sgld-euler", "sghmc-baoab")


@dataclass(frozen=True)
class Posterior:
    """A log density with data; `names` are the reference's names of its coordinates, None where it is transformed."""

    density: LogDensity
    batch: int
    names: tuple[str | None, ...]


def normal(x: Tensor, mean: Tensor | float, log_sd: Tensor | float) -> Tensor:
    """log N(x; mean, sd^2) up to a constant."""
    return -(((x - mean) * torch.exp(-torch.as_tensor(log_sd))) ** 2) / 2 - log_sd


def wells(data: dict[str, Any]) -> Posterior:
    """Logistic regression on four columns."""
    dist, educ = np.array(data["dist"]) / 100, np.array(data["educ"]) / 4
    x = np.stack([np.ones_like(dist), dist, np.array(data["arsenic"], dtype=float), educ], axis=1)
    signs = 2.0 * np.array(data["switched"]) - 1

    @sgverify.log_density(dim=4, data=(x, signs), log_prior=lambda theta: -(theta**2).sum(-1) / 2)
    def density(theta: Tensor, x: Tensor, sign: Tensor) -> Tensor:
        return torch.nn.functional.logsigmoid(sign * (x * theta).sum(-1))

    return Posterior(density, 32, tuple(f"theta[{i}]" for i in range(4)))


def regression(
    x: np.ndarray, y: np.ndarray, log_prior: Callable[[Tensor], Tensor], names: tuple[str, ...], batch: int
) -> Posterior:
    """y ~ N(x beta, sigma^2), the last coordinate log sigma."""

    @sgverify.log_density(dim=x.shape[1] + 1, data=(x, y), log_prior=log_prior)
    def density(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return normal(y, (x * theta[..., :-1]).sum(-1), theta[..., -1])

    return Posterior(density, batch, (*names, None))


def kidiq(data: dict[str, Any]) -> Posterior:
    """A line with a badly scaled slope, sigma ~ half-Cauchy(0, 2.5)."""
    iq = np.array(data["mom_iq"], dtype=float)
    x, y = np.stack([np.ones_like(iq), iq], axis=1), np.array(data["kid_score"], dtype=float)

    def log_prior(theta: Tensor) -> Tensor:
        return -torch.log1p((torch.exp(theta[..., -1]) / 2.5) ** 2) + theta[..., -1]

    return regression(x, y, log_prior, ("beta[1]", "beta[2]"), 32)


def sblri(data: dict[str, Any]) -> Posterior:
    """Linear regression in five columns, sigma ~ half-N(0, 10^2)."""

    def log_prior(theta: Tensor) -> Tensor:
        beta, log_sigma = theta[..., :-1], theta[..., -1]
        return -((beta / 10) ** 2).sum(-1) / 2 - (torch.exp(log_sigma) / 10) ** 2 / 2 + log_sigma

    return regression(
        np.array(data["X"]), np.array(data["y"]), log_prior, tuple(f"beta[{i}]" for i in range(1, 6)), 10
    )


def ark(data: dict[str, Any]) -> Posterior:
    """An autoregression of order K, sigma ~ half-Cauchy(0, 2.5)."""
    y, k = np.array(data["y"], dtype=float), data["K"]
    lagged = [y[k - lag : len(y) - lag] for lag in range(1, k + 1)]
    x = np.stack([np.ones(len(y) - k), *lagged], axis=1)

    def log_prior(theta: Tensor) -> Tensor:
        beta, log_sigma = theta[..., :-1], theta[..., -1]
        return -((beta / 10) ** 2).sum(-1) / 2 - torch.log1p((torch.exp(log_sigma) / 2.5) ** 2) + log_sigma

    return regression(x, y[k:], log_prior, ("alpha", *(f"beta[{i}]" for i in range(1, k + 1))), 20)


def mixture(data: dict[str, Any]) -> Posterior:
    """Two normal components, mu1 < mu2 as mu1 and log(mu2 - mu1), log sigmas, logit of the share."""

    def log_prior(theta: Tensor) -> Tensor:
        mu1, gap, s1, s2, a = theta.unbind(-1)
        mu2 = mu1 + torch.exp(gap)
        sigmas = -((torch.exp(s1) ** 2 + torch.exp(s2) ** 2) / 8) + s1 + s2
        share = 5 * (torch.nn.functional.logsigmoid(a) + torch.nn.functional.logsigmoid(-a))
        return -(mu1**2 + mu2**2) / 8 + gap + sigmas + share

    def start() -> list[float]:
        y = np.array(data["y"])
        low, high = y[y < y.mean()], y[y >= y.mean()]
        share = len(low) / len(y)
        gap = high.mean() - low.mean()
        found = [
            low.mean(),
            math.log(gap),
            math.log(low.std()),
            math.log(high.std()),
            math.log(share / (1 - share)),
        ]
        return [float(value) for value in found]

    @sgverify.log_density(dim=5, data=np.array(data["y"]), log_prior=log_prior, location=start())
    def density(theta: Tensor, y: Tensor) -> Tensor:
        mu1, gap, s1, s2, a = theta.unbind(-1)
        low = torch.nn.functional.logsigmoid(a) + normal(y, mu1, s1)
        high = torch.nn.functional.logsigmoid(-a) + normal(y, mu1 + torch.exp(gap), s2)
        return torch.logaddexp(low, high)

    return Posterior(density, 32, ("mu[1]", None, None, None, None))


def eight_schools(data: dict[str, Any]) -> Posterior:
    """The funnel in its centred form: theta_j ~ N(mu, tau^2), tau ~ half-Cauchy(0, 5)."""
    y, sigma = np.array(data["y"], dtype=float), np.array(data["sigma"], dtype=float)
    which = np.eye(len(y))

    def log_prior(theta: Tensor) -> Tensor:
        mu, log_tau = theta[..., -2], theta[..., -1]
        schools = normal(theta[..., :-2], mu[..., None], log_tau[..., None]).sum(-1)
        return schools - (mu / 5) ** 2 / 2 - torch.log1p((torch.exp(log_tau) / 5) ** 2) + log_tau

    rows = np.concatenate([which, y[:, None], sigma[:, None]], axis=1)

    @sgverify.log_density(dim=len(y) + 2, data=rows, log_prior=log_prior)
    def density(theta: Tensor, row: Tensor) -> Tensor:
        mean = (row[..., : len(y)] * theta[..., : len(y)]).sum(-1)
        return -(((row[..., -2] - mean) / row[..., -1]) ** 2) / 2

    return Posterior(density, 4, (*(f"theta[{j}]" for j in range(1, 9)), "mu", None))


POSTERIORS: dict[str, Callable[[dict[str, Any]], Posterior]] = {
    "wells": wells,
    "kidiq": kidiq,
    "sblri": sblri,
    "arK": ark,
    "low_dim_gauss_mix": mixture,
    "eight_schools": eight_schools,
}


MOST_STEPS, FEWEST_TIMES, TIMES = 20_000, 20, 40
"""A run is this many times as long as its slowest direction takes to forget; it is not made where that is too long."""

SETTLED = 5
"""A run that is shorter, in times of forgetting, has hardly left its start in every direction."""


def forgetting(subject: Subject, step: float) -> float | None:
    """Steps in which the slowest direction forgets, 1/(1 - spectral radius) of the predicted chain; None where there is none."""
    try:
        chain = GaussianClosure(subject).law(step).chain
    except sgverify.errors.InstabilityError:
        return None
    return None if chain is None else chain.forgetting


def rows_of(name: str, posterior: Posterior, reference: dict[str, Any]) -> list[dict[str, Any]]:
    """What is told of the default step and of the step that the warning names, beside runs at both."""
    found = []
    for scheme in SCHEMES:
        step: float | None = None
        for asked in ("default", "named"):
            if asked == "named" and step is None:
                continue
            row, step = run(name, scheme, posterior, reference, asked, step)
            found.append(row)
            print(row, flush=True)
    return found


def run(
    name: str, scheme: str, posterior: Posterior, reference: dict[str, Any], asked: str, step: float | None
) -> tuple[dict[str, Any], float | None]:
    """One row, at a step or at the default one, and the step that its warning names."""
    settings: dict[str, Any] = {
        "gradient": {"kind": "iid", "batch": posterior.batch},
        "chains": CHAINS,
        "start": 0.0,
    }
    settings["schedule"] = {"step": step or default_step(scheme, settings, posterior)}
    told = Sampling.of(scheme, load_configuration(settings), target=posterior.density, energy=False)
    bias = told.step_bias
    place = 0 if bias is None else bias.coordinate
    slow = forgetting(told.subject, told.ensemble.rows[0].at(1))
    row: dict[str, Any] = {
        "posterior": name,
        "scheme": scheme,
        "batch": posterior.batch,
        "asked": asked,
        "step": told.ensemble.rows[0].at(1),
        "forgets": slow,
        "told": None,
        "distrust": None if bias is None else bias.distrust,
        "measured": None,
    }
    if bias is None or not bias.factors or slow is None:
        return row, None
    known = posterior.names[place]
    row |= {
        "coordinate": place,
        "told": bias.found / bias.true,
        "true_sd": bias.true,
        "reference_sd": None if known is None else reference[known]["sd"],
    }
    length = min(MOST_STEPS, math.ceil(TIMES * slow))
    if length < FEWEST_TIMES * slow:
        row["not_run"] = f"{FEWEST_TIMES * slow:.2g} steps at least"
        return row, bias.better
    length = max(length, 400)
    started = time.process_time()
    try:
        draws = sgverify.sample(
            scheme,
            settings | {"steps": length, "burn_in": length // 5, "thinning": max(1, length // 2000)},
            target=posterior.density,
            energy=False,
        )
    except sgverify.errors.InstabilityError as error:
        row["not_run"] = str(error).partition(";")[0]
        return row, bias.better
    if draws.attrs["diverged"]:
        row["not_run"] = f"a chain diverged at step {draws.attrs['steps_done']}"
        return row, bias.better
    theta = draws["posterior"]["theta"].values[..., place]
    squares = ((theta - theta.mean()) ** 2).mean(axis=1)
    sd = math.sqrt(squares.mean())
    row["measured"] = sd / bias.true
    row["standard_error"] = float(squares.std(ddof=1) / math.sqrt(len(squares)) / (2 * sd)) / bias.true
    row["steps"], row["seconds"] = length, time.process_time() - started
    return row, bias.better


def default_step(scheme: str, settings: dict[str, Any], posterior: Posterior) -> float:
    """The default step, which `sample` does not take where it proposes another."""
    subject = make_subject(scheme, load_configuration(settings))
    vars(subject)["target"] = posterior.density.target()
    return subject.usual_step


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = [
        "# Step sizes on six real posteriors: what `sample` says, and what runs do",
        "",
        "Written by `python -m reports posteriors --data FOLDER`. `told` is the standard deviation of the worst coordinate of the",
        "draws over that of the target, as `sgverify sample` says it before it draws (an approximation, see",
        f"`sgverify/advice/closure`); `run` is the same of {CHAINS} chains, with its standard error. `named` is the",
        "step that the warning names, which is to keep the spread within 5 %. Data and reference answers: posteriordb. A run is",
        f"not equilibrated where it is shorter than {SETTLED} times the steps in which its slowest direction forgets its start, as",
        "predicted: its widths are then not those of the chain's law. `advised.md` has runs that are as long as they need to be.",
        "",
        "| posterior | scheme | step | told | run | sd of the target / reference | remark |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    for row in rows:
        told = "-" if row["told"] is None else f"{row['told']:.3f}"
        measured = "-" if row["measured"] is None else f"{row['measured']:.3f} ± {row['standard_error']:.3f}"
        reference = row.get("reference_sd")
        ratio = "-" if not reference else f"{row['true_sd'] / reference:.3f}"
        remark = row.get("distrust") or (f"not run: {row['not_run']}" if row.get("not_run") else "")
        if row["measured"] is not None and row["steps"] < SETTLED * (row["forgets"] or 0):
            remark = f"not equilibrated: {row['steps']:,} steps, and the slowest direction forgets in {row['forgets']:,.0f}"
        if row.get("distrust"):
            told, remark = f"({told})" if row["told"] else "-", f"said not to be trusted here: {remark}"
        step = f"{row['step']:.3g} ({row['asked']})"
        lines.append(
            f"| {' | '.join((row['posterior'], row['scheme'], step, told, measured, ratio, remark))} |"
        )
    return "\n".join(lines) + "\n"


def render(folder: Path) -> None:
    """Write FOLDER/posteriors/posteriors.md from the rows beside it."""
    stored = json.loads((folder / "posteriors" / "posteriors.json").read_text())
    write_atomically(folder / "posteriors" / "posteriors.md", table(stored))


def main(arguments: Sequence[str]) -> None:
    """Run the posteriors of a folder, all or those named after it, and write the table with what it held of the others."""
    torch.set_num_threads(1)
    folder, *names = arguments
    FOLDER.mkdir(exist_ok=True)
    stored = FOLDER / "posteriors.json"
    rows: list[dict[str, Any]] = json.loads(stored.read_text()) if stored.exists() else []
    for name in names or POSTERIORS:
        given = json.loads((Path(folder) / f"{name}.json").read_text())
        found = rows_of(name, POSTERIORS[name](given["data"]), given["reference"])
        rows = sorted([row for row in rows if row["posterior"] != name] + found, key=_place)
        write_atomically(stored, json_text(rows))
        write_atomically(FOLDER / "posteriors.md", table(rows))


def _place(row: dict[str, Any]) -> int:
    return list(POSTERIORS).index(row["posterior"])


if __name__ == "__main__":
    main(sys.argv[1:])
