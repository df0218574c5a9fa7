"""The answer of `advise`: plans, ranked by their cost, with what was assumed; its JSON, and its text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from sgverify.advice.networks.model import NetworkAdvice
from sgverify.errors import command_lines, filled, printable
from sgverify.evidence import Panel, Series, Table
from sgverify.evidence.published import Count, Name, Number, Published, Says, Size
from sgverify.report.forms.lines import column_lines, section_lines
from sgverify.report.forms.result import Exhibit, Result

FORGOTTEN = 0.1
"""The start is forgotten where its share of the error is below this one."""

FEWEST_CHAINS = 2

PRODUCT = 2
"""The gradients that a Hessian-vector product costs: it is the derivative of a gradient along the vector (Pearlmutter 1994)."""

TRIED = 100
"""The first steps of a plan that are run before it is printed."""

MOST = 10**9
"""The most steps of a chain of a plan: days on one processor."""

DRAWN = 6
"""The most plans in one picture."""

ROWS = 12
"""Plans in the table of a terminal; JSON has all."""

_HEAD = ("scheme", "gradient", "D", "step", "bias", "steps", "chains", "gradients", "seconds")


@dataclass(frozen=True)
class TriedStep:
    """One step size that was compared, by the law near the target's: its largest biases and its cost.

    `variance`/L is the square of the Monte Carlo error of the worst mean or standard deviation after L steps, in the target's;
    `gradients` are those of single data until bias and one standard error are within the error, burn-in included.
    """

    step: Annotated[Number, Says(exclusiveMinimum=0)]
    mean_bias: Size
    sd_bias: Size
    variance: Size
    gradients: Size


@dataclass(frozen=True)
class Plan:
    """A scheme with a gradient estimator, a friction and a step size, and the steps that it needs for the error.

    `largest_step`: below it no mean and no standard deviation is off by more than the error. `step`: the one that needs the
    fewest gradients; `bias` is the largest error there, `mean_bias` and `sd_bias` those of each coordinate, in standard deviations
    of the target (of a standard deviation: relative). `steps` of each of `chains`, the first `burn_in` of which are dropped, until
    bias and one standard error together are within the error for each mean and standard deviation. `start` is where chains start,
    in standard deviations from the mean. `gradients_per_step` counts gradients of single data; `gradients` is their number in all.
    `seconds` is the time of the run by its first steps, which were run from `start`; null where they were not. `command` runs the
    plan; `tried` are steps that were compared, in the order of their size.
    """

    scheme: Name
    gradient: Name
    batch: Annotated[int | None, Says("null with full gradients")]
    friction: Annotated[Number | None, Says("null without a momentum")]
    step: Annotated[Number, Says(exclusiveMinimum=0)]
    largest_step: Annotated[Number, Says(exclusiveMinimum=0)]
    bias: Size
    mean_bias: tuple[Number, ...]
    sd_bias: tuple[Number, ...]
    steps: Count
    burn_in: Count
    chains: Count
    start: Number
    gradients_per_step: Size
    gradients: Size
    seconds: Size | None
    method: Name
    command: Annotated[str, Says("the command line; empty for a target made in Python")]
    tried: tuple[TriedStep, ...]

    @property
    def label(self) -> str:
        """The gradient estimator with its batch, in words."""
        return self.gradient if self.batch is None else f"{self.gradient}, batch {self.batch}"


@dataclass(frozen=True, repr=False)
class Advice(Result):
    """What to run for a given error on a target: `plans` from the cheapest on, the first being the advice.

    `distrust` is the reason why no plan is to be trusted on this target; there may be plans nevertheless, which then are guesses.
    `left_out` says of schemes and estimators why there is no plan; `assumed` and `untested` what the numbers rest on. Of a
    regression, `covariates` says what each coordinate of theta multiplies, and what standardising would spare. `scale` is the
    headline where coordinates are badly scaled: which, and what mends it. For a torch module there is a `network` and no plan.
    """

    target: Name
    dim: Count
    data: Annotated[int | None, Says("the number of data; null without")]
    error: Annotated[Number, Says(exclusiveMinimum=0)]
    temperature: Annotated[Number, Says(exclusiveMinimum=0)]
    plans: tuple[Plan, ...]
    distrust: str | None
    left_out: tuple[str, ...]
    assumed: tuple[str, ...]
    untested: tuple[str, ...]
    covariates: tuple[str, ...] = ()
    scale: str = ""
    network: NetworkAdvice | None = None

    @property
    def trusted(self) -> bool:
        """Whether there is a plan, or a step for a network, and it is to be trusted."""
        return bool(self.plans or self.network) and self.distrust is None

    @property
    def best(self) -> Plan | None:
        """The advice; None where there is none to be trusted, or for a network."""
        return self.plans[0] if self.plans and self.trusted else None

    @property
    def exhibit(self) -> Exhibit:
        """The plans, the cheapest first, with the cost of each scheme's by its step; of a network its steps and batches."""
        settings = f"{self.target}, d = {self.dim}, T = {self.temperature:g}, for an error of {self.error:g}"
        sentence = first_sentence(self)
        notes = (sentence, *self.covariates, *self.assumed, *self.untested, *self.left_out)
        network = self.network
        if network is not None:
            stars = ((network.best.step, network.factors[0]),)
            above = f"{sentence}. Curves: over the sd under exp(-U/T); star: the advice; to the right: the stability limit"
            return Exhibit(network.tables, network.panels, notes, settings, stars=stars, above=above)
        if not self.plans:
            return Exhibit(notes=notes, settings=settings)
        heading = "plans, the cheapest first" if self.trusted else "guesses, none of them to be trusted"
        cheapest = {plan.scheme: plan for plan in reversed(self.plans)}
        drawn = sorted(cheapest.values(), key=self.plans.index)[:DRAWN]
        curves = []
        for plan in drawn:
            friction = "" if plan.friction is None else f", friction {plan.friction:.2g}"
            steps, costs = zip(*((tried.step, tried.gradients) for tried in plan.tried), strict=True)
            curves.append(Series(f"{plan.scheme}, {plan.label}{friction}", "exact", steps, costs))
        cost = f"gradients for an error of {self.error:g}"
        return Exhibit(
            (Table(heading, _HEAD, tuple(map(_cells, self.plans))),),
            (Panel("Cost against the step", "step h", cost, tuple(curves)),),
            notes,
            settings,
            stars=tuple((plan.step, plan.gradients) for plan in drawn),
            above=f"{sentence}. Curves: until bias and Monte Carlo error are within it; stars: each plan, large: advised",
        )

    def records(self) -> list[dict[str, Any]]:
        """One row a plan, a column a field; of a network one a step and a batch."""
        rows = self.plans if self.network is None else self.network.rows
        return [{k: v for k, v in asdict(row).items() if k != "tried"} for row in rows]

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {"schema": ADVICE.name, **asdict(self)}

    def __str__(self) -> str:
        return advice_text(self)


