"""One picture for each idea of the theory, drawn from the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.making.gallery.frame import Numbers, Picture, label, log_log, pairs, slope
from sgverify.report.colours import COLOURS, SOFT

ONE, TWO, THREE, FOUR = COLOURS[:4]


def local_error(axes: Any, numbers: Numbers) -> None:
    """The local error and the bias by step size, one panel for each scheme."""
    for axis, row in zip(axes[0], numbers["ideas"]["local-error"], strict=True):
        order = row["order"]
        for name, colour, exponent, text in (
            ("local", ONE, order + 1, "error of one step"),
            ("bias", TWO, order, "bias of the invariant law"),
        ):
            x, y = pairs(row["steps"], row[name])
            axis.plot(x, y, "o-", color=colour, markersize=3.5, linewidth=1.2)
            axis.plot(x, [y[0] * (h / x[0]) ** exponent for h in x], "--", color=SOFT, linewidth=0.7)
            if name == "bias":
                label(axis, (x[4], y[4]), text, colour, (-8, 8), ha="right")
            else:
                label(axis, (x[2], y[2]), text, colour, (10, -6))
            label(axis, (x[-1], y[0] * (x[-1] / x[0]) ** exponent), f"h^{exponent}", SOFT, fontsize=7.5)
        axis.set_title(f"{row['scheme']}, local order {order}")
        log_log(axis, "step size h", "")
    axes[0][0].set_ylabel("|error of E θ²|")


def palindrome(axes: Any, numbers: Numbers) -> None:
    """The size of the logarithm of a word at each degree; a cross where it is zero."""
    for axis, row in zip(axes[0], numbers["ideas"]["palindrome"], strict=True):
        word, sizes = row["word"], row["sizes"]
        even = word == word[::-1]
        for degree, size in enumerate(sizes, start=1):
            if degree == 1:
                continue
            if size:
                axis.bar(degree, size, color=ONE if even else TWO, width=0.6)
            else:
                label(axis, (degree, 0.0), "0", ONE, (0, 6), ha="center", fontsize=9)
        axis.set(
            title=word + (", a palindrome" if even else ""),
            xlabel="degree in h",
            ylim=(0, 0.55),
            xlim=(1.4, 6.6),
        )
        axis.set_xticks(range(2, len(sizes) + 1))
    axes[0][0].set_ylabel("sum of |coefficients|")


def minibatch(axes: Any, numbers: Numbers) -> None:
    """What minibatches add in one step, beside (h^2/2) E(dV)^2, and in the invariant law."""
    found = numbers["ideas"]["minibatch"]
    steps = found["steps"]
    one, law = axes[0]
    for row, colour in zip(found["rows"], (TWO, THREE, FOUR), strict=True):
        one.plot(steps, row["predicted"], color=colour, linewidth=1.2)
        one.plot(steps, row["one_step"], "o", color=colour, markersize=4)
        law.plot(steps, row["law"], "o-", color=colour, markersize=3.5, linewidth=1.2)
        for axis, values in ((one, row["one_step"]), (law, row["law"])):
            label(axis, (steps[-1], values[-1]), f"n = {row['batch']}", colour)
    law.plot(steps, found["bias"], color=SOFT, linewidth=1.2)
    label(law, (steps[-1], found["bias"][-1]), "full", SOFT)
    slope(one, (steps[4], found["rows"][-1]["one_step"][4] / 20), 5, 2, "h²")
    slope(law, (steps[4], found["bias"][4] / 6), 5, 1, "h")
    one.set_title("one step: points; (h²/2) E(ΔV)² θ²: lines")
    law.set_title("invariant law")
    log_log(one, "step size h", "what minibatches add to E θ²")
    log_log(law, "step size h", "")


def bias_variance(axes: Any, numbers: Numbers) -> None:
    """Bias^2, variance and mean square error by step size; the best step by length."""
    found = numbers["ideas"]["bias-variance"]
    left, right = axes[0]
    scale = found["truth"] ** 2
    for name, colour, text, at, shift, side in (
        ("squared_bias", TWO, "bias²", 11, (-6, 0), "right"),
        ("variance", THREE, "variance", 16, (4, 0), "left"),
        ("mean_square_error", ONE, "mean square error", 3, (4, 10), "left"),
    ):
        values = [value / scale for value in found[name]]
        style = "o-" if name == "mean_square_error" else "-"
        left.plot(found["steps"], values, style, color=colour, markersize=3.5, linewidth=1.2)
        label(left, (found["steps"][at], values[at]), text, colour, shift, ha=side)
    left.set_ylim(min(v / scale for v in found["variance"]) / 5, None)
    left.set_title(f"{found['scheme']}, L = {found['length']:,} steps")
    log_log(left, "step size h", "relative to (E θ²)²")
    for row, colour in zip(found["best"], (TWO, ONE), strict=True):
        right.plot(row["lengths"], row["steps"], "o-", color=colour, markersize=3.5, linewidth=1.2)
        exponent = -1 / (2 * row["order"] + 1)
        label(
            right,
            (row["lengths"][2], row["steps"][2]),
            f"{row['scheme']}, K = {row['order']}",
            colour,
            (0, 12),
        )
        slope(
            right, (row["lengths"][5], row["steps"][5] * 0.75), 30, exponent, f"L^(-1/{2 * row['order'] + 1})"
        )
    right.set_title("the best step")
    log_log(right, "length L", "step size h")


def replica_swaps(axes: Any, numbers: Numbers) -> None:
    """The two laws over the landscape; by the warm temperature the chance of a swap, and the warm replica's rate of crossing."""
    found = numbers["ideas"]["replica-swaps"]
    left, right = axes[0]
    for name, colour in (("cold", ONE), ("warm", TWO)):
        left.plot(found["x"], found[name], color=colour, linewidth=1.4)
        left.fill_between(found["x"], found[name], color=colour, alpha=0.12, linewidth=0)
    peak, barrier = int(np.argmax(found["cold"])), int(np.argmin(np.abs(found["x"])))
    label(left, (found["x"][peak], found["cold"][peak]), "T = 1", ONE, (8, -4))
    warm = f"T = {found['warm_temperature']:g}"
    label(left, (found["x"][barrier], found["warm"][barrier]), warm, TWO, (0, 8), ha="center")
    left.set(
        title="two replicas of a double well", xlabel="θ", ylabel="density", xlim=(-2.2, 2.2), ylim=(0, None)
    )
    x = found["temperatures"]
    right.plot(x, found["chances"], color=ONE, linewidth=1.4)
    right.plot(x, found["gaps"], color=TWO, linewidth=1.4)
    label(right, (x[-1], found["chances"][-1]), "mean chance of a swap", ONE, (0, -12), ha="right")
    label(right, (x[-1], found["gaps"][-1]), "rate at which the warm one crosses", TWO, (-30, 2), ha="right")
    right.set_title("the warmer, the freer, and the fewer swaps")
    log_log(right, "temperature of the warm replica", "chance; rate in 1/time")


