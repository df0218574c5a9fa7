"""One input of the command line, and what must become of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Must = Literal["anything", "be refused", "be accepted"]


@dataclass(frozen=True)
class Case:
    """The words of a command, and the files that lie in its folder.

    `format` names what was varied; `must` says whether it has to be refused or accepted where that is known; a refusal has to name
    one of `names`, where there are some. `recorded` has the values, by dotted key, that the configuration must show if the input is
    accepted. Where `computes`, nothing keeps the command from computing.
    """

    format: str
    words: tuple[str, ...]
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    """Contents by name; None stands for a folder. Folders in a name are made."""
    pipes: tuple[str, ...] = ()
    """Names of pipes that nobody writes to."""
    must: Must = "anything"
    names: tuple[str, ...] = ()
    recorded: Mapping[str, Any] = field(default_factory=dict)
    computes: bool = False

    left: Callable[[], str | None] | None = None
    """Called in the folder of the case after exit 0: what is wrong with the files that the command left, None if nothing is."""

    @property
    def command(self) -> str:
        """The command of the case."""
        return self.words[0] if self.words else ""

    def shown(self) -> str:
        """The case in a few lines, for a person who wants to try it."""
        words = " ".join(
            repr(word) if len(word) < 200 else f"{word[:100]!r}...({len(word)})" for word in self.words
        )
        files = [
            f"  {name}: {'a folder' if text is None else f'{len(text)} bytes, {text[:300]!r}'}"
            for name, text in self.files.items()
        ]
        pipes = [f"  {name}: a pipe" for name in self.pipes]
        return "\n".join([f"[{self.format}, must {self.must}] sgverify {words}", *files, *pipes])
