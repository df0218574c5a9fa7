"""The schemes, frictions and gradient estimators that are compared where none are named."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sgverify.configuration import Configuration, load_configuration
from sgverify.gradients import CONTROL_VARIATE, FULL, IID, SVRG
from sgverify.subject.subject import Subject

SCHEMES = ("sgld-euler", "sghmc-euler", "sghmc-aboba", "sghmc-baoab", "sghmc-ubu")
"""Overdamped Euler, and of the schemes with a momentum Euler and the usual splittings."""

COMPARED = (FULL, IID, CONTROL_VARIATE, SVRG)

BATCHES: tuple[int, ...] = (8, 32, 128, 512)
CONTROLLED: tuple[int, ...] = (8, 32, 128)
"""Batches of plain minibatches, and of those with control variates, below the number of data."""


def estimators(configuration: Configuration, size: int | None) -> list[tuple[str, int | None]]:
    """The gradient estimators that are compared, (kind, batch): the configured ones, else a small grid."""
    given = configuration.gradient
    chosen = [given.estimator] if size is None or "kind" in given.model_fields_set else COMPARED
    found: list[tuple[str, int | None]] = []
    for estimator in chosen:
        if not estimator.draws_data or size is None:
            found.append((estimator.name, None))
            continue
        batches = BATCHES if estimator.plain else CONTROLLED
        if "batch" in given.model_fields_set:
            batches = (int(given.batch),)
        # The batches of an epoch divide the data.
        found += [
            (estimator.name, n) for n in batches if n < size and not (estimator.exchangeable and size % n)
        ]
    return found


def frictions(configuration: Configuration, precision: np.ndarray) -> list[float]:
    """The frictions that are compared: the configured one, else those that damp the slowest, a middle and the fastest direction.

    A direction of precision r forgets fastest at D = 2 sqrt(r), where it is critically damped. Shape (d, d).
    """
    if "friction" in configuration.model_fields_set:
        return [float(configuration.friction)]
    rates = np.linalg.eigvalsh(precision)
    low, high = float(rates[0]), float(rates[-1])
    wanted = [2 * math.sqrt(r) for r in (low, math.sqrt(low * high), high)]
    return sorted({float(f"{value:.2g}") for value in wanted})


def subjects(
    subject: Subject, kind: str, batch: int | None, damping: Sequence[float]
) -> Iterator[tuple[float | None, Subject]]:
    """The subject under one gradient estimator, at each of the frictions; once without a momentum."""
    kinetic = "p" in subject.scheme.dynamics.state
    for friction in damping if kinetic else (None,):
        tables = subject.configuration.model_dump(exclude_unset=True)
        given = {
            key: value for key, value in tables.get("gradient", {}).items() if key not in ("kind", "batch")
        }
        tables["gradient"] = {**given, "kind": kind, **({} if batch is None else {"batch": batch})}
        if friction is not None:
            tables["friction"] = friction
        other = Subject(subject.scheme, load_configuration(tables), subject.reference)
        vars(other)["target"] = subject.target
        yield friction, other


def gradients_per_step(subject: Subject) -> float:
    """Gradients of single data that one step evaluates; evaluations of grad U where the target has no data."""
    table, calls = subject.configuration.gradient, subject.scheme.census.gradients
    size = subject.target.size
    if size is None:
        return calls
    estimator = table.estimator
    if not estimator.draws_data:
        return calls * size
    # Of what a minibatch subtracts the gradients are evaluated too.
    per_call = table.batch if estimator.plain else 2 * table.batch
    interval = getattr(estimator, "interval", None)
    return calls * per_call + (0.0 if interval is None else size / interval(size, table))
