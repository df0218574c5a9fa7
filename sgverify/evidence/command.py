"""The command line behind a piece of evidence: composed from a question, and parsed back from a stored document."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from itertools import pairwise


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


__all__ = ["Command"]
