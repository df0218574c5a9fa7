"""The wrong definitions by name, family by family."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from shutil import copy

from tests.pools.diagnosed.bug import Bug

FAMILIES = ("overdamped", "underdamped", "thermostats", "riemannian", "splittings", "trial")
"""The modules of this folder with definitions that were written beside the search; each holds `BUGS`."""

UNSEEN = ("unseen",)
"""Those with definitions that were written before the search was finished, and not diagnosed until then."""


def bugs(family: str, folder: Path) -> tuple[Bug, ...]:
    """The wrong definitions of a family, from a copy of its file in `folder`.

    There they are the user's own text, which a diagnosis edits; definitions of this package are read as printed formulas.
    """
    file = Path(copy(Path(__file__).with_name(f"{family}.py"), folder))
    spec = spec_from_file_location(f"diagnosed_{family}", file)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: tuple[Bug, ...] = module.BUGS
    return found


__all__ = ["FAMILIES", "UNSEEN", "bugs"]
