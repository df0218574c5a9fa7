"""A wrong definition, its true cause and the definition that was meant."""

from __future__ import annotations

from dataclasses import dataclass

from sgverify.schemes import Scheme


@dataclass(frozen=True)
class Bug:
    """A wrong scheme, the scheme that was meant, and the true cause by its name in `sgverify.advice.diagnosis.model`.

    `cause` is stated by whoever wrote the definition, and is not what the code makes of it.
    """

    wrong: Scheme
    right: Scheme
    cause: str

    @property
    def name(self) -> str:
        """The name of the wrong scheme."""
        return self.wrong.name


__all__ = ["Bug"]
