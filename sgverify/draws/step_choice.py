"""The step size of a run whose configuration gives none, and the needs of draws: the extra `draws`, and memory.

It is that of the plan that `advise` makes for the scheme and the gradient estimator, with its friction and its burn-in where these
are left open. Where there is no plan, as for replicas, it is the largest at which no standard deviation of the draws is predicted
off by more than `SMALL`, at most the default, half the stability limit or a share of the time scale; and the default, which says
nothing of widths, where nothing can be predicted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from numpy.linalg import LinAlgError

from sgverify.advice.plans.model import MOST, Plan
from sgverify.advice.size.model import NONE, percent
from sgverify.advice.step_bias import step_bias
from sgverify.advice.widths import SMALL, StepBias
from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError, SgverifyError, UserError
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

EXTRA = ("arviz", "h5netcdf", "numcodecs", "xarray", "zarr")
"""The modules of the extra `draws`; nothing else in the package imports them. Earlier versions of numcodecs read pickles."""


def check_installed() -> None:
    """Raise `UserError`, with the command that installs them, unless the modules of the extra `draws` can be imported."""
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        raise UserError(
            f"sgverify sample writes InferenceData, and {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not "
            "installed; expected the optional extra 'draws': pip install 'sgverify[draws]'"
        )


COPIES = 2.0
"""The memory needed, in sizes of the draws: they are held, and a variable is copied when it is transposed and when written."""

_GROUP = Path("/sys/fs/cgroup")


def check_memory(needed: int, draws: int, chains: int, *, available: int | None = None) -> None:
    """Raise `ConfigurationError`, with the size and a remedy, for draws that exceed the available memory."""
    there = available_bytes() if available is None else available
    if there is not None and not fits(needed, available=there):
        raise ConfigurationError(
            f"{draws:,} draws of each of {chains:,} chains take {size_text(needed)}, and {size_text(int(COPIES * needed))} while "
            f"they are written; expected no more than the {size_text(there)} of memory that are free; take a larger thinning, a "
            "longer burn_in, fewer steps or fewer chains, or have them written while they are drawn, by out DIR.zarr"
        )


def fits(needed: int, *, available: int | None = None) -> bool:
    """Do draws of this size fit into the available memory, as far as that is known?"""
    there = available_bytes() if available is None else available
    return there is None or needed * COPIES <= there


def available_bytes() -> int | None:
    """The memory that this process may still take; None where the system does not say."""
    found = []
    with suppress(OSError, ValueError, AttributeError, StopIteration):
        found.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        line = next(line for line in text.splitlines() if line.startswith("MemAvailable:"))
        # What is cached is given back: this is more than the free pages.
        found = [int(line.split()[1]) * 1024]
    with suppress(OSError, ValueError, KeyError):
        lines = dict(line.split() for line in (_GROUP / "memory.stat").read_text().splitlines())
        limit, used = (int((_GROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        found.append(limit - used + int(lines["inactive_file"]))
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            # As of `ulimit -v`: addresses count, whether memory lies behind them or not.
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            found.append(max(0, soft - pages * os.sysconf("SC_PAGE_SIZE")))
    return min(found) if found else None


def size_text(size: int) -> str:
    """A number of bytes as a text with a unit."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}"


