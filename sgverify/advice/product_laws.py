"""The methods by which the law of a chain is found; where exp(-U/T) is a product, each coordinate has a chain on a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sgverify.advice.chain_laws import (
    ChainLaws,
    ClosureLaws,
    ExactLaws,
    GridLaws,
    StationaryMoments,
    exact_law_in_reach,
)
from sgverify.advice.closure.gradient_calls import step_in_gradients
from sgverify.configuration import load_configuration
from sgverify.errors import Unreached
from sgverify.subject.subject import Subject
from sgverify.targets import Target


def laws_of(subject: Subject, *, quick: bool = False) -> Iterator[ChainLaws]:
    """The methods that apply, from the most to the least reliable; with `quick` those that take a fraction of a second."""
    if exact_law_in_reach(subject):
        yield ExactLaws(subject)
        return
    from sgverify.advice.closure.gaussian_closure import GaussianClosure

    noise = subject.configuration.gradient.estimator.each_evaluation
    if (noise or not quick) and not (subject.target.quadratic or subject.target.dim > 1):
        with suppress(Unreached):
            yield GridLaws(subject)
    if not quick and subject.target.independent and subject.target.dim > 1 and not subject.target.quadratic:
        with suppress(Unreached):
            yield LinesLaws(subject)
    if GaussianClosure.why_not(subject) is None:
        yield ClosureLaws(subject)


@dataclass(frozen=True, eq=False)
class LinesLaws(ChainLaws):
    """The laws where exp(-U/T) is a product: each coordinate moves by itself, and has the law of a chain on a line.

    Raises `Unreached` where a step or its noise joins coordinates, or where a line is beyond exact laws and grids.
    """

    method: ClassVar[str] = "grid"

    def __post_init__(self) -> None:
        _ = self.lines

    @cached_property
    def lines(self) -> tuple[ChainLaws, ...]:
        """The laws on the lines; equal ones are one."""
        subject = self.subject
        noise = np.asarray(subject.configuration.gradient.covariance, dtype=np.float64)
        if (
            subject.configuration.gradient.estimator.noisy
            and noise.ndim == 2
            and np.any(noise - np.diag(np.diag(noise)))
        ):
            raise Unreached("the noise of the gradient joins coordinates")
        # A step that adds and scales its state, draws and gradients does so in each coordinate alike.
        step_in_gradients(subject, subject.step)
        known: dict[Any, ChainLaws] = {}
        found = []
        for place, target in enumerate(subject.target.lines):
            own = float(
                np.broadcast_to(np.diag(noise) if noise.ndim == 2 else noise, self.subject.target.dim)[place]
            )
            if (target, own) not in known:
                known[target, own] = next(iter(laws_of(self._on_line(target, own))))
            found.append(known[target, own])
        return tuple(found)

    def _on_line(self, target: Target, noise: float) -> Subject:
        """The subject on one of its lines."""
        tables = self.subject.configuration.model_dump(exclude_unset=True)
        tables.update(target={"name": "quartic"}, test_function="theta**2")
        tables.setdefault("schedule", {})["step"] = self.subject.step
        if self.subject.configuration.gradient.estimator.noisy:
            tables["gradient"]["covariance"] = noise
        line = Subject(self.subject.scheme, load_configuration(tables), self.subject.reference)
        vars(line)["target"] = target
        return line

    @property
    def quick(self) -> bool:
        """Whether one law takes a fraction of a second on every line."""
        return all(line.quick for line in self.lines)

    @property
    def largest_step(self) -> float:
        """The least stability limit of the lines."""
        return min(line.largest_step for line in self.lines)

    @cached_property
    def target(self) -> StationaryMoments:
        """The moments under exp(-U/T), line by line."""
        return _side_by_side([line.target for line in self.lines])

    def at(self, step: float) -> StationaryMoments:
        """The moments at this step size, line by line."""
        different = {id(line): line for line in self.lines}
        found = {key: line.at(step) for key, line in different.items()}
        return _side_by_side([found[id(line)] for line in self.lines])

    def independent_draw(self, step: float) -> float | None:
        """That of the slowest line."""
        found = [line.independent_draw(step) for line in self.lines]
        return None if None in found else max(time for time in found if time is not None)


def _side_by_side(lines: Sequence[StationaryMoments]) -> StationaryMoments:
    momenta = [line.momentum for line in lines if line.momentum is not None]
    return StationaryMoments(
        np.concatenate([line.mean for line in lines]),
        np.concatenate([line.sd for line in lines]),
        np.concatenate(momenta) if momenta else None,
    )
