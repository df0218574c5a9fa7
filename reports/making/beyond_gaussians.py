"""The papers' claims beyond Gaussians: what is proved, and leading coefficients found on grids beside those that theory predicts.

Claims are judged as `sgverify verify` does, on a double well, a logistic regression, a product of wells, a banana, and by a
thermostat. In one dimension the coefficient of h^r in the bias of theta^2 is that of a polynomial through grids at falling steps;
predicted is -int (A_(r+1) psi) rho, L psi = theta^2 - int theta^2 rho, with A_(r+1) from the series of the step, and psi by
quadrature (no momentum) or on orthonormal polynomials of theta and p.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sgverify.checks.rates.engines import transfer_answers
from sgverify.checks.rates.leading_bias import leading_bias, proved_order
from sgverify.configuration import load_configuration
from sgverify.exact.numbers.ball import FLOATS
from sgverify.exact.rings.evaluation import Values, by_key
from sgverify.exact.series.local_order import expand_step
from sgverify.keeping.files import write_atomically
from sgverify.schemes.definition.mathematics import softplus
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from sgverify.targets.kind import TargetKind
from sgverify.targets.potential import Potential, coordinate
from sgverify.verdict import verify

FOLDER = "beyond-gaussians"


def _product(*, dim: int) -> tuple[Potential, None]:
    def prior(theta: Any) -> Any:
        total: Any = 0
        for k in range(dim):
            x = coordinate(theta, k)
            total = total + x * x / 2 - (softplus(4 * x) - 2 * x) + x / 4
        return total

    return prior, None


def _banana(*, dim: int) -> tuple[Potential, None]:
    def prior(theta: Any) -> Any:
        x, y = coordinate(theta, 0), coordinate(theta, 1)
        bent = y - (softplus(2 * x) - x)
        return x * x / 4 + bent * bent / 2

    return prior, None


def _kind(name: str, summary: str, potential: Any, dims: tuple[int, ...]) -> TargetKind:
    source = "this report: potentials with tails like a Gaussian's, on which no chain escapes"
    return TargetKind(name, summary, source, {}, potential, dims=dims, sized=True, smooth=True)


PRODUCT = _kind("product-of-wells", "U = sum_i (x_i^2/2 - log cosh 2 x_i + x_i/4)", _product, (2, 1))
BANANA = _kind("banana", "U = x^2/4 + (y - log(2 cosh x))^2/2", _banana, (2,))

HERE = "reports.making.beyond_gaussians"
FULL = {"gradient.kind": "full"}
SCHEMES = ("sgld-euler", "sghmc-aboba", "sghmc-baoab", "sghmc-obabo")
LOGISTIC = {"target.name": "logistic-regression", "target.size": 50}
PRODUCT_OF_TWO = {"target.name": f"{HERE}:PRODUCT"}

CASES: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("double well", {"target.name": "double-well"}, SCHEMES),
    ("logistic regression, full gradients", {**LOGISTIC, **FULL}, SCHEMES),
    (
        "logistic regression, minibatches of 5",
        {**LOGISTIC, "gradient.kind": "iid", "gradient.batch": 5},
        SCHEMES,
    ),
    ("product of wells", PRODUCT_OF_TWO, SCHEMES),
    ("banana", {"target.name": f"{HERE}:BANANA"}, SCHEMES),
    ("thermostat on a product of wells", PRODUCT_OF_TWO, ("sgnht-euler", "sgnht-aboba")),
)
LINES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("double well", {"target.name": "double-well"}),
    ("logistic regression", {**LOGISTIC, **FULL}),
    ("one factor of the product", {**PRODUCT_OF_TWO, "target.dim": 1}),
)


@dataclass(frozen=True)
class Judged:
    """One claim of one case."""

    case: str
    scheme: str
    claim: str
    check: str
    outcome: str
    method: str
    predicted: float | None
    found: float | None


@dataclass(frozen=True)
class Coefficient:
    """The coefficient of h^power in the bias of theta^2: predicted, found on grids, and the bound of the latter's error."""

    case: str
    scheme: str
    power: int
    predicted: float
    found: float
    error_bound: float


