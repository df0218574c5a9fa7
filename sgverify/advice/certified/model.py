"""The certified contraction and distance of a scheme, as an answer: numbers, scope and words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from sgverify.errors import filled
from sgverify.evidence import Table
from sgverify.evidence.published import Count, Name, Number, Published, Says, Size
from sgverify.report.forms.bars import Bars
from sgverify.report.forms.result import Exhibit, Result


@dataclass(frozen=True)
class PublishedBound:
    """A bound of the literature at the same setting: `decay` is 1 - rho, `distance` is W_2 over sqrt(d)."""

    source: Name
    decay: Number | None = None
    distance: Number | None = None


@dataclass(frozen=True, repr=False)
class CertifiedBound(Result):
    """The certificate of one scheme at one step size, for every U with m <= U'' <= L, in every dimension.

    Two copies with the same draws, and full gradients or gradient noise that does not depend on theta, approach each other by the
    share `decay` = 1 - rho a step or more, in a norm of the state; `slowest` is the decay of the slowest member of the class that
    was found, with its `curvatures`, a list for each step
    of a period. `refused` says why there is no certificate. `largest_step` is the largest step size found with one, `fastest_step`
    that of the largest decay a step, with `fastest_decay`; `best_friction` has the largest decay at the given step. W_2 between
    the law of theta and the posterior is at most `distance`, times sqrt(d) or in `dimension`, in the long run; `start_factor` rho^n
    times the distance of the start comes on top. `published` has the literature's bounds for the same scheme and setting.
    """

    scheme: Name
    m: Number
    L: Number
    origin: Annotated[
        Name | None, Says("the target that the class was computed from; null where it was given")
    ]
    step: Number
    temperature: Number
    friction: Number | None
    variance: Number
    dimension: Annotated[
        Count | None, Says("that of a distance of the next order; null where the distance is times sqrt(d)")
    ] = None
    law: Annotated[Name | None, Says("for torch code, the scheme that was certified in its place")] = None
    decay: Size | None = None
    slowest: Number | None = None
    curvatures: tuple[tuple[Number, ...], ...] = ()
    refused: str | None = None
    smallest_step: Size | None = None
    largest_step: Size | None = None
    fastest_step: Size | None = None
    fastest_decay: Size | None = None
    best_friction: Size | None = None
    best_decay: Size | None = None
    distance: Size | None = None
    start_factor: Size | None = None
    no_distance: str | None = None
    published: tuple[PublishedBound, ...] = ()

    @property
    def proved(self) -> bool:
        """Is there a certificate at this step?"""
        return self.decay is not None

    @property
    def decays(self) -> tuple[tuple[str, float], ...]:
        """The shares 1 - rho by which a step contracts: certified, the most that can be, published, and elsewhere."""
        named = {
            f"certified at h = {self.step:.4g}": self.decay,
            "no certificate can exceed": self.slowest,
            **{bound.source: bound.decay for bound in self.published},
        }
        if self.fastest_step is not None:
            named[f"certified at h = {self.fastest_step:.4g}, the fastest"] = self.fastest_decay
        if self.best_friction is not None:
            named[f"certified with D = {self.best_friction:.4g}, the best"] = self.best_decay
        return tuple((name, value) for name, value in named.items() if value is not None)

    @property
    def exhibit(self) -> Exhibit:
        """The contraction a step, in bars too, and the bounds of the distance."""
        friction = "" if self.friction is None else f", D = {self.friction:g}"
        of = "" if self.origin is None else f", the bounds of {self.origin}"
        code = "" if self.law is None else f" ({self.law})"
        settings = (
            f"{self.scheme}{code} at h = {self.step:g}{friction}, T = {self.temperature:g}, for every U with "
            f"{self.m:.4g} <= U'' <= {self.L:.4g}{of}, in every dimension"
        )
        scale = "sqrt(d)" if self.dimension is None else f"(d = {self.dimension})"
        distances = [("certified", self.distance), *((b.source, b.distance) for b in self.published)]
        known = tuple((name, value) for name, value in distances if value is not None)
        shown = (
            Table("Contraction", ("bound", "1 - rho a step"), self.decays),
            Table("Distance in the long run", ("bound", f"W2(theta, posterior) / {scale}"), known),
        )
        notes = [line.strip() for line in (*self._contraction(), *self._distance())]
        bars = Bars(
            f"{self.scheme}, {self.m:.4g} <= U'' <= {self.L:.4g}",
            "share 1 - rho by which a step contracts",
            self.decays,
        )
        return Exhibit(
            tuple(t for t in shown if t.rows), (), notes, settings, bars=bars if self.decays else None
        )

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {"schema": BOUND.name, **asdict(self)}

    def __str__(self) -> str:
        lines = [
            self.exhibit.settings,
            *(f"  {line}" for line in (*self._contraction(), *self._distance())),
        ]
        indented = (" " * (len(line) - len(line.lstrip()) + 4) for line in lines)
        return "\n".join(filled(line, rest=indent) for line, indent in zip(lines, indented, strict=True))

    def _contraction(self) -> Iterator[str]:
        if self.decay is None or self.slowest is None:
            yield f"no certificate: {self.refused}"
        else:
            halved = max(1, math.ceil(math.log(2) / -math.log1p(-self.decay)))
            yield (
                f"contracts by {_share(self.decay)} a step  [proof]: two copies with the same draws halve their distance in "
                f"{halved} steps, with full gradients or noise that does not depend on theta"
            )
            switches = len({c for row in self.curvatures for c in row}) > 1
            member = (
                f"a U whose curvature switches between m and L in {len(self.curvatures)} steps"
                if switches
                else f"the quadratic U of curvature {self.curvatures[0][0]:.4g}"
            )
            yield f"  no certificate can say more than {_share(self.slowest)}: {member} is so slow"
            for bound in self.published:
                if bound.decay is not None:
                    yield f"  published: {_share(bound.decay)} ({bound.source})"
        if self.largest_step is not None and self.fastest_decay is not None:
            yield (
                f"every step size from h = {self.smallest_step:.4g} to {self.largest_step:.4g} contracts  [proof]; the most a step "
                f"is {_share(self.fastest_decay)}, at h = {self.fastest_step:.4g}"
            )
        if self.best_decay is not None:
            yield f"best friction at this step: D = {self.best_friction:.4g}, {_share(self.best_decay)} a step"

    def _distance(self) -> Iterator[str]:
        if self.no_distance is not None:
            yield f"no bound of the distance: {self.no_distance}"
        if self.distance is None:
            return
        scale = "sqrt(d)" if self.dimension is None else f"(d = {self.dimension})"
        noise = f" with gradient noise of variance {self.variance:g} a coordinate" if self.variance else ""
        yield (
            f"W2(theta, posterior) <= {self.distance:.3g} {scale} in the long run{noise}, and {self.start_factor:.3g} rho^n "
            "W2(start) on top after n steps  [proof]"
        )
        for bound in self.published:
            if bound.distance is not None and self.dimension is None:
                yield f"  published: {bound.distance:.3g} sqrt(d) ({bound.source})"


BOUND = Published(
    "sgverify/bound/1",
    CertifiedBound,
    "a certificate for a class of potentials",
    "Write it again with `sgverify bound SCHEME --m M --L L --json FILE`.",
)


def _share(decay: float) -> str:
    return f"{100 * decay:.4g} %"
