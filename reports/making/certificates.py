"""Certified rates of 20 schemes, 5 values of L/m and 8 step sizes, beside published rates and the slowest members found.

Writes certificates.json, certificates.md, and the picture certificates.svg: the rate against the step size and the friction.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from sgverify.advice.certified.published import published_bounds
from sgverify.errors import Unreached
from sgverify.exact.certificates.contraction import (
    BITS,
    CertifiedContraction,
    CurvatureBounds,
    certified_contraction,
)
from sgverify.exact.certificates.distance import distance_bound
from sgverify.exact.certificates.pair import read_pair
from sgverify.exact.certificates.semidefinite import closed_loop
from sgverify.exact.chain.lyapunov import floats
from sgverify.keeping.files import write_atomically
from sgverify.schemes import Scheme, exact, find_scheme

NAMED = (
    "sgld-euler",
    "sghmc-euler",
    "sghmc-euler-explicit",
    "sghmc-momentum",
    "sghmc-aboba",
    "sghmc-baoab",
    "sghmc-obabo",
    "sghmc-oabao",
    "sghmc-ubu",
    "sghmc-nogin",
)
WORDS = ("ABO", "BAO", "BAOA", "ABAO", "OBAB", "BABO", "AOBOA", "ABOAB", "BAOAO", "OBABABO")
RATIOS = (2, 10, 100, 1_000, 10_000)
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
"""Step sizes in units of 1/sqrt(L), or of 1/L without a momentum."""

SHOWN = 0.1
"""The share at which the page shows rates."""

DAMPING = 2
"""The friction in units of sqrt(L)."""


@dataclass(frozen=True)
class Row:
    """One setting with m = 1: 1 - rho certified, of the slowest member found, and published; W2 over sqrt(d), certified, published.

    `constant` bounds W2 where the Hessian is constant, and `reached` is the largest one of Gaussians of the class.
    """

    scheme: str
    ratio: float
    step: float
    certified: float | None
    slowest: float | None
    published: float | None
    distance: float | None
    published_distance: float | None
    constant: float | None
    reached: float | None
    refused: str | None


def schemes() -> list[Scheme]:
    """The 20 schemes."""
    word = find_scheme("sghmc-md-abo").word
    assert word is not None
    alphabet = word.alphabet
    words = [alphabet.word(text, name=f"sghmc-{text.lower()}") for text in WORDS]
    return [*map(find_scheme, NAMED), *words]


def settings(scheme: Scheme, ratio: float, share: float) -> tuple[Fraction, dict[str, Fraction]]:
    """The step size, and T and D."""
    unit = 1 / math.sqrt(ratio) if "p" in scheme.state else 1 / ratio
    given = {"T": Fraction(1), "D": exact(float(f"{DAMPING * math.sqrt(ratio):.4g}"))}
    return exact(float(f"{share * unit:.4g}")), given


def rows() -> Iterator[Row]:
    """Every setting."""
    for scheme in schemes():
        for ratio in RATIOS:
            for share in SHARES:
                yield row(scheme, ratio, share)


def row(scheme: Scheme, ratio: float, share: float) -> Row:
    """One setting, with the distance where it is shown."""
    step, given = settings(scheme, ratio, share)
    name = scheme.name or "?"
    published = published_bounds(name, 1.0, ratio, float(step), 1.0, float(given["D"]))
    decays = [p.decay for p in published if p.decay is not None]
    distances = [p.distance for p in published if p.distance is not None]
    found: CertifiedContraction | None = None
    refused = None
    try:
        found = certified_contraction(scheme, step, given, CurvatureBounds(Fraction(1), exact(ratio)))
    except Unreached as error:
        refused = str(error)
    distance = constant = truth = None
    if found is not None and share == SHOWN:
        distance = distance_bound(scheme, given, found).distance
        constant = distance_bound(scheme, given, found, hessian_lipschitz=Fraction(0)).distance
        truth = reached(scheme, step, given, ratio)
    return Row(
        scheme=name,
        ratio=ratio,
        step=float(step),
        certified=None if found is None else float(1 - found.rate),
        slowest=None if found is None else 1 - found.slow.rate,
        published=max(decays, default=None),
        distance=distance,
        published_distance=min(distances, default=None),
        constant=constant,
        reached=truth,
        refused=refused,
    )


def reached(scheme: Scheme, step: Fraction, given: dict[str, Fraction], ratio: float) -> float:
    """The largest W2 on Gaussians of curvatures between 1 and L, in dimension 1, from the covariance of the chain."""
    with flint.ctx.workprec(BITS):
        pair = read_pair(scheme, step, given)
        moved, places, drawn, disturbed = map(
            floats, (pair.step, pair.places, pair.step_noise, pair.place_noise)
        )
    n, worst = pair.states, 0.0
    for curvature in np.geomspace(1, ratio, 200):
        values = np.zeros((n + pair.gradients, drawn.shape[1]))
        for i, place in enumerate(places):
            values[n + i] = curvature * (place @ values + disturbed[i])
        noise = moved @ values + drawn
        loop = closed_loop(moved, places, [curvature] * pair.gradients)
        covariance = solve_discrete_lyapunov(loop, noise @ noise.T)
        worst = max(worst, abs(math.sqrt(covariance[0, 0]) - math.sqrt(1 / curvature)))
    return worst


def make(folder: Path) -> None:
    """Certify every setting, and write the table and the picture's numbers."""
    started = time.process_time()
    found = [asdict(one) for one in rows()]
    seconds = round(time.process_time() - started, 1)
    place = folder / "certificates"
    place.mkdir(exist_ok=True)
    document = {"seconds": seconds, "rows": found, "frictions": frictions()}
    write_atomically(place / "certificates.json", json.dumps(document, indent=0) + "\n")
    render(folder)


