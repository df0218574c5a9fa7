"""The machine and the libraries of a measurement, without names or paths."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

import sgverify

LIBRARIES = ("torch", "numpy", "scipy", "sympy", "python-flint")
PEERS = ("jax", "posteriors", "blackjax", "SGMCMCJax", "numba")


def describe_machine() -> dict[str, str]:
    """Cores, architecture, system and versions."""
    described = {
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "architecture": platform.machine(),
        "system": platform.system(),
        "threads": os.environ.get("OMP_NUM_THREADS", "default"),
        "sgverify": sgverify.__version__,
        "python": platform.python_version(),
    }
    peers = {name: found for name in PEERS if (found := _version(name))}
    return {**described, **{name: version(name).split("+")[0] for name in LIBRARIES}, **peers}


def _version(name: str) -> str:
    """The version of a library, "" where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
