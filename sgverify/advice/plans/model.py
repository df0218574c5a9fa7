"""The answer of `advise`: plans, ranked by their cost, with what was assumed; and its JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from sgverify.evidence.published import Count, Name, Number, Published, Says, Size


@dataclass(frozen=True)
class Plan:
    """A scheme with a gradient estimator, a friction and a step size, and the steps that it needs for the error.

    `largest_step`: below it no mean and no standard deviation is off by more than the error. `step`: the one that needs the
    fewest gradients; `bias` is the largest error there, `mean_bias` and `sd_bias` those of each coordinate, in standard deviations
    of the target (of a standard deviation: relative); `allowance` is kept free for where within a step gradients are evaluated.
    `steps` of all chains together, after `burn_in` steps of each of `chains`, until bias, allowance and one standard error together
    are within the error for each mean and standard deviation. `gradients_per_step` counts
    gradients of single data; `gradients` is their number in all. `command` runs the plan.
    """

    scheme: Name
    gradient: Name
    batch: Annotated[int | None, Says("null with full gradients")]
    friction: Annotated[Number | None, Says("null without a momentum")]
    step: Annotated[Number, Says(exclusiveMinimum=0)]
    largest_step: Annotated[Number, Says(exclusiveMinimum=0)]
    bias: Size
    allowance: Annotated[
        Number, Says("beside the bias; 0 without a momentum, and where biases are exact", minimum=0)
    ]
    mean_bias: tuple[Number, ...]
    sd_bias: tuple[Number, ...]
    steps: Count
    burn_in: Count
    chains: Count
    gradients_per_step: Size
    gradients: Size
    method: Name
    command: Annotated[str, Says("the command line; empty for a target made in Python")]

    @property
    def label(self) -> str:
        """The gradient estimator with its batch, in words."""
        return self.gradient if self.batch is None else f"{self.gradient}, batch {self.batch}"

    @property
    def run_steps(self) -> int:
        """The steps of each chain, with those that are discarded."""
        return self.burn_in + -(-self.steps // self.chains)


@dataclass(frozen=True)
class Advice:
    """What to run for a given error on a target: `plans` from the cheapest on, the first being the advice.

    `distrust` is the reason why no plan is to be trusted on this target; there may be plans nevertheless, which then are guesses.
    `left_out` says of schemes and estimators why there is no plan; `assumed` and `untested` what the numbers rest on.
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

    @property
    def trusted(self) -> bool:
        """Whether there is a plan, and it is to be trusted."""
        return bool(self.plans) and self.distrust is None

    @property
    def best(self) -> Plan | None:
        """The advice; None where there is none to be trusted."""
        return self.plans[0] if self.trusted else None

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {"schema": ADVICE.name, **asdict(self)}

    def __repr__(self) -> str:
        from sgverify.advice.plans.text import first_sentence

        return f"<Advice: {first_sentence(self)}; print it for {len(self.plans)} plans>"

    def __str__(self) -> str:
        from sgverify.advice.plans.text import advice_text

        return advice_text(self)


ADVICE = Published(
    "sgverify/advice/1", Advice, "advice", "Write it again with `sgverify advise TARGET --json FILE`."
)