def frictions() -> dict[str, Any]:
    """(1 - rho)/h of BAOAB at L/m = 10 over step sizes and frictions; 0 without a certificate."""
    scheme, bounds = find_scheme("sghmc-baoab"), CurvatureBounds(Fraction(1), Fraction(10))
    steps = [float(f"{x:.3g}") for x in np.geomspace(0.02, 0.8, 30)]
    damped = [float(f"{x:.3g}") for x in np.geomspace(0.5, 30, 30)]

    def at(step: float, friction: float) -> float:
        try:
            found = certified_contraction(
                scheme, exact(step), {"T": Fraction(1), "D": exact(friction)}, bounds
            )
        except Unreached:
            return 0.0
        return float(1 - found.rate) / step

    return {
        "steps": steps,
        "frictions": damped,
        "rates": [[float(f"{at(h, d):.4g}") for h in steps] for d in damped],
    }


def render(folder: Path) -> None:
    """Write the page and the picture from the stored numbers."""
    place = folder / "certificates"
    document = json.loads((place / "certificates.json").read_text(encoding="utf-8"))
    write_atomically(place / "certificates.md", page([Row(**one) for one in document["rows"]]))
    draw(document, place / "certificates.svg")


def page(found: list[Row]) -> str:
    """The table in Markdown, at one share of the time scale."""
    certified = [row for row in found if row.certified is not None]
    best = [row for row in certified if row.slowest and row.certified and row.certified > 0.999 * row.slowest]
    lines = [
        "# Certified contraction beside published rates",
        "",
        "Written by `python -m reports certificates`. For every U with 1 <= U'' <= L and in every dimension: 1 - rho in per cent a "
        f"step, at T = 1, D = {DAMPING} sqrt(L) and h = {SHOWN:g}/sqrt(L) (h = {SHOWN:g}/L without a momentum). "
        "`slowest` is that of the slowest member of the class found, which no certificate beats; `W2` bounds the distance between "
        "the law of theta and the posterior over sqrt(d), for every U and where U'' is constant; `reached` is the largest W2 of "
        "200 Gaussians of the class.",
        "",
        f"{len(certified)} of {len(found)} settings have a certificate, {len(best)} of them the best possible to 0.1 %.",
        "",
        "| scheme | L/m | published | certified | slowest | W2 published | W2 certified | U'' constant | reached |",
        "| :-- | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    shown = {(row.scheme, row.ratio): row for row in found if _shown(row)}
    lines += [
        f"| {row.scheme} | {row.ratio:g} | {_percent(row.published)} | {_percent(row.certified)} | {_percent(row.slowest)} | "
        f"{_number(row.published_distance)} | {_number(row.distance)} | {_number(row.constant)} | {_number(row.reached)} |"
        for row in shown.values()
    ]
    return "\n".join(lines) + "\n"


def _shown(row: Row) -> bool:
    unit = 1 / row.ratio if row.scheme == "sgld-euler" else 1 / math.sqrt(row.ratio)
    return abs(row.step / unit - SHOWN) < 0.01 * SHOWN


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:.4g}"


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:.3g}"


def draw(document: dict[str, Any], path: Path) -> None:
    """Left: (1 - rho)/h against h at L/m = 10, beside the published rate. Right: of BAOAB over h and friction."""
    import matplotlib.ticker

    from sgverify.report.colours import COLOURS, STYLE
    from sgverify.report.picture import Picture

    with matplotlib.rc_context(STYLE):
        told = "Certified contraction over the step, against the step size and the friction"
        drawing = Picture((9.6, 3.8), told, told, layout="constrained")
        left, right = drawing.subplots(1, 2)
        for place, name in enumerate(("sghmc-baoab", "sghmc-aboba", "sghmc-ubu", "sghmc-euler")):
            at = [row for row in document["rows"] if row["scheme"] == name and row["ratio"] == 10]
            steps = [row["step"] for row in at if row["certified"]]
            left.plot(
                steps,
                [row["certified"] / row["step"] for row in at if row["certified"]],
                "o-",
                color=COLOURS[place],
                markersize=3,
                label=f"{name}, certified",
            )
            printed = [row for row in at if row["published"]]
            if printed:
                left.plot(
                    [row["step"] for row in printed],
                    [row["published"] / row["step"] for row in printed],
                    ":",
                    color=COLOURS[place],
                    label=f"{name}, published",
                )
        left.set(
            xlabel="step h",
            ylabel="(1 - rho)/h",
            title="Every U with 1 <= U'' <= 10, D = 6.3",
            ylim=(0, None),
        )
        left.legend(fontsize=7)
        table = document["frictions"]
        rates = np.array(table["rates"])
        shown = right.pcolormesh(
            table["steps"], table["frictions"], np.where(rates > 0, rates, np.nan), shading="nearest"
        )
        right.set(
            xscale="log",
            yscale="log",
            xlabel="step h",
            ylabel="friction D",
            title="BAOAB: white has no certificate",
        )
        for axis in (right.xaxis, right.yaxis):
            axis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        drawing.colorbar(shown, ax=right, label="(1 - rho)/h")
    drawing.save(path)
