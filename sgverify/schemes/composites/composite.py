"""The base class of composites: a scheme, and a rule around its steps."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from sgverify.errors import DefinitionError
from sgverify.schemes.scheme import Scheme


@dataclass(frozen=True)
class Composite:
    """A scheme under a rule that is no function of one step: an acceptance, a swap, weights that adapt.

    The rule itself is a pure function in the arithmetic of the definitions, beside the subclass; the sampler, the exact
    checks and the printed formula read that one. `kind` names the family, `reference` how a command line names it.
    """

    name: str
    scheme: Scheme
    summary: str = ""
    source: str = ""
    reference: str = ""

    kind: ClassVar[str] = "none"

    def __post_init__(self) -> None:
        """Raise `DefinitionError` unless `scheme` is a `Scheme`."""
        if not isinstance(self.scheme, Scheme):
            raise DefinitionError(
                f"{type(self).__name__}({self.name!r}, scheme={self.scheme!r}): expected a Scheme, made under "
                "@scheme(dynamics) or by a word; torch code has no definition to run replicas of"
            )

    @property
    def rule(self) -> str:
        """The kind and its settings, by which two composites of one scheme differ."""
        common = {item.name for item in fields(Composite)}
        chosen = [
            f"{item.name}={getattr(self, item.name)!r}" for item in fields(self) if item.name not in common
        ]
        return ", ".join([self.kind, *chosen])

    def named(self, name: str, **changes: Any) -> Self:
        """The same composite under another name (and summary, source, reference)."""
        return replace(self, name=name, **changes)


__all__ = ["Composite"]
