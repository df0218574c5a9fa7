"""The samplers of the comparison and the step sizes that are tried: as chen2015 prints them, and rescaled to another data set's
size.

What a step does to theta depends on h N for SGLD and on h sqrt(N) for SGHMC: the likelihood's gradient is a sum over N data, and
with time in units of 1/sqrt(N) the equations are those of one datum. The printed step sizes belong to N = 60,000 images of MNIST;
on fewer images they are smaller steps. The rescaled grid keeps h N for SGLD and h sqrt(N) for SGHMC; D = factor / sqrt(h) follows
from the h of each grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from reports.applications.chains import ChainSetting
from reports.applications.optimum import Point
from reports.applications.printed import printed_settings


@dataclass(frozen=True)
class Method:
    """A sampler of the comparison: its label in the paper, its scheme of the catalogue, and whether it has a momentum."""

    label: str
    scheme: str
    momentum: bool


METHODS = (
    Method("SGHMC-S", "sghmc-aboba", True),
    Method("SGHMC-E", "sghmc-euler", True),
    Method("SGLD", "sgld-euler", False),
)
"""S is the symmetric splitting, E the Euler integrator (chen2015, Table 1)."""

GRIDS = ("printed", "rescaled")

REFINED = "refined"
"""Every setting that was run: those of both grids, and those that were added around the best of them."""


@dataclass(frozen=True)
class GridPoint:
    """One setting of a grid: the printed step size it stands for, the step size h that is run, the friction's factor, and D.

    A setting that was added to a grid stands for no printed step size.
    """

    printed_step: float | None
    step: float
    factor: float | None
    friction: float | None

    def setting(self) -> ChainSetting:
        """The setting as a row of chains."""
        return ChainSetting(self.step, 1.0 if self.friction is None else self.friction, name=str(self))

    @property
    def abscissa(self) -> float:
        """The printed step size that it stands for, else its own."""
        return self.step if self.printed_step is None else self.printed_step

    @property
    def coordinates(self) -> Point:
        """The step, and with a momentum the friction's factor."""
        return (self.step,) if self.factor is None else (self.step, self.factor)

    @classmethod
    def added(cls, point: Point) -> GridPoint:
        """The setting of these coordinates."""
        step, factor = point if len(point) > 1 else (point[0], None)
        return cls(None, step, factor, None if factor is None else factor / math.sqrt(step))

    def __str__(self) -> str:
        if self.factor is None:
            return f"h = {self.step:.3g}"
        return f"h = {self.step:.3g}, D = {self.factor:g}/sqrt(h)"


def points(method: Method, grid: str, size: int) -> tuple[GridPoint, ...]:
    """The settings of a method on a grid, for a data set of `size` training images: 4 for SGLD, 12 for SGHMC.

    >>> [str(point) for point in points(METHODS[2], "printed", 1438)][:2]
    ['h = 0.0003', 'h = 0.0004']
    >>> str(points(METHODS[2], "rescaled", 15000)[0])
    'h = 0.0012'
    """
    printed = printed_settings("chen2015", "sbn")
    ratio = printed["images"] / size if grid == "rescaled" else 1.0
    found = []
    for step in printed["steps"]:
        if not method.momentum:
            found.append(GridPoint(step, step * ratio, None, None))
            continue
        h = step * math.sqrt(ratio)
        found += [GridPoint(step, h, factor, factor / math.sqrt(h)) for factor in printed["friction_factors"]]
    return tuple(found)


def printed_value(method: Method, hidden: int) -> float | None:
    """The test negative log-likelihood that the paper prints for this many hidden units; None if it prints none."""
    printed = printed_settings("chen2015", "sbn")
    if hidden not in printed["hidden"]:
        return None
    value: float = printed["negative_log_likelihood"][method.scheme][printed["hidden"].index(hidden)]
    return value
