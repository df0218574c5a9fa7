"""Equal cost: which scheme has the smallest error for a given number of gradients of single data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sgverify.checks.rates.engines import exact_answers
from sgverify.configuration import load_configuration
from sgverify.errors import find_named
from sgverify.evidence import Cell, Panel, Series, Study, Table
from sgverify.papers.chen2015.figures import settings
from sgverify.papers.chen2015.figures.equal_cost_search import LIMIT, Best, Runner
from sgverify.papers.chen2015.suite import SCHEMES
from sgverify.rates.verdict import leading_power
from sgverify.subject.binding import make_subject

FRICTION = max(settings.FRICTIONS)
"""Of the printed ones, that nearest to the target's own rate sqrt(N + 1), where momentum helps most."""

TIE = 1e-3
"""Schemes whose errors differ by less, relatively, win together."""

COST = "gradients of single data"

GRADIENTS = {"full": "full gradients", "iid": f"minibatches of {settings.BATCH}"}


def winners(races: Sequence[Race]) -> Table:
    """The scheme with the smallest error at each budget, and its margin."""
    rows: list[tuple[Cell, ...]] = []
    for budget in races[0].budgets:
        across: list[tuple[str, Best]] = []
        for item in races:
            ranking = item.ranking(budget)
            if not ranking:
                rows.append(
                    (power(budget), GRADIENTS[item.kind], "none: no full step is paid for", None, None, "")
                )
                continue
            across += [(f"{name}, {GRADIENTS[item.kind]}", best) for name, best in ranking]
            rows.append((power(budget), GRADIENTS[item.kind], *_result(ranking)))
        rows.append((power(budget), "either", *_result(sorted(across, key=lambda pair: pair[1].rmse))))
    return Table(
        "Winner at each budget",
        (
            f"budget, {COST}",
            "gradients",
            "winner",
            "RMSE",
            "best h",
            "runner-up, and its RMSE over the winner's",
        ),
        tuple(rows),
    )


def at_best(item: Race) -> Table:
    """Every scheme at its best step size, for the first, the middle and the last budget."""
    shown = sorted({item.budgets[0], item.middle, item.budgets[-1]})
    rows = []
    for budget in shown:
        for name, best in item.ranking(budget):
            runner = item.runners[name]
            rows.append(
                (
                    power(budget),
                    name,
                    best.length,
                    best.step,
                    best.rmse,
                    runner.autocorrelation_time(best.step),
                    best.end,
                )
            )
    return Table(
        f"At the best step size, {GRADIENTS[item.kind]}",
        (f"budget, {COST}", "scheme", "L", "best h", "RMSE", "IAT in steps", "optimum"),
        tuple(rows),
    )


def constants(races: Sequence[Race]) -> Table:
    """The cost of a step, and the leading terms of bias and variance as h falls."""
    rows = []
    for item in races:
        for name, runner in item.runners.items():
            answers = exact_answers(runner.subject)
            bias = answers.expansion.values
            q = leading_power(bias, [value == 0 for value in bias])
            rows.append(
                (
                    GRADIENTS[item.kind],
                    name,
                    runner.gradients,
                    runner.cost,
                    runner.subject.step_sizes.limit,
                    "none" if q is None else q,
                    None if q is None else bias[q],
                    answers.variance,
                )
            )
    return Table(
        "Constants: bias b_q h^q + ..., variance sigma_0^2/(L h) + ... as h falls",
        (
            "gradients",
            "scheme",
            "evaluations a step",
            f"cost of a step, {COST}",
            "stability limit of h",
            "q",
            "b_q",
            "sigma_0^2",
        ),
        tuple(rows),
    )


def power(budget: int) -> str:
    """A budget as a reader writes it: 1e6."""
    exponent = math.log10(budget)
    return f"1e{exponent:.0f}" if exponent == round(exponent) else f"{budget:.3g}"


@dataclass(frozen=True)
class _Effort:
    """Budgets, how many points a curve over the step size has, and which schemes run."""

    budgets: tuple[int, ...]
    points: int
    schemes: tuple[str, ...]


EFFORTS = {
    "quick": _Effort((10**4, 10**6, 10**8), 16, ("sgld-euler", "sghmc-euler", "sghmc-aboba", "sghmc-baoab")),
    "default": _Effort(tuple(10**k for k in range(4, 10)), 26, SCHEMES),
    "full": _Effort(tuple(round(10 ** (k / 2)) for k in range(8, 21)), 51, SCHEMES),
}


