"""How large the bias is, told beside chains that are computed or run here. Writes coefficients.json and coefficients.md.

The largest error that `verify` tells, of a mean or a standard deviation in standard deviations of the target, as the constant c of
c h^K, is compared with that of a chain written out here: matrices on Gaussians, transition densities on grids in one and two
dimensions, at small step sizes with the next powers left out. Minibatches on targets that are no Gaussians are run at the step
size itself, beside the linear chain with the same draws, whose moments are exact.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg, optimize
from scipy.sparse.linalg import LinearOperator, gmres

from sgverify.advice.size.finding import how_large
from sgverify.configuration import load_configuration
from sgverify.keeping.files import write_atomically
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

Biases = tuple[np.ndarray, np.ndarray]
"""Of means and standard deviations, in standard deviations of the target. Shapes (d,), (d,)."""

BAR = 0.01
CHANGE = 1e-5
"""The step of differences, as a share of a standard deviation."""


@dataclass(frozen=True)
class Case:
    """A scheme on a target; `at` gives the chain's biases at a step size, and a run their errors too.

    `power` is the K of a constant that is compared; None where biases at the configured step size are.
    """

    scheme: str
    settings: dict[str, Any]
    at: Callable[..., Any]
    power: int | None = 1
    step: float = 0.02
    """The step size of the reference, in units of the smallest variance (or its root, with a momentum)."""


@dataclass(frozen=True)
class Row:
    """One comparison; `error` is the reference's own, `stated` what the answer says that it may be off by."""

    scheme: str
    target: str
    gradient: str
    what: str
    told: float
    reference: float
    error: float
    stated: float
    seconds: float

    @property
    def ratio(self) -> float:
        """Told over reference."""
        return self.told / self.reference

    @property
    def holds(self) -> bool:
        """Is it within the bar, beyond the reference's error, or else within what the answer says of itself?"""
        off = abs(self.told - self.reference) - 3 * self.error
        return off <= max(BAR * abs(self.reference), self.stated)


def gaussian_chain(subject: Subject, h: float) -> Biases:
    """SGLD's or ABOBA's law on a quadratic target, minibatches included, from the data alone."""
    c, target = subject.configuration, subject.target
    P, d, T, D = target.precision_float64(), target.dim, float(c.temperature), float(c.friction)
    unit, noise, spread = np.eye(d), np.zeros((d, d)), np.zeros((d * d, d * d))
    if c.gradient.kind == "iid":
        noise, spread = _minibatches(subject, P)
    if subject.scheme.name == "sgld-euler":
        step = unit - h * P
        pairs = np.kron(step, step) + h * h * spread
        after = np.linalg.solve(np.eye(d * d) - pairs, (2 * T * h * unit + h * h * noise).ravel()).reshape(
            d, d
        )
    else:
        e, nothing = np.exp(-D * h / 2), 0 * unit
        drift = np.block([[unit, h / 2 * unit], [nothing, unit]])
        damp = np.block([[unit, nothing], [nothing, e * unit]])
        kick = np.block([[unit, nothing], [-h * P, unit]])
        drawn = np.block([[nothing, nothing], [nothing, 2 * D * T * h * unit + h * h * noise]])
        end = drift @ damp
        step = end @ kick @ damp @ drift
        after = linalg.solve_discrete_lyapunov(step, end @ drawn @ end.T)[:d, :d]
    return np.zeros(d), np.sqrt(np.diag(after) / np.diag(T * np.linalg.inv(P))) - 1


