"""With which versions, on which platform and by which command was a document made? None of it may influence a verdict."""

from __future__ import annotations

import platform
from dataclasses import dataclass

import sgverify
from sgverify.evidence.published import Size


@dataclass(frozen=True)
class Provenance:
    """Versions, platform, the command and its wall-clock seconds."""

    version: str
    python: str
    torch: str
    platform: str
    command: str
    seconds: Size

    @classmethod
    def gather(cls, *, command: str, seconds: float) -> Provenance:
        """The provenance of this process, without an import of torch."""
        return cls(
            version=sgverify.__version__,
            python=platform.python_version(),
            torch=_installed("torch"),
            platform=platform.platform(),
            command=command,
            seconds=float(seconds),
        )


def _installed(distribution: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"