ADVICE = Published(
    "sgverify/advice/1", Advice, "advice", "Write it again with `sgverify advise TARGET --json FILE`."
)


def first_sentence(advice: Advice) -> str:
    """What to run, in one sentence; or why nothing is to be trusted."""
    best = advice.best
    if advice.network is not None:
        return advice.network.sentence(advice.target)
    if best is None:
        return f"not to be trusted here: {advice.distrust}"
    from sgverify.advice.size.model import percent

    friction = "" if best.friction is None else f", friction {best.friction:.2g}"
    return (
        f"for an error of {percent(advice.error)} on {advice.target}: run {best.scheme} with {_estimator(best)}{friction} and the "
        f"step h = {best.step:.2g} for {best.steps:,} steps of {_count(best.chains, 'chain')}, the first {best.burn_in:,} of "
        f"each dropped: {best.gradients:.2g} gradients; {percent(advice.error)} is bias plus one standard "
        f"error of each "
        f"mean and sd, in sds: here {percent(best.bias)} is bias"
    )


def advice_text(advice: Advice, rows: int = ROWS) -> str:
    """The whole answer: sentence, command, a table of at most so many plans, assumptions, what was not tested."""
    if advice.network is not None:
        return advice.network.text(advice.target, advice.dim, advice.data or 0)
    best = advice.best
    command = best.command if best is not None and best.command else None
    lines = [*([filled(advice.scale), ""] if advice.scale else []), filled(first_sentence(advice))]
    if best is not None:
        told = "  the target was made in Python: give these settings to sgverify.sample"
        lines.append(command_lines(command) if command else told)
    if advice.plans:
        (table,) = advice.exhibit.tables
        shown = column_lines((table.columns, *table.rows[:rows]), left=2, gap=" ")
        lines += ["", f"{table.title}:", *map(printable, shown)]
        fastest = min((plan for plan in advice.plans if plan.seconds is not None), key=_seconds, default=None)
        if fastest is not None and fastest is not advice.plans[0]:
            told = f"the fastest here, by its first steps: {fastest.scheme} with {_estimator(fastest)}{_time(fastest)}"
            lines.append(filled(told, "  "))
        if len(advice.plans) > rows:
            lines.append(f"  and {len(advice.plans) - rows} dearer ones, which --json writes too")
    sections = (
        ("covariates", advice.covariates),
        ("assumed", advice.assumed),
        ("not tested", advice.untested),
        ("no plan", advice.left_out),
    )
    return "\n".join([*lines, *section_lines(sections)])


