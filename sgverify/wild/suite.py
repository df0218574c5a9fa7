"""Samplers of other libraries, as they are installed"""

from __future__ import annotations

from sgverify.errors import UserError
from sgverify.papers.suites import SuiteCase
from sgverify.wild.libraries import LIBRARIES, ReleasedLibrary


def cases_of(library: ReleasedLibrary) -> list[SuiteCase]:
    """The samplers of one library, each under its settings."""
    return [SuiteCase(sampler.reference, sampler.settings, sampler.checks) for sampler in library.samplers]


def wild(effort: str) -> list[SuiteCase]:
    """Samplers of other libraries, as they are installed."""
    found = [case for library in LIBRARIES if library.release for case in cases_of(library)]
    if not found:
        names = ", ".join(library.distribution for library in LIBRARIES)
        raise UserError(f"suite='wild': none of its libraries is installed; expected one at least of {names}")
    return found
