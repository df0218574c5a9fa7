"""The page and the LaTeX tables of the gallery, written from the numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reports.making.gallery.frame import RAISED, Numbers, Picture

NOTHING = "-"
_POWER = re.compile(r"\^(-?\d+)")
Row = Mapping[str, Any]

GAUSSIAN_HEAD = (
    "scheme", "local order K", "stable below h", "gradients a step", "bias", "asymptotic variance", "best h", "steps", "gradients",
)  # fmt: skip
WELL_HEAD = (
    "scheme",
    "local order K",
    "evaluations a step",
    "bias",
    "largest h",
    "evaluations a unit of time",
)
DEPENDENT_HEAD = (
    "scheme", "bias, reshuffled", "gradients a step", "bias, SVRG", "gradients a step", "bias, full gradients",
)  # fmt: skip
LOGISTIC_HEAD = ("scheme", "friction", "gradients a step", "best h", "bias", "steps", "gradients")


def page(numbers: Numbers, pictures: Sequence[Picture]) -> str:
    """schemes.md: the tables with what they mean, and every picture with its caption."""
    given = numbers["settings"]
    per_cent = f"{100 * given['tolerance']:g} %"
    lines = [
        "# Which scheme for what",
        "",
        "Written by `python -m reports gallery`. Every number is computed: orders are proved, numbers on the Gaussian posterior "
        "are exact, those on the double well come from transfer operators on grids that estimate their own error.",
        "",
        *_in_words(numbers),
        "",
        "## A Gaussian posterior",
        "",
        f"x_i ~ N(θ, 1), θ ~ N(0, 1), with {given['data']} data evenly spaced from "
        f"{given['data_from']:g} to {given['data_to']:g}: the "
        f"posterior is N(0, 1/{given['precision']:g}), and the average is E θ², its variance. Friction D = {given['friction']:g}, "
        "critical damping.",
        "",
        f"*bias*: the leading term of the stationary bias of θ² as h → 0. *best h*, *steps*, *gradients*: the step size at which "
        f"the root mean square error of the average falls to {per_cent} of its value with the fewest gradients of single data, "
        "after burn-in. *asymptotic variance*: v(h) there, relative to (E θ²)²; an average over L steps has the "
        "variance v/L, where L is "
        "large against the autocorrelation time. Gradients are counted as a definition asks for them: a step that ends with the "
        "full gradient with which the next one begins (BAOAB, OBABO) can keep it, and then needs half.",
        "",
    ]
    titles = {
        "full": "Full gradients",
        "minibatch": f"Minibatches of {given['batch']}, drawn with replacement",
    }
    for kind, rows in numbers["gaussian"].items():
        reached = [row for row in rows if "why" not in row]
        lines += [
            f"### {titles[kind]}",
            "",
            *_table(GAUSSIAN_HEAD, (_gaussian(row, numbers) for row in reached)),
            "",
        ]
    lines += [*_of_dependent(numbers), *_of_logistic(numbers)]
    lines += [
        "## A double well",
        "",
        f"U = (θ² - 1)² + θ/4, with full gradients at friction D = {given['well']['friction']:g}; grids take no minibatches. "
        f"*largest h*: below it the bias of θ² stays within {per_cent} of E θ². *evaluations a unit of time*: "
        f"gradients that a chain takes "
        "there for a unit of the diffusion's time. The asymptotic variance, and with it a cost, is not computed on "
        "grids of position and "
        "momentum. Chains of explicit steps escape from a quartic well in the end; the law is that before they do.",
        "",
        *_table(WELL_HEAD, (_well(row, numbers) for row in numbers["well"] if "why" not in row)),
        "",
        "## What is left out",
        "",
        *_left_out(numbers),
        "",
        "## Pictures",
        "",
        "`python -m reports gallery --stored` draws each as PDF as well.",
        "",
    ]
    for picture in pictures:
        lines += [
            f"### {picture.title}",
            "",
            f"![{picture.title}](figures/{picture.name}.svg)",
            "",
            picture.caption,
            "",
        ]
    return _POWER.sub(lambda found: found[1].translate(RAISED), "\n".join(lines)).rstrip() + "\n"


def _of_dependent(numbers: Numbers) -> list[str]:
    """Minibatches that depend on those before, on the Gaussian posterior."""
    rows = _dependent(numbers)
    same = [row[0] for row in rows if row[3] == row[5]]
    said = (
        "SVRG leaves the bias of full gradients to every scheme: the Hessian of each datum is the same on this posterior, and its "
        "estimates have no noise."
        if len(same) == len(rows)
        else f"With SVRG {', '.join(same) or 'no scheme'} has the bias of full gradients."
    )
    return [
        f"### Minibatches of {numbers['settings']['dependent_batch']} that depend on those before",
        "",
        f"Reshuffled data, and variance reduced by a snapshot (SVRG). The bias is exact; a cost is not computed, as the long-run "
        f"variance of noise that depends from step to step is not. {said}",
        "",
        *_table(DEPENDENT_HEAD, rows),
        "",
    ]


def _dependent(numbers: Numbers) -> list[list[str]]:
    full = {row["scheme"]: row for row in numbers["gaussian"]["full"]}
    rows = zip(*numbers["dependent"].values(), strict=True)
    return [
        [
            f"`{one['scheme']}`", _bias(one), f"{one['gradients_per_step']:g}", _bias(two), f"{two['gradients_per_step']:g}",
            _bias(full[one["scheme"]]),
        ]
        for one, two in rows
        if "why" not in one and "why" not in two and "why" not in full[one["scheme"]]
    ]  # fmt: skip


def _of_logistic(numbers: Numbers) -> list[str]:
    """The logistic posterior, full gradients and minibatches."""
    given = numbers["settings"]["logistic"]
    lines = [
        "## A logistic posterior",
        "",
        f"Bayesian logistic regression with {given['dim']} covariates and {given['size']} data, as `sgverify advise` plans it: "
        f"each mean and standard deviation of θ within {100 * given['error']:g} % of a standard deviation, by a Gaussian "
        "approximation at the mode. No chain is run. Frictions and steps are those of the cheapest plan of each scheme; *bias* is "
        "the largest there.",
        "",
    ]
    for kind, title in (
        ("full", "Full gradients"),
        ("minibatch", f"Minibatches of {given['batch']}, drawn with replacement"),
    ):
        found = numbers["logistic"][kind]
        lines += [f"### {title}, logistic posterior", ""]
        if found["distrust"]:
            lines += [f"Not to be trusted: {found['distrust']}.", ""]
        lines += [*_table(LOGISTIC_HEAD, _logistic(numbers, kind)), ""]
    return lines


def _logistic(numbers: Numbers, kind: str) -> list[list[str]]:
    return [
        [
            f"`{plan['scheme']}`", NOTHING if plan["friction"] is None else f"{plan['friction']:g}",
            f"{plan['gradients_per_step']:g}", _number(plan["step"]), f"{100 * plan['bias']:.2g} %", _number(plan["steps"]),
            _number(plan["gradients"]),
        ]
        for plan in numbers["logistic"][kind]["plans"]
    ]  # fmt: skip


def _in_words(numbers: Numbers) -> list[str]:
    """What the tables say, computed from them."""
    told = {kind: [row for row in rows if "why" not in row] for kind, rows in numbers["gaussian"].items()}
    per_cent = f"{100 * numbers['settings']['tolerance']:g} %"
    said = []
    for kind, words in (("full", "With full gradients"), ("minibatch", "With minibatches")):
        rows = sorted(told[kind], key=lambda row: row["gradients"])
        first, last = rows[0], rows[-1]
        said.append(
            f"- {words}, {first['scheme']} knows the variance of the Gaussian posterior within {per_cent} "
            f"for {_number(first['gradients'])}"
            f" gradients, {last['scheme']} for {_number(last['gradients'])}."
        )
    unbiased = [row["scheme"] for row in told["full"] if row["bias_order"] is None]
    if unbiased:
        well = {row["scheme"]: row.get("bias_order") for row in numbers["well"]}
        orders = {scheme: well[scheme] for scheme in unbiased if well[scheme]}
        beyond = ", ".join(f"{scheme} of order h^{order:g}" for scheme, order in orders.items())
        said.append(
            f"- {' and '.join(unbiased)} have no bias up to h^{told['full'][0]['orders_computed']} on the Gaussian posterior with "
            f"full gradients: that is a property of the Gaussian. On the double well there is one: {beyond}."
        )
    fresh = {row["bias_order"] for row in told["minibatch"]}
    if fresh == {1}:
        said.append("- With fresh minibatches the bias of every scheme here is of order h.")
    return said


def _gaussian(row: Row, numbers: Numbers) -> list[str]:
    square = row["truth"] ** 2
    return [
        f"`{row['scheme']}`", _order(row, numbers), _number(row["stability_limit"]), f"{row['gradients_per_step']:g}", _bias(row),
        _number(row["variance"] / square), _number(row["step"]), _number(row["steps"]), _number(row["gradients"]),
    ]  # fmt: skip


def _well(row: Row, numbers: Numbers) -> list[str]:
    step = row.get("step")
    largest = (
        _number(step)
        if step
        else (f"> {_number(row['searched_to'])}" if "searched_to" in row else "not computed")
    )
    time = row.get("gradients_per_time")
    return [
        f"`{row['scheme']}`", _order(row, numbers), f"{row['gradients_per_step']:g}", _bias(row), largest,
        NOTHING if time is None else _number(time),
    ]  # fmt: skip


def _order(row: Row, numbers: Numbers) -> str:
    given = numbers["local_order"][row["scheme"]]["given"]
    return NOTHING if given is None else str(given)


def _bias(row: Row) -> str:
    if row["bias_order"] is None:
        return f"none up to h^{row['orders_computed']}" if "orders_computed" in row else "none told from 0"
    return f"{_number(row['bias_constant'])} {_power(row['bias_order'])}"


def _power(order: float) -> str:
    return "h" if order == 1 else f"h^{order:g}"


def _left_out(numbers: Numbers) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for place, rows in (
        ("the Gaussian posterior", numbers["gaussian"]["full"]),
        ("the double well", numbers["well"]),
    ):
        for row in rows:
            why = row.get("why") or row.get("why_no_step")
            if why:
                told = why.replace(f"`{row['scheme']}`", "the scheme")
                reasons.setdefault(f"{place}: {told}", []).append(f"`{row['scheme']}`")
    said = [f"- {', '.join(schemes)}, {reason}." for reason, schemes in reasons.items()]
    orders = [name for name, found in numbers["local_order"].items() if found["given"] is None]
    if orders:
        said.append(
            f"- {', '.join(f'`{name}`' for name in orders)}: the step has no power series from which an order is proved."
        )
    said.append(
        "- Composites (replica exchange, adaptive weights), changing step sizes and metrics are not in the tables."
    )
    return said


def latex(numbers: Numbers) -> str:
    """schemes.tex: the same tables with booktabs, to be read by `input` in a paper."""
    lines = ["% Written by python -m reports gallery. Needs \\usepackage{booktabs}.", ""]
    for kind, rows in numbers["gaussian"].items():
        reached = [row for row in rows if "why" not in row]
        lines += [
            f"% A Gaussian posterior, {kind} gradients.",
            *_tabular(GAUSSIAN_HEAD, [_gaussian(row, numbers) for row in reached]),
            "",
        ]
    lines += [
        "% A Gaussian posterior, minibatches that depend on those before.",
        *_tabular(DEPENDENT_HEAD, _dependent(numbers)),
        "",
    ]
    for kind in numbers["logistic"]:
        lines += [
            f"% A logistic posterior, {kind} gradients.",
            *_tabular(LOGISTIC_HEAD, _logistic(numbers, kind)),
            "",
        ]
    lines += [
        "% A double well, full gradients.",
        *_tabular(WELL_HEAD, [_well(row, numbers) for row in numbers["well"] if "why" not in row]),
    ]
    return "\n".join(lines) + "\n"


def _tabular(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    body = [" & ".join(_tex(text) for text in row) + r" \\" for row in rows]
    return [
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        " & ".join(_tex(text) for text in head) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _tex(text: str) -> str:
    if text.startswith("`"):
        return rf"\texttt{{{text.strip('`')}}}"
    words = []
    for word in text.split(" "):
        if word and ((word != NOTHING and word[0] in "-0123456789>") or word in ("h", "K") or "h^" in word):
            made = word.replace("h^", "h^{") + ("}" if "h^" in word else "")
            if "·10^" in made:
                lead, _, power = made.partition("·10^")
                made = rf"{lead} \cdot 10^{{{power}}}"
            words.append(f"${made}$")
        else:
            words.append("--" if word == NOTHING else word.replace("%", r"\%"))
    return " ".join(words)


def _number(value: float) -> str:
    """Three figures, as a reader writes them: 0.0123, 1234, 2.6·10^8."""
    if not value:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if -4 < exponent < 5:
        return f"{float(f'{value:.3g}'):.10g}"
    lead = float(f"{value / 10.0**exponent:.3g}")
    return f"{lead:g}·10^{exponent}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|---|" + "---:|" * (len(head) - 1),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