@dataclass(frozen=True)
class Race:
    """Every scheme at its best step size under one gradient estimator."""

    kind: str
    budgets: tuple[int, ...]
    runners: dict[str, Runner]

    @cached_property
    def best(self) -> dict[str, list[Best | None]]:
        """The smallest error of each scheme at each budget."""
        return {name: runner.best(self.budgets) for name, runner in self.runners.items()}

    def ranking(self, budget: int) -> list[tuple[str, Best]]:
        """The schemes that can pay for a step, best first."""
        place = self.budgets.index(budget)
        found = [(name, best[place]) for name, best in self.best.items()]
        paid = [(name, best) for name, best in found if best is not None]
        return sorted(paid, key=lambda pair: pair[1].rmse)

    @property
    def middle(self) -> int:
        """The budget at which errors are shown against the step size."""
        return self.budgets[len(self.budgets) // 2]


def equal_cost(effort: str) -> Study:
    """RMSE of theta^2 at equal cost, exactly, for full gradients and minibatches on the model of chen2015 section 5."""
    chosen = find_named("effort", effort, EFFORTS)
    races = [race(kind, chosen) for kind in GRADIENTS]
    return Study(
        id="chen2015/equal-cost",
        title="Equal cost: the best step size, and which scheme wins at which budget",
        source="chen2015 section 5 (model and minibatches), Figure 3 (friction)",
        summary=(
            "Every scheme is given the same number of gradients of single data and takes the step size at which its exact "
            "root mean square error is smallest. A larger step forgets faster and is biased more; the best one balances the "
            "two. A full gradient costs N, a minibatch n, and a scheme pays for every evaluation that cannot be saved."
        ),
        panels=tuple(
            panel
            for part in (_errors, _steps, _over_steps, _draws)
            for panel in (part(item) for item in races)
        ),
        tables=(winners(races), *(at_best(item) for item in races), constants(races)),
        notes=(
            f"x_i ~ N(theta, 1), N = {settings.SIZE}, n = {settings.BATCH}, test function {settings.TEST_FUNCTION}, start two "
            f"standard deviations off, D = {FRICTION:g}. Another friction changes the kinetic schemes' constants, and may change "
            "the winner.",
            "Errors are exact mean square errors at L = budget / cost of a step, not their leading terms; each optimum is found "
            "by golden sections from every dip of a grid of five decades below the stability limit.",
            "With full gradients an evaluation where the last step ended is not paid twice; with minibatches the "
            "next step has others, and nothing is saved. The table of constants counts both.",
            _limit_note(races),
            *_unbiased_note(races),
        ),
    )


def race(kind: str, effort: _Effort) -> Race:
    """The schemes under one gradient estimator."""
    given = {
        "friction": FRICTION,
        "test_function": settings.TEST_FUNCTION,
        "target": {"name": "gaussian-mean", "size": settings.SIZE},
        "gradient": {"kind": kind, "batch": settings.BATCH},
    }
    runners = {
        name: Runner(make_subject(name, load_configuration(given)), effort.points) for name in effort.schemes
    }
    return Race(kind, effort.budgets, runners)


def _errors(item: Race) -> Panel:
    series = []
    for name, found in item.best.items():
        paid = [best for best in found if best is not None]
        series.append(
            Series(
                name,
                "exact",
                tuple(float(best.budget) for best in paid),
                tuple(best.rmse for best in paid),
                tuple(best.error for best in paid),
            )
        )
    return Panel(f"Best error, {GRADIENTS[item.kind]}", f"budget, {COST}", "RMSE of theta^2", tuple(series))


def _steps(item: Race) -> Panel:
    series = []
    for name, found in item.best.items():
        paid = [best for best in found if best is not None]
        series.append(
            Series(
                name,
                "exact",
                tuple(float(best.budget) for best in paid),
                tuple(best.step for best in paid),
                note="at the stability limit in part" if any(best.end == LIMIT for best in paid) else "",
            )
        )
    return Panel(f"Best step size, {GRADIENTS[item.kind]}", f"budget, {COST}", "h", tuple(series))


def _over_steps(item: Race) -> Panel:
    series = []
    for name, runner in item.runners.items():
        length = runner.length(item.middle)
        errors = [runner.errors(step, [length])[0] for step in runner.grid] if length else []
        values = tuple(math.sqrt(error.value) for error in errors)
        series.append(Series(name, "exact", tuple(runner.grid[: len(values)]), values))
    return Panel(
        f"Error over the step size at {power(item.middle)} {COST}, {GRADIENTS[item.kind]}",
        "h",
        "RMSE of theta^2",
        tuple(series),
    )


def _draws(item: Race) -> Panel:
    series = []
    for name, runner in item.runners.items():
        costs = tuple(runner.cost * runner.autocorrelation_time(step) for step in runner.grid)
        series.append(Series(name, "exact", tuple(runner.grid), costs))
    return Panel(
        f"Cost of one independent draw, IAT(h) x cost of a step, {GRADIENTS[item.kind]}",
        "h",
        COST,
        tuple(series),
    )


def _limit_note(races: Sequence[Race]) -> str:
    names = [
        f"{name} ({GRADIENTS[item.kind]})"
        for item in races
        for name, found in item.best.items()
        if any(best is not None and best.end == LIMIT for best in found)
    ]
    if not names:
        return "Every optimum lies inside the stable steps."
    return (
        f"The optimum of {', '.join(names)} is at the stability limit for some budgets: there a larger step would help "
        "further, and only stability forbids it."
    )


def _unbiased_note(races: Sequence[Race]) -> tuple[str, ...]:
    names = [
        f"{name} ({GRADIENTS[item.kind]})"
        for item in races
        for name, runner in item.runners.items()
        if not any(exact_answers(runner.subject).expansion.values)
    ]
    if not names:
        return ()
    return (
        f"{', '.join(names)} has no bias of {settings.TEST_FUNCTION} on a Gaussian target, whatever the step size: its lead is "
        "that of the target, and a target that is not Gaussian promises none.",
    )


def _result(ranking: Sequence[tuple[str, Best]]) -> tuple[str, float, float, str]:
    first = ranking[0][1]
    tied = [name for name, best in ranking if best.rmse <= first.rmse * (1 + TIE)]
    behind = ranking[len(tied) :]
    second = f"{behind[0][0]}: {behind[0][1].rmse / first.rmse:.3g}" if behind else ""
    return " = ".join(tied), first.rmse, first.step, second