def flattened(axes: Any, numbers: Numbers) -> None:
    """Energy and law, before and after the weights of the fixed point."""
    found = numbers["ideas"]["flattened"]
    for axis, names, unit in (
        (axes[0][0], ("energy", "flattened"), "energy / T"),
        (axes[0][1], ("law", "flattened_law"), "density"),
    ):
        for name, colour, text in zip(names, (SOFT, ONE), ("U", "with weights"), strict=True):
            x, y = np.array(found["x"]), np.array(found[name])
            axis.plot(x, y, color=colour, linewidth=1.4)
            at = (
                int(np.argmin(abs(x)))
                if name in ("energy", "flattened", "flattened_law")
                else int(np.argmax(y))
            )
            label(axis, (x[at], y[at]), text, colour, (0, 9), ha="center")
        axis.set(xlabel="θ", ylabel=unit, xlim=(-2, 2))
    axes[0][0].set(ylim=(-0.5, 12), title="the landscape")
    axes[0][1].set(ylim=(0, None), title="what a chain visits")


PICTURES = (
    Picture(
        "local-error",
        "From the error of one step to the bias of the invariant law",
        "A local error of order h^(K+1), made 1/h times in a unit of time, leaves a bias of order h^K. Exact, full gradients, a "
        "Gaussian posterior.",
        local_error,
    ),
    Picture(
        "palindrome",
        "A palindrome has no even degrees",
        "log(exp(c1 X1) exp(c2 X2) ...) is A + B and, at each higher degree in h, commutators: the sum of the sizes of their exact "
        "coefficients. A palindrome is its own inverse at -h, so that every even degree vanishes and its order is even.",
        palindrome,
        columns=4,
        size=(8.8, 2.8),
    ),
    Picture(
        "minibatch",
        "What minibatches cost",
        "A fresh minibatch adds (h²/2) E(ΔV)² to one step of sgld-euler, ΔV the noise of the gradient; 1/h steps make it a bias of "
        "order h, whatever the order of the scheme. Points are exact, lines the term alone.",
        minibatch,
    ),
    Picture(
        "bias-variance",
        "Bias against variance",
        "The mean square error of an average over L steps is bias² + variance: large steps are biased, small ones explore slowly. "
        "The best step falls like L^(-1/(2K+1)).",
        bias_variance,
    ),
    Picture(
        "replica-swaps",
        "Why replicas swap",
        "The laws of two replicas on a double well; and by the temperature of the warm one the mean chance of a swap, exact over "
        "both Gibbs laws, and the rate at which it crosses, the spectral gap of its diffusion.",
        replica_swaps,
    ),
    Picture(
        "flattened",
        "A landscape flattened by weights",
        "Contour stochastic gradient Langevin dynamics divides the density by the mass of each energy region, at its fixed point: "
        "the energy in which a chain then moves, and the law that it visits; draws are weighed back.",
        flattened,
    ),
)
