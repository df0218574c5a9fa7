"""ArviZ and xarray, loaded when they are first asked for."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any


@cache
def arviz() -> Any:
    """The library; what it says once a day about its next version, which is not asked for here, is left unsaid."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "\\s*ArviZ is undergoing", FutureWarning)
        import arviz as library
    return library
