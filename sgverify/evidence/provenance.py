"""Where evidence comes from: the command line that replays a piece of it, and versions, platform and seconds of a document."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Annotated, Any

import sgverify
from sgverify.evidence.published import Says, Size
from sgverify.plugins import loaded_distributions


@dataclass(frozen=True)
class Command:
    """`sgverify VERB REFERENCE OPTIONS...`, a setting being the option --set.

    >>> asked = Command("rate", "sghmc-aboba", ("--quantity", "mse", "--method", "exact", "--set", "friction=3.0"))
    >>> print(asked)
    sgverify rate sghmc-aboba --quantity mse --method exact --set friction=3.0
    >>> Command.read(str(asked)) == asked, asked.option("--method"), asked.option("--checks")
    (True, 'exact', None)
    """

    verb: str
    reference: str
    options: tuple[str, ...] = ()

    @classmethod
    def read(cls, line: str) -> Command:
        """Parse a printed command line; other text gives an empty verb and an empty reference."""
        arguments = shlex.split(line)
        verb, reference = [*arguments[1:3], "", ""][:2]
        return cls(verb, reference, tuple(arguments[3:]))

    def option(self, name: str) -> str | None:
        """The value of an option; None if it is not given."""
        return next((value for option, value in pairwise(self.options) if option == name), None)

    def __str__(self) -> str:
        return shlex.join(["sgverify", self.verb, self.reference, *self.options])


@dataclass(frozen=True)
class ReusedAnswers:
    """How many answers of a run, of `asked` in all, were in a store of earlier ones, and when the oldest and newest were kept."""

    answers: Annotated[int, Says(minimum=1)]
    asked: Annotated[int, Says(minimum=1)]
    oldest: Annotated[str, Says("ISO 8601, UTC")]
    newest: Annotated[str, Says("ISO 8601, UTC")]

    def __str__(self) -> str:
        day = (
            self.oldest[:10]
            if self.oldest[:10] == self.newest[:10]
            else f"{self.oldest[:10]} to {self.newest[:10]}"
        )
        return f"{self.answers} of {self.asked} answers were in the store, kept {day}"


@dataclass(frozen=True)
class Provenance:
    """Versions, platform, the command and its wall-clock seconds, and the sha256 of the user's code that was judged.

    `extensions` are the distributions whose checks, schemes, targets, papers or adapters were loaded, each with its version.
    `reused` says how many answers were not computed by this run.
    """

    version: str
    python: str
    torch: str
    platform: str
    command: str
    seconds: Size
    code: Annotated[
        Mapping[str, str],
        Says(
            "sha256 of the user's files that ran, by path from the folder of the run; left out where none did",
            optional=True,
            additionalProperties={"type": "string", "pattern": "^[0-9a-f]{64}$"},
        ),
    ] = field(default_factory=dict)
    extensions: Annotated[
        tuple[str, ...],
        Says(
            "distributions whose entry points were loaded, as `their-package 1.0`; left out where none was",
            optional=True,
        ),
    ] = ()
    reused: Annotated[
        ReusedAnswers | None, Says("left out where all answers were computed by this run", optional=True)
    ] = None

    def document(self) -> dict[str, Any]:
        """The provenance in the form of the published schema."""
        told = {**asdict(self), "extensions": list(self.extensions)}
        return {
            key: value for key, value in told.items() if value or key not in ("code", "extensions", "reused")
        }

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
            extensions=loaded_distributions(),
        )


def _installed(distribution: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


__all__ = ["Command"]
