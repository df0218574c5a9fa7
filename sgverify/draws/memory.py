"""What draws need before they are drawn: the modules of the extra `draws`, and memory, compared with what is available."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from sgverify.errors import ConfigurationError, UserError

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
