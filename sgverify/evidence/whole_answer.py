"""What does a whole answer say beyond its evidence? Cause and mend of a failure, how large the bias is, what was not tested."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from sgverify.evidence.model import plain
from sgverify.evidence.published import Name, Says


@dataclass(frozen=True)
class StoredEdit:
    """An edit of a definition under which proof and exact checks pass: `was` becomes `now` in a line of a file.

    `achieves` says what then holds, such as "order 2 and everything conform". File and line are null where the printed formula of
    a scheme without a file is edited.
    """

    file: str | None
    line: int | None
    was: str
    now: str
    achieves: str


@dataclass(frozen=True)
class WholeAnswer:
    """The whole answer about one scheme.

    `cause` is null where nothing fails or no cause was found, `cause_name` its kind. `how_large` has one entry for each gradient
    estimator: the errors of means and standard deviations at the step size, relative to the standard deviations of the target,
    the largest steps for given errors, and the asymptotic variance.
    """

    outcome: Literal["pass", "fail", "undecided"]
    not_tested: tuple[str, ...] = ()
    cause: Annotated[str | None, Says("one sentence")] = None
    cause_name: Name | None = None
    mend: StoredEdit | None = None
    how_large: tuple[dict[str, Any], ...] = ()

    def document(self) -> dict[str, Any]:
        """The same as JSON values; numbers that are not finite are null."""
        written: dict[str, Any] = plain(asdict(self))[0]
        return written


__all__ = ["StoredEdit", "WholeAnswer"]
