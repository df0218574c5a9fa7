"""The rates in awsgld's proofs: sums over k steps, the step sizes of assumption A5, and what an average's error is made of."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import flint
import numpy as np
from flint import arb

from sgverify.evidence.erratum import RefutingFamily
from sgverify.exact.numbers.ball import number
from sgverify.exact.weights.fixed_point import BITS
from sgverify.papers.formula import Examination, formula
from sgverify.schemes.composites.composite import omega_of

LONGEST = 4096
SETTINGS = {
    "exploration": {"scale": Fraction(1, 10), "alpha": Fraction(3, 5), "offset": 1000},
    "optimisation": {"scale": Fraction(100), "alpha": Fraction(3, 4), "offset": 1000},
}
"""omega_k as the paper's experiments have it."""
WEIGHTS = (1.0, 0.25)
"""theta^zeta of the two states, where ratios are taken."""
EPSILONS = (Fraction(1, 8), Fraction(1, 16), Fraction(1, 32))


def sum_of_errors() -> Examination:
    """(1/k) sum_j a_j <= C (1/k) sqrt(sum_j a_j^2), a_j^2 = E|theta_j - theta*|^2 = omega_j, as theorem 1 leaves it."""
    rows, growth, fails = {}, {}, []
    with flint.ctx.workprec(BITS):
        for name, squares in {"omega = 1": _ones, **{n: _omegas(n) for n in SETTINGS}}.items():
            roots, total = arb(0), arb(0)
            ratios = {}
            for k in range(1, LONGEST + 1):
                square = squares(k)
                roots, total = roots + square.sqrt(), total + square
                if k in (16, 256, LONGEST):
                    ratios[k] = roots / total.sqrt()
                # Cauchy and Schwarz; equal where all terms are.
                if roots > (k * total).sqrt() * (1 + arb(2) ** -100):
                    fails.append(f"{name}, k = {k}")
            rows[name] = {f"k = {k}": str(value.str(5, radius=False)) for k, value in ratios.items()}
            growth[name] = ratios[LONGEST] / ratios[16]
    unbounded = [name for name, value in growth.items() if value > 8]
    return Examination(
        printed=f"left side over right side grows like sqrt(k) for {', '.join(unbounded)}: see `left over right`"
        if unbounded
        else "",
        holds=", ".join(fails[:3]),
        family=RefutingFamily(
            along="k -> infinity",
            hypotheses=f"E|theta_j - theta*|^2 = omega_j, {unbounded[0]}",
            ratios=tuple(float(value) for value in rows[unbounded[0]].values()),
        )
        if unbounded
        else None,
        certificate={
            "left over right": rows,
            "why": "sum_j a_j <= sqrt(k) sqrt(sum_j a_j^2), with equality for equal terms",
        },
        method="exact",
    )


def sum_of_roots() -> Examination:
    """Below (39): sum_i sqrt(omega_i)/k <= sqrt(sum_i omega_i/k)."""
    fails = []
    with flint.ctx.workprec(BITS):
        for name in SETTINGS:
            roots, total = arb(0), arb(0)
            for k in range(1, LONGEST + 1):
                omega = _omegas(name)(k)
                roots, total = roots + omega.sqrt(), total + omega
                if roots / k > (total / k).sqrt() * (1 + arb(2) ** -100):
                    fails.append(f"{name}, k = {k}")
    return Examination(
        printed=", ".join(fails[:3]),
        holds="",
        certificate={"settings": list(SETTINGS), "k": f"1 to {LONGEST}", "for every k": "Cauchy and Schwarz"},
        method="exact",
    )


def step_sizes() -> Examination:
    """(31) for omega_k = A/(k^alpha + B): (omega_(k+1) - omega_k)/omega_(k+1)^2, which is added to 2 phi."""
    rows, fails = {}, []
    with flint.ctx.workprec(4 * BITS):
        for alpha in (Fraction(3, 5), Fraction(3, 4), Fraction(1)):
            values = {}
            for k in (10**6, 10**12, 10**18):
                one, two = _omega(k, alpha), _omega(k + 1, alpha)
                values[k] = (two - one) / two**2
            rows[f"alpha = {alpha}"] = {f"k = {k}": str(v.str(5, radius=False)) for k, v in values.items()}
            last = values[10**18]
            limit = -1 if alpha == 1 else 0
            if not (last - limit).abs_upper() < 1e-3:
                fails.append(f"alpha = {alpha}")
    return Examination(
        printed=", ".join(fails),
        holds="",
        certificate={
            "A = 1, B = 1": rows,
            "so": "the limit is 0 for alpha < 1, and -1/A for alpha = 1, where A > 1/(2 phi) is what suits",
        },
        method="exact",
    )


