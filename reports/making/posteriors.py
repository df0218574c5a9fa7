"""What the package says of 19 posteriors and three tables by each route, held against runs. Writes posteriors/posteriors.*

`python -m reports posteriors --data FOLDER` reads data of posteriordb from FOLDER (`posterior_models`); they are no part of this
repository. A route is a scheme with its own step, its gradients, and its coordinates; the last one runs the plan of
`sgverify.advise` as printed. Truth: `posterior_truth`, kept in posteriors/truth.json.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

import sgverify
import sgverify.errors
from reports.making.posterior_models import FILES, POSTERIORS, Posterior, read
from reports.making.posterior_truth import truth
from sgverify.keeping.files import json_text, write_atomically

FOLDER = Path(__file__).parents[1] / "posteriors"

CHAINS, STEPS = 32, 1500

PLANNED = ("sgld-euler", "sghmc-baoab")
"""The schemes whose plans with full gradients are compared; `advised` has those with minibatches."""

TOLD, WRONG, PROMISE = 0.10, 0.20, 0.05
"""The bars: told widths within this share of the true ones; an error of a standard deviation that no TRUST may have; a plan's."""

LONGEST = 20.0
"""Seconds of a plan by its first steps, beyond which it is not run."""

MOST_KEPT = 4_000_000