def make(folder: Path) -> None:
    """Judge the claims, compute the coefficients, and write the tables and their page."""
    judged = [
        row
        for case, settings, schemes in CASES
        for scheme in schemes
        for row in _judged(case, scheme, settings)
    ]
    lines = [coefficient(case, scheme, settings) for case, settings in LINES for scheme in SCHEMES[:3]]
    rows: dict[str, list[Any]] = {"claims": judged, "coefficients": lines}
    text = ",\n".join(
        f'"{name}": [\n' + ",\n".join(json.dumps(asdict(row)) for row in found) + "\n]"
        for name, found in rows.items()
    )
    (folder / FOLDER).mkdir(exist_ok=True)
    write_atomically(folder / FOLDER / "beyond.json", f"{{{text}}}\n")
    render(folder)


def _judged(case: str, scheme: str, settings: dict[str, Any]) -> list[Judged]:
    rows = []
    for one in verify(scheme, **{key.replace(".", "__"): value for key, value in settings.items()}):
        # A proof is a bound: the power is at least the one found, and has no upper end.
        found = one.found.high if one.found.low is None else one.found.low
        numbers = (None if x is None else round(float(x), 9) for x in (one.predicted.exponent, found))
        rows.append(Judged(case, scheme, one.claim, one.check, one.outcome, one.method, *numbers))
    return rows


def coefficient(case: str, scheme: str, settings: dict[str, Any]) -> Coefficient:
    """The leading coefficient of the bias of theta^2 on a target in one dimension, predicted and found."""
    subject = make_subject(
        scheme, load_configuration(None, [f"{key}={value}" for key, value in settings.items()])
    )
    power = proved_order(subject)
    found = leading_bias(subject, transfer_answers(subject), subject.sweep_steps).terms[power]
    return Coefficient(case, scheme, power, predicted(subject, power), found.value, found.error_bound)


POINTS, DEGREE, MOMENTA, SPREADS, DEEP = 4001, 60, 24, 12.0, 36.0
"""The grid in theta, the polynomials of theta and of p, the most standard deviations to an end, and the energy there."""


def predicted(subject: Subject, power: int) -> float:
    """-int (A_(power + 1) psi) rho for theta^2 at T = 1."""
    target, D = subject.target, float(subject.configuration.friction)
    middle, spread = float(target.location_float64(1.0)[0]), float(target.spread_float64(1.0)[0])
    wide = np.linspace(middle - SPREADS * spread, middle + SPREADS * spread, POINTS)
    heights = target.energy_float64(wide[:, None])
    low, high = wide[heights < heights.min() + DEEP][[0, -1]]
    x = np.linspace(low, high, POINTS)
    energy = target.energy_float64(x[:, None])
    weight = np.exp(energy.min() - energy)
    weight /= weight.sum()
    bend = np.polynomial.chebyshev.Chebyshev.fit(x, energy, 120)
    slopes = [bend.deriv(k)(x) if k else energy for k in range(2 * power + 6)]
    phi = x**2 - weight @ x**2
    kinetic = "p" in subject.scheme.dynamics.state
    derivative = _kinetic(x, weight, phi, D) if kinetic else _overdamped(x, weight, phi, slopes)
    ring, step, _ = expand_step(subject.scheme, 1, 2 * power + 2)
    p, masses = np.polynomial.hermite_e.hermegauss(MOMENTA) if kinetic else (np.zeros(1), np.ones(1))
    masses = masses / masses.sum()
    numbers: dict[Any, Any] = {("theta", 0): x[:, None], ("p", 0): p[None, :]}
    numbers |= {("U", member, (k,)): slopes[k][:, None] for k in range(1, len(slopes)) for member in range(2)}
    values = Values(
        ring, by_key(ring, numbers.__getitem__), replace(FLOATS, coefficient=float), {"T": 1.0, "D": D}
    )
    moved = sum(values(c) * derivative(index, p) for index, c in step.at(2 * power + 2).items())
    return -float(weight @ np.broadcast_to(moved, (len(x), len(p))) @ masses)


def _overdamped(
    x: np.ndarray, weight: np.ndarray, phi: np.ndarray, slopes: list[np.ndarray]
) -> Callable[..., Any]:
    """psi' rho = int_(-inf)^x phi rho, from whichever end is nearer; further derivatives from psi'' = phi + U' psi'."""
    sums = np.cumsum(weight * phi) - weight * phi / 2
    back = -(np.cumsum((weight * phi)[::-1])[::-1] - weight * phi / 2)
    half = np.cumsum(weight) < 0.5
    known = [np.zeros_like(x), np.where(half, sums, back) / weight * (x[1] - x[0])]
    source = [phi, 2 * x, 2 + 0 * x]
    for n in range(2, 6):
        terms = [_binomial(n - 2, k) * slopes[k + 1] * known[n - 1 - k] for k in range(n - 1)]
        known.append((source[n - 2] if n - 2 < 3 else 0 * x) + sum(terms))
    return lambda index, p: known[index[0]][:, None]