def _minibatches(subject: Subject, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The covariances of a minibatch's gradient at the mean, and of its Hessian as a vector. Shapes (d, d), (d^2, d^2)."""
    target, batch = subject.target, subject.configuration.gradient.batch
    data, d = np.asarray(target.data), target.dim
    mean, scale = target.mean_float64(), len(data) ** 2 / batch
    if target.name == "gaussian-mean":
        each, hessians = mean - data, np.zeros((len(data), d, d))
    else:
        x, y = data[:, :d], data[:, d]
        each, hessians = x * (x @ mean - y)[:, None], x[:, :, None] * x[:, None]
    noise = scale * np.cov(each.T, bias=True).reshape(d, d)
    away = hessians - hessians.mean(0)
    return noise, scale * np.mean([np.kron(one, one) for one in away], axis=0)


def line_chain(subject: Subject, h: float) -> Biases:
    """SGLD on the line, coordinate by coordinate where they are independent: the law that its transition density leaves."""
    c, target = subject.configuration, subject.target
    T = float(c.temperature)
    noise = float(c.gradient.covariance) if c.gradient.kind == "additive" else 0.0
    means, widths = [], []
    for place in range(target.dim):
        m, s = target.location_float64(T)[place], target.spread_float64(T)[place]
        width = np.sqrt(2 * T * h + h * h * noise)
        energy = target.energy_of_coordinate(place)
        x = m + np.arange(-9 * s, 9 * s, width / 1.5)
        x = x[energy(x) / T < energy(x).min() / T + 45]
        slope = (energy(x + CHANGE * s) - energy(x - CHANGE * s)) / (2 * CHANGE * s)
        moved = np.exp(-((x - (x - h * slope)[:, None]) ** 2) / (2 * width**2))
        moved /= moved.sum(1, keepdims=True)
        equations = np.vstack([(np.eye(len(x)) - moved).T[1:], np.ones(len(x))])
        law = np.linalg.solve(equations, np.eye(len(x))[-1])
        density = np.exp((energy(x).min() - energy(x)) / T)
        bias = _compared(x[:, None], law, density / density.sum())
        means.append(bias[0][0])
        widths.append(bias[1][0])
    return np.array(means), np.array(widths)


def plane_chain(subject: Subject, h: float) -> Biases:
    """SGLD with full gradients in two coordinates: the law that its density leaves, along the axes of the Gaussian at the mode."""
    target, T = subject.target, float(subject.configuration.temperature)
    mode = optimize.minimize(lambda x: float(target.energy_float64(x[None])[0]), target.location_float64(T)).x
    curvature = _hessian(target.gradient_float64, mode)
    values, axes = np.linalg.eigh(curvature)
    width = np.sqrt(2 * T * h)
    lines = [np.arange(-7 * s, 7 * s, width / 1.2) for s in np.sqrt(T / values)]
    points = mode + np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, 2) @ axes.T
    energy = target.energy_float64(points) / T
    near = energy < energy.min() + 25
    after = (points[near] - h * target.gradient_float64(points[near]) - mode) @ axes
    kernels = []
    for k in range(2):
        kernel = np.exp(-((lines[k] - after[:, k, None]) ** 2) / (2 * width**2))
        kernels.append(kernel / kernel.sum(1, keepdims=True))
    density = np.exp(energy.min() - energy[near])
    density /= density.sum()
    shape = (len(lines[0]), len(lines[1]))

    def moved(law: np.ndarray) -> np.ndarray:
        return np.asarray(((kernels[0] * law[:, None]).T @ kernels[1]).reshape(shape).ravel()[near])

    def apart(law: np.ndarray) -> np.ndarray:
        return np.asarray(law - moved(law) + density * law.sum())

    # The law less the density solves (1 - P) x = P density - density, of which nothing cancels.
    system = LinearOperator((len(density),) * 2, matvec=apart)
    left, _ = gmres(system, moved(density) - density, rtol=1e-8, restart=150, maxiter=3)
    law = density + left
    return _compared(points[near], law, density)


def run_chain(subject: Subject, h: float, steps: int = 2000, chains: int = 2000) -> tuple[Biases, Biases]:
    """SGLD with independent minibatches on a logistic or Poisson regression, by a run; and the standard errors.

    Beside it runs the linear chain at the mode, with the same draws and data, whose mean and covariance are exact.
    """
    target, batch, random = subject.target, subject.configuration.gradient.batch, np.random.default_rng(1)
    d, data = target.dim, np.asarray(target.data)
    x, y = data[:, :d], data[:, d]
    ratio = len(data) / batch

    def rate(z: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-z)) if target.name == "logistic-regression" else np.exp(z)

    mode = optimize.root(lambda t: t + (rate(x @ t) - y) @ x, np.zeros(d), tol=1e-13).x
    curvature = np.eye(d) + _hessian(lambda t: (rate(t @ x.T) - y) @ x, mode)
    still = (rate(x @ mode) - y)[:, None] * x
    noise = len(data) * ratio * np.cov(still.T, bias=True).reshape(d, d)
    exact = linalg.solve_discrete_lyapunov(np.eye(d) - h * curvature, 2 * h * np.eye(d) + h * h * noise)
    theta, linear = np.tile(mode, (chains, 1)), np.zeros((chains, d))
    first, second = np.zeros((chains, d)), np.zeros((chains, d))
    burn = int(8 / (h * np.linalg.eigvalsh(curvature)[0]))
    for k in range(burn + steps):
        rows, drawn = random.integers(len(data), size=(chains, batch)), random.standard_normal((chains, d))
        seen = x[rows]
        residual = rate(np.einsum("cnd,cd->cn", seen, theta)) - y[rows]
        slope = theta + ratio * np.einsum("cn,cnd->cd", residual, seen)
        theta = theta - h * slope + np.sqrt(2 * h) * drawn
        slope = linear @ curvature + mode + ratio * still[rows].sum(1)
        linear = linear - h * slope + np.sqrt(2 * h) * drawn
        if k >= burn:
            away = theta - mode
            first += (away - linear) / steps
            second += (away**2 - linear**2) / steps
    mean, square = first.mean(0), second.mean(0) + np.diag(exact)
    true, width, off = _posterior(subject, mode, curvature)
    sd = np.sqrt(square - mean**2)
    each = (second - 2 * mean * first) / (2 * sd)
    root = np.sqrt(chains)
    found = (mean - true) / width, sd / width - 1
    return found, (first.std(0) / root / width + off, each.std(0) / root / width + off)