def routes(posterior: Posterior) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(name, scheme, settings)."""
    yield "log density", "sghmc-baoab", {}
    yield "log density", "sgld-euler", {}
    yield "whitened", "sghmc-baoab", {"target.whiten": True}
    if posterior.batch is not None:
        yield (
            f"batches of {posterior.batch}",
            "sgld-euler",
            {"gradient": {"kind": "iid", "batch": posterior.batch}},
        )


def row_of(
    name: str, route: str, scheme: str, settings: dict[str, Any], true: dict[str, Any], target: Any
) -> dict[str, Any]:
    """One run: what is told of it, and what is found."""
    row: dict[str, Any] = {"posterior": name, "route": route, "scheme": scheme}
    started = time.process_time()
    try:
        draws = sgverify.sample(scheme, settings, target=target, energy=False)
    except sgverify.errors.SgverifyError as error:
        return row | {"word": "refused", "reason": str(error), "seconds": time.process_time() - started}
    verdict = json.loads(draws.attrs["verdict_json"]) if "verdict_json" in draws.attrs else {}
    row |= {
        "step": draws.attrs["step_size"],
        "seconds": time.process_time() - started,
        "word": verdict.get("word", "-"),
        "reason": verdict.get("reason", ""),
        "next": verdict.get("next", ""),
        "choice": draws.attrs.get("step_choice", ""),
    }
    if draws.attrs["diverged"]:
        return row | {"diverged": draws.attrs["diverged"]}
    known = verdict.get("width") is not None
    bias = draws.attrs.get("step_bias")
    theta = draws["posterior"]["theta"].values
    return (
        row
        | measured(theta, true)
        | {
            "told": 1 + bias if known and bias is not None else None,
            "place": draws.attrs.get("step_bias_coordinate"),
        }
    )


def measured(theta: np.ndarray, true: dict[str, Any]) -> dict[str, Any]:
    """Widths over true ones, errors of means in true widths, and standard errors, from independent chains. Shape (C, n, d)."""
    sd = np.array(true["sd"])
    centre = theta.mean((0, 1))
    squares = ((theta - centre) ** 2).mean(1)
    wide, count = np.sqrt(squares.mean(0)) / sd, math.sqrt(len(theta))
    return {
        "widths": wide.tolist(),
        "width_errors": (squares.std(0, ddof=1) / count / (2 * wide * sd**2)).tolist(),
        "means": ((centre - np.array(true["mean"])) / sd).tolist(),
    }


def plan_of(
    name: str, true: dict[str, Any], target: Any, settings: dict[str, Any], route: str
) -> dict[str, Any]:
    """The plan of `advise`, run as it is printed; or why there is none."""
    row: dict[str, Any] = {"posterior": name, "route": route, "scheme": "-"}
    started = time.process_time()
    try:
        advice = sgverify.advise(target, PLANNED, settings, gradient__kind="full")
    except sgverify.errors.SgverifyError as error:
        return row | {"word": "refused", "reason": str(error), "seconds": time.process_time() - started}
    row["seconds"], best = time.process_time() - started, advice.best
    if best is None:
        return row | {"word": "no plan", "reason": advice.distrust, "scale": advice.scale}
    row |= {
        "scheme": best.scheme,
        "gradient": best.label,
        "step": best.step,
        "bias": best.bias,
        "planned": best.seconds,
    }
    if (best.seconds or 0.0) > LONGEST:
        return row | {"word": "not run", "reason": f"about {best.seconds:,.0f} s", "scale": advice.scale}
    gradient = {"kind": best.gradient, **({} if best.batch is None else {"batch": best.batch})}
    given = {**settings, "gradient": gradient, "schedule": {"step": best.step}, "start": best.start}
    given |= {} if best.friction is None else {"friction": best.friction}
    kept = max(1, best.chains * best.steps * len(true["sd"]) // MOST_KEPT)
    given |= {"chains": best.chains, "steps": best.steps, "burn_in": best.burn_in, "thinning": kept}
    made = isinstance(target, str)
    found = row_of(
        name,
        route,
        best.scheme,
        {**given, **({"target.name": target} if made else {})},
        true,
        None if made else target,
    )
    return found | row


TABLES = ("logistic", "poisson", "badly scaled")


def table_data(name: str) -> tuple[str, np.ndarray, str]:
    """The target, rows and header of a table: three of different kinds of regression."""
    random = np.random.default_rng(0)
    x = random.normal(size=(500, 9))
    if name == "logistic":
        answers = random.random(500) < 1 / (1 + np.exp(-0.3 - x @ random.normal(size=9) / 2))
        return (
            "logistic-regression",
            np.column_stack([x, answers]),
            ",".join([*(f"c{i}" for i in range(9)), "y"]),
        )
    if name == "poisson":
        counts = random.poisson(np.exp(0.5 + x[:, :3] @ [0.3, -0.2, 0.1]))
        return "poisson-regression", np.column_stack([x[:, :3], counts]), "temperature,rain,wind,count"
    away = x[:, :3] * [1, 1000, 0.01]
    y = 1 + away @ [0.5, 0.001, 30] + x[:, 3]
    return "linear-regression", np.column_stack([away + [0, 3950, 0.5], y]), "age,year,share,y"


def rows_of_table(name: str, folder: Path) -> list[dict[str, Any]]:
    """The rows of a CSV file: raw, standardised, whitened, and the plan."""
    target, rows, header = table_data(name)
    path = folder / f"{name.replace(' ', '-')}.csv"
    lines = [header, *(",".join(f"{value:.8g}" for value in row) for row in rows)]
    write_atomically(path, "\n".join(lines) + "\n")
    x = np.column_stack([np.ones(len(rows)), np.loadtxt(path, delimiter=",", skiprows=1)])
    true = _truth_of_table(target, torch.as_tensor(x[:, :-1]), torch.as_tensor(x[:, -1]))
    given = {"target.name": target, "target.file": str(path), "target.intercept": True}
    run = {"chains": CHAINS, "steps": STEPS}
    found = []
    for route, more in (
        ("CSV", {}),
        ("CSV, standardised", {"target.standardise": True}),
        ("CSV, whitened", {"target.whiten": True}),
    ):
        found.append(row_of(name, route, "sghmc-baoab", {**given, **more, **run}, true, None))
    for row in found:
        row["next"] = row.get("next", "").replace(f"{folder}/", "")
    plain = {key: value for key, value in given.items() if key != "target.name"}
    planned = plan_of(name, true, target, {**plain, "target.whiten": True}, "CSV, whitened, plan")
    found.append({**planned, "next": ""})
    return found


def _truth_of_table(target: str, x: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
    from reports.making.posterior_truth import mode, weighted

    def f(theta: torch.Tensor) -> torch.Tensor:
        eta = theta @ x.T
        if target == "logistic-regression":
            each = torch.nn.functional.logsigmoid((2 * y - 1) * eta)
        elif target == "poisson-regression":
            each = y * eta - torch.exp(eta)
        else:
            each = -((y - eta) ** 2) / 2
        return each.sum(-1) - (theta**2).sum(-1) / 2

    scale = 1 / x.std(0).clamp(min=1e-3).numpy() / math.sqrt(len(x))
    scale[0] = 1 / math.sqrt(len(x))
    return weighted(f, *mode(f, np.zeros(x.shape[1]), scale))


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown, under the bars."""
    lines = [
        "# Posteriors: what is told of each route, and what is true",
        "",
        "Written by `python -m reports posteriors --data FOLDER`: of posteriordb, of classic models on simulated data, and of",
        f"three CSV files. A route without a plan is {CHAINS} chains of {STEPS:,} steps, at the step that `sample` takes by",
        "itself. `told` is the standard deviation of the worst coordinate over that of exp(-U/T), told before anything is",
        "drawn, `run` the run's; `worst` is the found standard deviation farthest from the true one, `mean` the mean that is",
        "farthest from it, in standard deviations. Seconds are CPU seconds; of a plan, those of the advice.",
        "",
        *(f"- {line}" for line in bars(rows)),
        "",
        "| posterior | route | scheme | step | told | run | worst | mean | said | s | remark |",
        "|---|---|---|--:|--:|--:|--:|--:|---|--:|---|",
    ]
    for row in rows:
        told, run = "-", "-"
        if row.get("told") is not None and "widths" in row:
            place = row["place"]
            told, run = f"{row['told']:.3f}", f"{row['widths'][place]:.3f} ± {row['width_errors'][place]:.3f}"
        worst = max(row["widths"], key=lambda value: abs(math.log(value))) if "widths" in row else None
        mean = max(row["means"], key=abs) if "means" in row else None
        remark = row.get("diverged") or (row.get("reason", "") if row["word"] != "TRUST" else "")
        cells = (
            row["posterior"],
            row["route"],
            row["scheme"] + (f", {row['gradient']}" if row.get("gradient") else ""),
            f"{row['step']:.3g}" if "step" in row else "-",
            told,
            run,
            "-" if worst is None else f"{worst:.3f}",
            "-" if mean is None else f"{mean:+.2f}",
            row["word"],
            f"{row['seconds']:.1f}",
            remark.replace("|", "\\|"),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def bars(rows: list[dict[str, Any]]) -> list[str]:
    """What the rows say of the bars."""
    # A run that has not forgotten its start has not the chain's law, and says so.
    told = [
        row
        for row in rows
        if row.get("told") is not None
        and "widths" in row
        and not any(word in row.get("reason", "") for word in ("forgets its start", "it is forgotten in"))
    ]
    off = [row for row in told if _beyond(row, TOLD)]
    trusted = [row for row in rows if row["word"] == "TRUST"]
    wrong = [
        row for row in trusted if max(abs(math.log(width)) for width in row["widths"]) > math.log1p(WRONG)
    ]
    plans = [row for row in rows if row["route"].endswith("plan") and "widths" in row]
    broken = [row for row in plans if not _kept(row)]
    names = list(dict.fromkeys(row["posterior"] for row in rows))
    advised = [row for row in rows if row["route"].endswith("plan")]
    helped = {
        row["posterior"]
        for row in advised
        if row.get("planned") is not None or row.get("scale") or _remedied(row)
    }
    without = [name for name in names if name not in helped]
    return [
        f"told widths within {TOLD:.0%} of those of the run, two standard errors aside: {_counted(told, off)}",
        f"runs that end with TRUST, and no standard deviation is off by more than {WRONG:.0%}: {_counted(trusted, wrong)}",
        f"plans that were run and keep their promise: {_counted(plans, broken)}",
        f"posteriors with a plan or a named remedy: {len(names) - len(without)} of {len(names)}"
        + (f" (not {', '.join(without)})" if without else ""),
    ]


def _beyond(row: dict[str, Any], share: float) -> bool:
    wide, error = row["widths"][row["place"]], row["width_errors"][row["place"]]
    return abs(wide - row["told"]) > share * row["told"] + 2 * error


def _kept(row: dict[str, Any]) -> bool:
    """Are all errors within the bias and three of the standard errors that the plan leaves for it?"""
    bound = row["bias"] + 3 * (PROMISE - row["bias"])
    errors = [*(abs(width - 1) for width in row["widths"]), *map(abs, row["means"])]
    return max(errors) <= bound


def _remedied(row: dict[str, Any]) -> bool:
    return any(
        word in row.get("reason", "")
        for word in ("write theta", "write each", "sample a function", "bound theta", "tighten")
    )


def _counted(rows: Sequence[dict[str, Any]], broken: Sequence[dict[str, Any]]) -> str:
    named = [f"{row['posterior']} by {row['route']}, {row['scheme']}" for row in broken]
    return f"{len(rows) - len(broken)} of {len(rows)}" + (f" (not {'; '.join(named)})" if named else "")


def render(folder: Path) -> None:
    """Write FOLDER/posteriors/posteriors.md from the rows beside it."""
    stored = json.loads((folder / "posteriors" / "posteriors.json").read_text())
    write_atomically(folder / "posteriors" / "posteriors.md", table(stored))


def main(arguments: Sequence[str]) -> None:
    """Run the posteriors of a folder, all or those named after it, and write the table with what it held of the others."""
    torch.set_num_threads(1)
    logging.getLogger("sgverify").setLevel(logging.ERROR)
    folder, *names = arguments
    FOLDER.mkdir(exist_ok=True)
    stored, kept = FOLDER / "posteriors.json", FOLDER / "truth.json"
    rows: list[dict[str, Any]] = json.loads(stored.read_text()) if stored.exists() else []
    true: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    for name in names or [*POSTERIORS, *TABLES]:
        if name in TABLES:
            with TemporaryDirectory() as place:
                new = rows_of_table(name, Path(place))
        else:
            posterior = read(name, Path(folder))
            if name not in true:
                true[name] = truth(name, read(FILES.get(f"{name} truth", name), Path(folder)))
                write_atomically(kept, json_text(true))
            run = {"chains": CHAINS, "steps": STEPS}
            new = [
                row_of(name, route, scheme, {**more, **run}, true[name], posterior.density)
                for route, scheme, more in routes(posterior)
            ]
            new.append(plan_of(name, true[name], posterior.density, {}, "plan"))
            if new[-1]["word"] == "not run":
                new.append(
                    plan_of(name, true[name], posterior.density, {"target.whiten": True}, "whitened, plan")
                )
        for row in new:
            print({key: value for key, value in row.items() if not isinstance(value, list)}, flush=True)
        rows = sorted([row for row in rows if row["posterior"] != name] + new, key=_place)
        write_atomically(stored, json_text(rows))
        write_atomically(FOLDER / "posteriors.md", table(rows))


def _place(row: dict[str, Any]) -> int:
    return [*POSTERIORS, *TABLES].index(row["posterior"])


if __name__ == "__main__":
    main(sys.argv[1:])