def _binomial(n: int, k: int) -> float:
    return float(np.prod([(n - j) / (j + 1) for j in range(k)])) if k else 1.0


def _kinetic(x: np.ndarray, weight: np.ndarray, phi: np.ndarray, D: float) -> Callable[..., Any]:
    """psi on P_i(theta) He_j(p)/sqrt(j!): L = a_+ d - a_- d^* - D a_+ a_-, d the derivative of theta in this basis."""
    scale = np.sqrt(weight)
    centred = (x - weight @ x) / np.sqrt(weight @ x**2 - (weight @ x) ** 2)
    basis = [np.ones_like(x)]
    for _ in range(DEGREE):
        following = centred * basis[-1]
        for _ in range(2):
            for one in basis:
                following = following - (weight @ (following * one)) * one
        basis.append(following / np.sqrt(weight @ following**2))
    table = np.stack(basis, axis=1)
    fits = [np.polynomial.chebyshev.Chebyshev.fit(x, one, DEGREE + 2) for one in basis]
    slope = (scale[:, None] * table).T @ (scale[:, None] * np.stack([fit.deriv()(x) for fit in fits], axis=1))
    lower = np.diag(np.sqrt(np.arange(1.0, MOMENTA)), 1)
    generator = (
        np.kron(slope, lower.T) - np.kron(slope.T, lower) - D * np.kron(np.eye(DEGREE + 1), lower.T @ lower)
    )
    right = np.kron(table.T @ (weight * phi), np.eye(MOMENTA)[0])
    psi = np.linalg.lstsq(generator, right, rcond=1e-12)[0].reshape(DEGREE + 1, MOMENTA)

    def derivative(index: tuple[int, ...], p: np.ndarray) -> np.ndarray:
        found = np.linalg.matrix_power(slope, index[0]) @ psi @ np.linalg.matrix_power(lower.T, index[1])
        hermite = np.polynomial.hermite_e.hermevander(p, MOMENTA - 1)
        sizes = np.sqrt(np.cumprod([1.0, *range(1, MOMENTA)]))
        return np.asarray(table @ found @ (hermite / sizes).T)

    return derivative


def render(folder: Path) -> None:
    """Write the page from the stored tables."""
    found = json.loads((folder / FOLDER / "beyond.json").read_text(encoding="utf-8"))
    judged = [Judged(**row) for row in found["claims"]]
    lines = ["# Claims beyond Gaussians", "", "Written by `python -m reports beyond-gaussians`.", ""]
    lines += [
        "Outcomes of the papers' claims as `sgverify verify` gives them; no claim is judged by samples.",
        "",
    ]
    lines += ["| case | scheme | pass | fail | undecided | refuted as printed | bias | predicted |"]
    lines += ["| :-- | :-- | --: | --: | --: | --: | :-- | :-- |"]
    for case, scheme in dict.fromkeys((row.case, row.scheme) for row in judged):
        mine = [row for row in judged if (row.case, row.scheme) == (case, scheme)]
        counts = [
            sum(row.outcome == word for row in mine) for word in ("pass", "fail", "undecided", "refuted")
        ]
        bias = next((row for row in mine if row.check == "stationary-bias" and row.outcome == "pass"), None)
        told = ["-", "-"]
        if bias is not None:
            faster = " or faster" if bias.method == "proof" else ""
            told = [f"h^{bias.found:g}{faster}", f"h^{bias.predicted:g}"]
        lines.append(f"| {case} | {scheme} | {' | '.join(map(str, counts))} | {' | '.join(told)} |")
    lines += [
        "",
        "The leading term of the bias of theta^2, in one dimension, with full gradients, T = 1 and D = 2:",
        "",
    ]
    lines += ["| target | scheme | power | predicted | found on grids | its error |"]
    lines += ["| :-- | :-- | --: | --: | --: | --: |"]
    for row in found["coefficients"]:
        numbers = f"{row['predicted']:.5g} | {row['found']:.5g} | {row['error_bound']:.1g}"
        lines.append(f"| {row['case']} | {row['scheme']} | {row['power']} | {numbers} |")
    write_atomically(folder / FOLDER / "beyond.md", "\n".join(lines) + "\n")