@dataclass(frozen=True)
class StepChoice:
    """The fixed step size of a run, and whose choice it is.

    `line` says in one line what was taken instead of the default, or that nothing could be proposed; None where the step is given.
    `settings` are the configuration keys that go with a proposed step.
    """

    step: float
    origin: Literal["given", "proposed", "default"]
    line: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The step size in few words."""
        whose = {"given": "", "proposed": " (proposed)", "default": " (the default)"}
        return f"step {self.step:g}{whose[self.origin]}"


def choose_step(subject: Subject) -> StepChoice:
    """The step of a run on a fixed schedule; a given step is taken as it is."""
    given = subject.configuration.schedule.step
    if given is not None:
        return StepChoice(given, "given")
    found = "chains of a composite move each other" if subject.composite is not None else _plan(subject)
    if isinstance(found, Plan):
        return _planned(subject, found)
    step = subject.step
    bias = step_bias(subject, step)
    if bias is None or bias.distrust is not None:
        return StepChoice(
            step, "default", f"note: step {step:g} is the default, and none is proposed: {found}"
        )
    if bias.better is None:
        return StepChoice(step, "default")
    alone = ", without swaps" if subject.composite is not None else ""
    line = (
        f"note: no schedule.step is given: {bias.better:g} is taken, which keeps every standard deviation within {SMALL:.0%} "
        f"({bias.how}{alone}); no plan was made, as {found}"
    )
    return StepChoice(bias.better, "proposed", line, {"schedule__step": bias.better})


@cached_per_subject
def _plan(subject: Subject) -> Plan | str:
    if not subject.scheme.dynamics.usual:
        return f"the law of a chain of {subject.scheme.dynamics.name} is not computed"
    # It brings torch: what is missing is said before.
    from sgverify.advice.plans.ranking import plan_of

    try:
        return plan_of(subject)
    except (SgverifyError, LinAlgError) as error:
        return str(error)


def under_choice(subject: Subject, choice: StepChoice) -> Subject:
    """The subject that runs: what was derived under another friction is not taken over."""
    configuration = load_configuration(subject.configuration, **choice.settings)
    friction = choice.settings.get("friction")
    return (subject if friction is None else _with_friction(subject, friction)).under(configuration)


@cached_per_subject
def _with_friction(subject: Subject, friction: float) -> Subject:
    other = Subject(
        subject.scheme, load_configuration(subject.configuration, friction=friction), subject.reference
    )
    vars(other)["target"] = subject.target
    return other


def _planned(subject: Subject, plan: Plan) -> StepChoice:
    """The step of a plan, with its friction and its burn-in where they are left open and the run is long enough."""
    configuration, steps, chains = (
        subject.configuration,
        subject.configuration.steps,
        subject.configuration.chains,
    )
    settings: dict[str, Any] = {"schedule__step": plan.step}
    if plan.friction is not None and "friction" not in configuration.model_fields_set:
        settings["friction"] = plan.friction
    long = 2 * plan.burn_in <= steps
    if long and "burn_in" not in configuration.model_fields_set:
        settings["burn_in"] = plan.burn_in
    if plan.start != configuration.start_of():
        settings["start"] = plan.start
    if chains > plan.chains and "start" not in {*settings, *configuration.model_fields_set}:
        # The plan's chains were tried from there, and these are more.
        from sgverify.advice.plans.costs import first_steps

        run = under_choice(subject, StepChoice(plan.step, "proposed", settings=settings))
        if first_steps(run, steps)[0] is not None:
            settings["start"] = 0.0
    taken = ", ".join(f"{key.replace('__', '.')}={value:g}" for key, value in settings.items())
    bias = percent(plan.bias) if plan.bias > NONE else "0 %"
    line = (
        f"note: no schedule.step is given: {taken} as `sgverify advise` plans for {subject.reference}: a bias of {bias} of an sd "
        f"({plan.method}), and with one standard error {SMALL:.0%} after {plan.steps:,} steps of {plan.chains} chains"
    )
    if not long:
        line += f"; the chain forgets its start in about {plan.burn_in:,} steps, and steps={steps:,} are fewer than twice as many"
    elif chains * (steps - plan.burn_in) < plan.chains * (plan.steps - plan.burn_in):
        line += f"; {chains} chains of steps={steps:,} are shorter"
    return StepChoice(plan.step, "proposed", line, settings)


def unlucky(subject: Subject, choice: StepChoice | None, bias: StepBias | None, steps: int) -> Iterator[str]:
    """Lines on a run of so many steps before it is drawn: bad scales, chains that escape at once, steps that forget nothing."""
    from sgverify.advice.covariates import scale_line

    if choice is None or subject.composite is not None:
        return
    yield scale_line(subject)
    if choice.origin == "proposed":
        return
    yield _escape(subject, choice.step, steps // 10)
    forgetting = None if bias is None or bias.distrust is not None else bias.forgetting
    if forgetting is not None and forgetting > steps:
        wanted = 50 * forgetting
        mend = (
            f"steps={float(f'{wanted:.1g}'):,.0f} forget it" if wanted <= MOST else "set target.whiten=true"
        )
        yield (
            f"warning: the slowest direction forgets its start in about {float(f'{forgetting:.2g}'):,.0f} steps, and "
            f"steps={steps:,} "
            f"are fewer: draws tell where they started; {mend}"
        )


def _escape(subject: Subject, step: float, steps: int) -> str:
    """One line if chains leave every bound in the first steps, with what mends it; else ""."""
    from sgverify.advice.plans.costs import first_steps

    why = first_steps(subject, steps)[0] if steps else None
    if why is None:
        return ""
    mend = "take a smaller schedule.step"
    settings: list[dict[str, Any]] = [{"start": 0.0}, *({"schedule__step": step / 4**k} for k in (1, 2, 3))]
    for given in settings:
        if first_steps(subject.under(load_configuration(subject.configuration, **given)), steps)[0] is None:
            key, value = next(iter(given.items()))
            mend = f"{key.replace('__', '.')}={value:g} keeps them for as many steps"
            break
    return f"warning: {why} from start={subject.configuration.start_of():g}: chains escape; {mend}"
