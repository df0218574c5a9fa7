"""Reference averages by importance sampling on six real posteriors, held against stored answers. Writes posteriors/references.*.

`python -m reports references --data FOLDER` reads data and reference answers of posteriordb from FOLDER, as
`reports.making.posteriors` does. For each coordinate that the reference names, mean and standard deviation come from the weighted
draws that sampled rates take their reference average from (`sgverify.samplers.importance`), with their standard errors, beside the
reference's, which have the error of the draws behind them. Where the method refuses, the reason stands in place of numbers.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch

import sgverify.errors
from reports.making.posterior_models import OF_POSTERIORDB, Posterior
from reports.making.posteriors import FOLDER
from sgverify.keeping.files import json_text, write_atomically
from sgverify.samplers.importance.averages import draw_weighted

DRAWS, WEIGHTED = 10_000, {"wells": 36_800}
"""The draws behind the reference answers, effective ones where they are weighted: 10,000 give a mean to a hundredth of an sd."""


def entry_of(name: str, posterior: Posterior, reference: dict[str, Any]) -> dict[str, Any]:
    """The entry of one posterior: effective draws, and each average beside that of the reference."""
    target = posterior.density.target()
    entry: dict[str, Any] = {"posterior": name, "dimension": target.dim, "data": target.size}
    started = time.process_time()
    try:
        first = draw_weighted(target, 1.0)
        rows = [
            row_of(first, target.dim, place, known, reference[known], WEIGHTED.get(name, DRAWS))
            for place, known in enumerate(posterior.names)
            if known is not None
        ]
    except sgverify.errors.Unreached as error:
        return {**entry, "refused": str(error)}
    return {
        **entry,
        "draws": first.count,
        "effective": first.share,
        "seconds": time.process_time() - started,
        "averages": rows,
    }


def row_of(
    first: Any, dim: int, place: int, known: str, answer: dict[str, float], count: int
) -> dict[str, Any]:
    """Mean and standard deviation of one coordinate, with their errors, and the differences from the reference of `count` draws."""
    one = tuple(int(i == place) for i in range(dim))
    mean = first.average({one: Fraction(1)})
    # About the mean: E (theta - m)^2 for the rational m next to the mean.
    middle = Fraction(mean.value).limit_denominator(10**9)
    squares = first.average({tuple(2 * i for i in one): Fraction(1), one: -2 * middle, (0,) * dim: middle**2})
    sd = math.sqrt(squares.value - (mean.value - float(middle)) ** 2)
    error = squares.standard_error / (2 * sd)
    # A standard error of the reference's own draws: that of a mean, and of an sd where the law is near a Gaussian.
    own = answer["sd"] / math.sqrt(count)
    return {
        "name": known,
        "mean": mean.value,
        "mean_error": mean.standard_error,
        "sd": sd,
        "sd_error": error,
        "reference_mean": answer["mean"],
        "reference_sd": answer["sd"],
        "mean_apart": (mean.value - answer["mean"]) / math.hypot(mean.standard_error, own),
        "sd_apart": (sd - answer["sd"]) / math.hypot(error, own / math.sqrt(2)),
    }


def table(entries: list[dict[str, Any]]) -> str:
    """The entries as Markdown."""
    lines = [
        "# Reference averages on six real posteriors: importance sampling beside the reference answers",
        "",
        "Written by `python -m reports references --data FOLDER`. Means and standard deviations by weighted, quasi-random draws",
        "of a fitted Student law with control variates, from which sampled rates take their reference average; their standard",
        "errors are from 32 scrambles. `apart` is the difference from the reference over the standard error of both, that of the",
        f"reference by its number of draws, {DRAWS:,} (wells: {WEIGHTED['wells']:,} effective ones), as if they were independent",
        "and the law Gaussian. Coordinates that are sampled as logarithms or logits are left out. Data and answers: posteriordb.",
        "",
        "| posterior | coordinate | draws | effective | mean | sd | mean: error / sd | sd: error / sd | apart: mean | apart: sd |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for entry in entries:
        if "refused" in entry:
            lines.append(f"| {entry['posterior']} | refused: {entry['refused']} | | | | | | | | |")
            continue
        for row in entry["averages"]:
            errors = f"{row['mean_error'] / row['sd']:.1e} | {row['sd_error'] / row['sd']:.1e}"
            apart = f"{row['mean_apart']:+.1f} | {row['sd_apart']:+.1f}"
            lines.append(
                f"| {entry['posterior']} | {row['name']} | {entry['draws']} | {entry['effective']:.1%} | {row['mean']:.5g} | "
                f"{row['sd']:.5g} | {errors} | {apart} |"
            )
    return "\n".join(lines) + "\n"


def render(folder: Path) -> None:
    """Write FOLDER/posteriors/references.md from the entries beside it."""
    stored = json.loads((folder / "posteriors" / "references.json").read_text())
    write_atomically(folder / "posteriors" / "references.md", table(stored))


def main(arguments: Sequence[str]) -> None:
    """Make the entries of the posteriors of a folder, and write them and their table."""
    torch.set_num_threads(1)
    (folder,) = arguments
    entries = []
    for name, build in OF_POSTERIORDB.items():
        given = json.loads((Path(folder) / f"{name}.json").read_text())
        entries.append(entry_of(name, build(given["data"]), given["reference"]))
        print(entries[-1], flush=True)
    write_atomically(FOLDER / "references.json", json_text(entries))
    render(FOLDER.parent)
