"""The step size of a run whose configuration gives none, and the needs of draws: the extra `draws`, and memory.

The proposed step is the largest at which no standard deviation of the draws is off by more than `SMALL`. The default step, half the
stability limit or a share of the time scale, says nothing of widths: minibatches can make the draws at it many times as wide as the
target. It is taken where it keeps the widths as well, or where nothing can be proposed.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from sgverify.advice.step_bias import SMALL, StepBias, step_bias_below
from sgverify.errors import ConfigurationError, UserError
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

    `line` says in one line what was taken instead of the default, or that nothing could be proposed; None where the step is given,
    or the default keeps the widths.
    """

    step: float
    origin: Literal["given", "proposed", "default"]
    line: str | None = None

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
    step = subject.step
    bias = step_bias_below(subject, step)
    if bias is None:
        why = "how wide a step makes the draws is not known here before they are drawn"
    elif bias.better is not None:
        return StepChoice(bias.better, "proposed", _proposed(subject, step, bias))
    elif bias.distrust is not None:
        why = f"a Gaussian approximation of the draws' width is not to be trusted here, {bias.distrust}"
    elif abs(math.log1p(bias.share)) > math.log1p(SMALL):
        why = f"no smaller step was found that keeps the spread within {SMALL:.0%}"
    elif bias.step < step:
        return StepChoice(bias.step, "proposed", _proposed(subject, step, bias))
    else:
        return StepChoice(step, "default")
    return StepChoice(step, "default", f"note: step {step:g} is the default, and none is proposed: {why}")


def _proposed(subject: Subject, default: float, bias: StepBias) -> str:
    if bias.step < default or bias.distrust is not None:
        wide = "no Gaussian approximation holds"
    else:
        wide = (
            f"draws are {bias.found / bias.true:.3g} times as wide as exp(-U/T) in theta[{bias.coordinate}]"
        )
    alone = ", without swaps" if subject.composite is not None else ""
    line = (
        f"note: no schedule.step is given: {bias.better or bias.step:g} is taken, which keeps every standard deviation within "
        f"{SMALL:.0%} ({bias.how}{alone}); at the default {default:g} {wide}"
    )
    steps = subject.configuration.steps
    if bias.forgetting is not None and bias.forgetting > steps:
        slow = float(f"{bias.forgetting:.2g}")
        line += f"; the chain forgets its start in about {slow:,.0f} steps, and steps={steps:,} are fewer"
    return line