def _estimator(plan: Plan) -> str:
    if plan.batch is None:
        return f"{plan.gradient} gradients"
    return f"{plan.gradient} gradients in batches of {plan.batch}"


def _seconds(plan: Plan) -> float:
    return math.inf if plan.seconds is None else plan.seconds


def _time(plan: Plan) -> str:
    return "" if plan.seconds is None else f", about {plan.seconds:.2g} s"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _cells(plan: Plan) -> tuple[str, ...]:
    return (
        plan.scheme,
        plan.gradient if plan.batch is None else f"{plan.gradient} {plan.batch}",
        "-" if plan.friction is None else f"{plan.friction:.2g}",
        f"{plan.step:.2g}",
        _bias(plan),
        f"{plan.steps:,}",
        f"{plan.chains:,}",
        f"{plan.gradients:.2g}",
        "-" if plan.seconds is None else f"{plan.seconds:.2g}",
    )


def _bias(plan: Plan) -> str:
    # It brings numpy, which a list of schemas does without.
    from sgverify.advice.size.model import NONE, percent

    return percent(plan.bias) if plan.bias > NONE else "0 %"


def assumed(plans: Sequence[Plan], error: float, start: float) -> tuple[str, ...]:
    """What the numbers of plans rest on."""
    if not plans:
        return ()
    exact = any(plan.method == "exact" for plan in plans)
    closed = any(plan.method != "exact" for plan in plans)
    said = [
        f"an error of {error:g} is that of each mean and each standard deviation of theta, in standard deviations of the target: "
        "bias plus one standard error",
        f"each coordinate starts {abs(start):g} standard deviations from its mean; the burn-in forgets that to {FORGOTTEN:g} of "
        "the error",
        f"the cost is the number of gradients of single data, or of U without data: a Hessian-vector product counts as "
        f"{PRODUCT}, and "
        "a gradient at the end of a step with which the next one begins (sghmc-baoab with full gradients) once; "
        "seconds are those of "
        f"the first {TRIED} steps, which were run, and of as many as the plan has",
    ]
    if exact:
        said.append(
            "biases and autocorrelations of means are exact; those of squares take the law as Gaussian"
        )
    if closed:
        said.append(
            "the law of the chain is approximated: the Gaussian at the mode with averaged Hessian and empirical covariance of the "
            "gradient noise at each place of a step where a gradient is evaluated, corrected by third cumulants"
        )
    return tuple(said)


def untested(plans: Sequence[Plan], unknown: Mapping[str, Mapping[str, None]]) -> tuple[str, ...]:
    """What plans were not tested for; `unknown` are reasons why a law is not computed, and whose."""
    said = [
        f"beyond the first {TRIED} steps of the plans in the table no chain was run",
        f"fewer than {FEWEST_CHAINS} chains, changing step sizes, metrics and thermostats were not compared",
    ]
    if any(plan.method != "exact" for plan in plans):
        said.append("modes far from the one found, and tails beyond a few standard deviations, were not seen")
    said += [f"{', '.join(whose)}: {why}" for why, whose in unknown.items()]
    return tuple(said)