def _posterior(
    subject: Subject, mode: np.ndarray, curvature: np.ndarray, count: int = 1_000_000
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean less the mode, standard deviations, and the larger of their relative errors, by weighted draws of a t at the mode."""
    random, d, freedom = np.random.default_rng(2), len(mode), 12.0
    root, parts = np.linalg.cholesky(np.linalg.inv(curvature)), []
    lowest = float(subject.target.energy_float64(mode[None])[0])
    for _ in range(count // 20_000):
        z = random.standard_normal((10_000, d))
        z = (
            np.concatenate([z, -z])
            / np.sqrt(random.chisquare(freedom, 10_000) / freedom)[[*range(10_000)] * 2, None]
        )
        away = z @ root.T
        weight = lowest - subject.target.energy_float64(mode + away)
        weight = np.exp(weight + (freedom + d) / 2 * np.log1p((z**2).sum(1) / freedom))
        parts.append(np.concatenate([[weight.sum()], weight @ away, weight @ away**2]))
    sums = np.array(parts)
    total = sums.sum(0)
    mean = total[1 : d + 1] / total[0]
    sd = np.sqrt(total[d + 1 :] / total[0] - mean**2)
    each = sums[:, 1:] / sums[:, :1]
    errors = each.std(0) / np.sqrt(len(each))
    return mean, sd, np.maximum(errors[:d] / sd, errors[d:] / (2 * sd**2))


def _hessian(gradient: Callable[[np.ndarray], np.ndarray], at: np.ndarray) -> np.ndarray:
    shifts = CHANGE * np.eye(len(at))
    found = (gradient(at + shifts) - gradient(at - shifts)) / (2 * CHANGE)
    return np.asarray((found + found.T) / 2)


def _compared(points: np.ndarray, law: np.ndarray, target: np.ndarray) -> Biases:
    mean, other = target @ points, law @ points
    sd, wide = np.sqrt(target @ (points - mean) ** 2), np.sqrt(law @ (points - other) ** 2)
    return (other - mean) / sd, wide / sd - 1


REGRESSION = {"target.name": "logistic-regression", "target.size": 100}
IID = {"gradient.kind": "iid"}
CASES = (
    Case("sgld-euler", {"target.name": "gaussian", "target.precision": 4.0}, gaussian_chain),
    Case("sghmc-aboba", {"target.name": "gaussian", "target.precision": [1.0, 4.0]}, gaussian_chain, 2),
    Case(
        "sgld-euler",
        {"target.name": "linear-regression", "target.dim": 10, "target.size": 100},
        gaussian_chain,
    ),
    Case("sgld-euler", {"target.name": "gaussian-mean", "target.size": 100, **IID}, gaussian_chain),
    Case(
        "sgld-euler",
        {"target.name": "linear-regression", "target.dim": 3, "target.size": 100, **IID},
        gaussian_chain,
    ),
    Case("sgld-euler", {"target.name": "double-well"}, line_chain),
    Case("sgld-euler", {"target.name": "quartic", "gradient.kind": "additive"}, line_chain),
    Case("sgld-euler", {"target.name": "mixture"}, line_chain),
    Case("sgld-euler", {"target.name": "double-well", "target.dim": 2}, line_chain),
    Case("sgld-euler", {"target.name": "quartic", "target.dim": 3, "gradient.kind": "additive"}, line_chain),
    Case("sgld-euler", {**REGRESSION, "target.dim": 1}, line_chain),
    Case("sgld-euler", {"target.name": "gamma-poisson"}, line_chain),
    Case("sgld-euler", {"target.name": "robust-regression", "target.dim": 1, "target.size": 20}, line_chain),
    Case("sgld-euler", {**REGRESSION, "target.dim": 2}, plane_chain, step=0.1),
    Case(
        "sgld-euler",
        {"target.name": "poisson-regression", "target.dim": 2, "target.size": 100},
        plane_chain,
        step=0.1,
    ),
    Case(
        "sgld-euler",
        {"target.name": "robust-regression", "target.dim": 2, "target.size": 100},
        plane_chain,
        step=0.1,
    ),
    Case("sgld-euler", {**REGRESSION, "target.dim": 2, **IID}, run_chain, None),
    Case(
        "sgld-euler",
        {"target.name": "poisson-regression", "target.dim": 2, "target.size": 100, **IID},
        run_chain,
        None,
    ),
    Case("sgld-euler", {**REGRESSION, "target.dim": 10, "target.size": 1000, **IID}, run_chain, None),
)


def compared(case: Case) -> Row | str:
    """The comparison; the reason where nothing is told."""
    subject = make_subject(case.scheme, load_configuration(**case.settings))
    started = time.process_time()
    told = how_large(subject)
    seconds = time.process_time() - started
    if told is None or told.distrust is not None:
        return "no method" if told is None else str(told.distrust)
    quantity, place = told.worst
    kind = 0 if quantity == "mean" else 1
    stated = told.uncertainty
    if case.power is None:
        found, errors = case.at(subject, subject.step)
        value, reference, error = told.error, float(found[kind][place]), float(errors[kind][place])
        what = f"{quantity} of theta[{place}] at h = {subject.step:.3g}"
    else:
        assert told.power is not None and told.power.order == case.power
        value, what = told.power.constant, f"{quantity} of theta[{place}], times h^{case.power}"
        reference, error = _constant(case, subject, kind, place)
        stated *= abs(value / told.error)
    target = f"{told.target}, d = {len(told.sd_bias)}"
    return Row(case.scheme, target, told.gradient, what, value, reference, error, stated, round(seconds, 2))


def _constant(case: Case, subject: Subject, kind: int, place: int) -> tuple[float, float]:
    """c of c h^K from the reference at h, h/2 and h/4, and the difference to that of the first two."""
    T, K = float(subject.configuration.temperature), case.power
    assert K is not None
    fastest = subject.target.curvature_float64(T)
    h = case.step / fastest if K == 1 else case.step / np.sqrt(fastest)
    one, two, three = (float(case.at(subject, h / 2**k)[kind][place]) / (h / 2**k) ** K for k in range(3))
    coarse, fine = 2 * two - one, 2 * three - two
    if K == 1:
        return (4 * fine - coarse) / 3, abs(fine - coarse) / 3
    return fine, abs(fine - coarse)


def make(folder: Path) -> None:
    """Compare every case, and write the table."""
    found = [(case, compared(case)) for case in CASES]
    rows = [asdict(row) for _, row in found if isinstance(row, Row)]
    place = folder / "coefficients"
    place.mkdir(exist_ok=True)
    write_atomically(place / "coefficients.json", "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    render(folder)


def render(folder: Path) -> None:
    """Write the page from the stored table."""
    place = folder / "coefficients"
    rows = [Row(**row) for row in json.loads((place / "coefficients.json").read_text(encoding="utf-8"))]
    write_atomically(place / "coefficients.md", page(rows))


def page(rows: list[Row]) -> str:
    """The table in Markdown."""
    good = sum(abs(row.told - row.reference) - 3 * row.error <= BAR * abs(row.reference) for row in rows)
    lines = [
        "# How large the bias is, told and computed",
        "",
        "Written by `python -m reports coefficients`: the largest error that `verify` tells, in standard deviations of the target.",
        "References are matrices, grids and runs of the report's own. `stated` is what the answer says that it may be off by.",
        "",
        f"{good} of {len(rows)} are within {BAR:.0%} of the reference, of whose error three times are left out.",
        "",
        "| scheme | target | gradient | what | told | stated | reference | error | ratio | seconds |",
        "| :-- | :-- | :-- | :-- | --: | --: | --: | --: | --: | --: |",
    ]
    lines += [
        f"| {row.scheme} | {row.target} | {row.gradient} | {row.what} | {row.told:.5g} | {row.stated:.1g} | {row.reference:.5g} | "
        f"{row.error:.1g} | {row.ratio:.4f} | {row.seconds:.2f} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"