def mean_absolute_error() -> Examination:
    """(41): E|average - mean| held to lemma 6's bound of |E average - mean|, for a chain on two states that flips with chance eps.

    The chain starts in equilibrium and its law is exact at every eps, theta is constant: lemma 6 has 0 on its left. f = 1, -1.
    """
    rows, ratios, fails = {}, [], []
    for eps in EPSILONS:
        steps = int(1 / eps**2)
        absolute = _mean_absolute(float(eps), steps)
        bound = 1 / (steps * eps) + eps
        ratios.append(absolute / float(bound))
        rows[f"eps = {eps}, k = {steps}"] = {
            "E|average|": f"{absolute:.6f}",
            "1/(k eps) + eps": str(bound),
            "1/sqrt(k eps)": f"{float(1 / (steps * eps)) ** 0.5:.6f}",
        }
        if absolute > (1 / (steps * float(eps))) ** 0.5:
            fails.append(f"eps = {eps}")
    ratio = {f"eps = {eps}": _ratio(float(eps), int(1 / eps**2)) for eps in EPSILONS}
    sizes = [abs(row["bias of the ratio"]) * row["k eps"] for row in ratio.values()]
    # What closes the gap: the bias of the ratio is within the two terms, and does not grow against 1/(k eps).
    fails += [name for name, row in ratio.items() if abs(row["bias of the ratio"]) > row["bound"]]
    if not all(b < 1.2 * a for a, b in itertools.pairwise(sizes)) or _identity():
        fails.append("the expansion of the ratio")
    # Along k = eps^-2 the one is of order eps^(1/2), the other of order eps.
    growing = all(b > 1.2 * a for a, b in itertools.pairwise(ratios))
    return Examination(
        printed=f"E|average|/(1/(k eps) + eps) = {', '.join(f'{r:.3f}' for r in ratios)} at eps = {', '.join(map(str, EPSILONS))}, "
        "k = 1/eps^2: it grows like eps^(-1/2)"
        if growing
        else "",
        holds=", ".join(fails),
        family=RefutingFamily(
            along="eps -> 0, k = eps^-2",
            hypotheses="a chain of two states in equilibrium, its law exact at every eps, theta constant",
            ratios=tuple(ratios),
        )
        if growing
        else None,
        certificate={
            "chain": "two states, f = 1 and -1, flips with chance eps, starts in equilibrium: |E average - mean| = 0",
            "exactly": rows,
            "why": "lemma 6 bounds the bias of an average, (41) its mean absolute error, of the order of its standard deviation",
            "the gap closed": "with averages A = a + x, B = b + y and r = a/b, A/B - r = (x - r y)/b - (x - r y) y/(b B), an "
            "identity: |E A/B - r| <= |E (x - r y)|/b + sqrt(E (x - r y)^2 E y^2)/(b min B), biases and mean squares; mean "
            "squares are variances O(1/(k eps)) and squared biases, and min B is above 0 as theta is by A1",
            f"the ratio on this chain, weights theta^zeta = {WEIGHTS[0]} and {WEIGHTS[1]}": {
                name: {key: f"{value:.6g}" for key, value in row.items()} for name, row in ratio.items()
            },
            "k eps times the bias of the ratio": ", ".join(f"{size:.4f}" for size in sizes),
        },
        method="exact",
    )


def _identity() -> str:
    """What is left of A/B - r = (x - r y)/b - (x - r y) y/(b B), A = a + x, B = b + y, r = a/b."""
    from sympy import simplify, symbols

    a, b, x, y = symbols("a b x y")
    r = a / b
    left = simplify((a + x) / (b + y) - r - (x - r * y) / b + (x - r * y) * y / (b * (b + y)))
    return str(left) if left != 0 else ""


def _ratio(eps: float, steps: int) -> dict[str, float]:
    """sum w f/sum w over k steps of the chain: its bias, the second-order term, and the bound by biases and mean squares."""
    law = _visits(eps, steps)
    share = np.arange(steps + 1) / steps
    first, second = WEIGHTS
    above, below = first * share - second * (1 - share), first * share + second * (1 - share)
    a, b = (first - second) / 2, (first + second) / 2
    r = a / b
    apart, spread = above - r * below, below - b
    square = float(law @ apart**2) * float(law @ spread**2)
    return {
        "k eps": steps * eps,
        "bias of the ratio": float(law @ (above / below)) - r,
        "second-order term": -float(law @ (apart * spread)) / b**2,
        "bound": abs(float(law @ apart)) / b + square**0.5 / (b * min(WEIGHTS)),
    }


def _mean_absolute(eps: float, steps: int) -> float:
    """E|(1/k) sum f(X_i)|."""
    sums = 2 * np.arange(steps + 1) - steps
    return float((_visits(eps, steps) @ np.abs(sums)) / steps)


def _visits(eps: float, steps: int) -> np.ndarray:
    """The law of the number of visits to the first state; sums of positive terms: right to k rounding errors. Shape (k + 1,)."""
    law = np.zeros((2, steps + 1))
    law[0, 1] = law[1, 0] = 0.5
    for _ in range(steps - 1):
        up = (1 - eps) * law[0] + eps * law[1]
        down = eps * law[0] + (1 - eps) * law[1]
        law[0, 1:], law[0, 0] = up[:-1], 0.0
        law[1] = down
    return np.asarray(law.sum(0))


def _ones(k: int) -> arb:
    return arb(1)


def _omegas(name: str) -> Callable[[int], arb]:
    chosen = SETTINGS[name]
    scale, offset = number(chosen["scale"]), number(chosen["offset"])
    alpha = chosen["alpha"]
    return lambda k: omega_of(arb(k), scale=scale, alpha=alpha, offset=offset)


def _omega(k: int, alpha: Fraction) -> arb:
    found: arb = omega_of(arb(k), scale=arb(1), alpha=alpha, offset=arb(1))
    return found


FORMULAS = (
    formula("awsgld/equation-31", step_sizes),
    formula("awsgld/equation-39", sum_of_roots),
    formula("awsgld/equation-40", sum_of_errors),
    formula("awsgld/equation-42", sum_of_errors),
    formula("awsgld/equation-41", mean_absolute_error),
)
