"""A subject that is a composite: its own checks read the rule around the steps, its scheme has all of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sgverify.checks.subject import Subject
from sgverify.errors import ConfigurationError, NotExpandableError
from sgverify.exact.series.dimensions import Proved
from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.loading import scheme_reference

if TYPE_CHECKING:
    from sgverify.checks.registry import Check


@dataclass(frozen=True)
class CompositeSubject(Subject):
    """A composite under a configuration; `scheme` is the one that it is made around, `reference` names the composite."""

    composite: Composite = None  # type: ignore[assignment]

    strange: ClassVar[tuple[str, ...]] = ()

    @cached_property
    def alone(self) -> Subject:
        """Its scheme as a subject of its own, which starts where the coldest replica does."""
        alone = self.configuration
        if isinstance(alone.start, list):
            alone = alone.model_copy(update={"start": alone.start_of()})
        return Subject(self.scheme, alone, scheme_reference(self.composite))

    @property
    def parts(self) -> tuple[Subject, ...]:
        """Itself, and its scheme."""
        return self, self.alone

    @property
    def proved_order(self) -> Proved | NotExpandableError:
        """That of its scheme."""
        return self.alone.proved_order

    def why_not_asked(self, check: Check) -> str | None:
        """Why a check is not asked of such a subject; None where it may be."""
        if check.composite:
            return None
        return f"{check.name} is asked of the scheme of a composite; verify {self.alone.reference}"

    def validate(self) -> None:
        """Meet every error that the configuration alone can cause, before anything is computed."""
        super().validate()
        if self.method is not None:
            raise ConfigurationError(
                f"method={self.method!r} with scheme={self.reference!r}: a composite has no rates of its own; leave it out, or "
                f"ask about its scheme {self.alone.reference}"
            )


__all__ = ["CompositeSubject"]
