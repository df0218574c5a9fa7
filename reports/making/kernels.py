"""Which schemes, targets and estimators move in the C kernel with the bits of their definition? Writes kernels.json and kernels.md.

A kernel is required for each case, and so proves its first and last steps; its averages and last states after three rows of other
lengths are then compared, bit for bit, with those of the definition run on torch. Every scheme of the catalogue meets every
estimator on three targets, and every target every estimator that it takes under two schemes; dtypes alternate.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from sgverify.configuration import load_configuration
from sgverify.errors import UserError
from sgverify.gradients import ESTIMATORS
from sgverify.keeping.files import write_atomically
from sgverify.samplers import GradientChoice, Settings, fixed, power, sample
from sgverify.schemes import find_scheme
from sgverify.schemes.catalogue import NAMED
from sgverify.targets import TARGETS, Target, build_target

SIZE, BATCH, CHAINS, STEP = 20, 5, 6, 1e-3
MET_BY_SCHEMES = ("gaussian-mean", "logistic-regression", "double-well")
MET_BY_TARGETS = ("sgld-euler", "sghmc-baoab")
DTYPES = ("float64", "float32")
EQUAL = "equal bits"


@dataclass(frozen=True)
class Row:
    """One case, and whether its bits are equal; else the reason why it has no kernel."""

    scheme: str
    target: str
    gradient: str
    dtype: str
    found: str


def make(folder: Path) -> None:
    """Judge every case, and write the table."""
    rows = [Row(*case, found=judge(*case)) for case in cases()]
    place = folder / "kernels"
    place.mkdir(exist_ok=True)
    text = ",\n".join(json.dumps(asdict(row)) for row in rows)
    write_atomically(place / "kernels.json", f"[\n{text}\n]\n")
    render(folder)


def render(folder: Path) -> None:
    """Write the page from the stored table."""
    place = folder / "kernels"
    rows = [Row(**row) for row in json.loads((place / "kernels.json").read_text(encoding="utf-8"))]
    write_atomically(place / "kernels.md", page(rows))


def cases() -> Iterator[tuple[str, str, str, str]]:
    """(scheme, target, estimator, dtype) of each case."""
    number = 0
    seen: set[tuple[str, str, str]] = set()
    pairs = [(scheme, target) for scheme in NAMED for target in MET_BY_SCHEMES]
    pairs += [(scheme, target) for target in TARGETS for scheme in MET_BY_TARGETS]
    for scheme, target in pairs:
        for kind, estimator in ESTIMATORS.items():
            if (estimator.draws_data and not TARGETS[target].has_data) or (scheme, target, kind) in seen:
                continue
            seen.add((scheme, target, kind))
            yield scheme, target, kind, DTYPES[number % 2]
            number += 1


def judge(scheme: str, target: str, kind: str, dtype: str) -> str:
    """`EQUAL`, or why there is no kernel."""
    found = []
    for compiled in ("kernel", False):
        batch = {"batch": BATCH} if ESTIMATORS[kind].draws_data else {}
        settings = Settings(
            chains=CHAINS,
            start=0.3,
            dtype=dtype,
            gradient=GradientChoice(kind, **batch),
            compiled=compiled,
        )
        rows = [*fixed([STEP], [30]), *fixed([STEP / 2], [45]), *power([STEP], 0.3, [60])]
        try:
            run = sample(
                find_scheme(scheme),
                _target(target),
                rows,
                observables=[lambda theta, *p: theta[..., 0] ** 2],
                settings=settings,
            )
        except UserError as reason:
            return str(reason).split("; expected")[0]
        found.append([run.values[:, :, -1], *run.last.values()])
    return EQUAL if all(map(np.array_equal, *found)) else "other bits than the definition's"


def page(rows: list[Row]) -> str:
    """The table in Markdown: how many cases have equal bits, by scheme and by target, and every other one with its reason."""
    good = sum(row.found == EQUAL for row in rows)
    lines = [
        "# Kernels with the bits of the definition",
        "",
        "Written by `python -m reports kernels`.",
        "",
        f"{good} of {len(rows)} cases have a kernel, whose averages and last states have the bits of the definition's on torch.",
    ]
    for name in ("scheme", "target", "gradient"):
        all_of, equal = Counter[str](), Counter[str]()
        for row in rows:
            all_of[getattr(row, name)] += 1
            equal[getattr(row, name)] += row.found == EQUAL
        lines += ["", f"| {name} | cases | equal bits |", "| :-- | --: | --: |"]
        lines += [f"| {key} | {count} | {equal[key]} |" for key, count in all_of.items()]
    others = [row for row in rows if row.found != EQUAL]
    if others:
        lines += ["", "| scheme | target | gradient | dtype | why not |", "| :-- | :-- | :-- | :-- | :-- |"]
        lines += [
            f"| {row.scheme} | {row.target} | {row.gradient} | {row.dtype} | {row.found} |" for row in others
        ]
    return "\n".join(lines) + "\n"


def _target(name: str) -> Target:
    kind = TARGETS[name]
    given = {"name": name, "dim": 2 if not kind.dims or 2 in kind.dims else kind.dims[0]}
    if kind.has_data:
        given["size"] = SIZE
    return build_target(load_configuration(None, target=given).target)
