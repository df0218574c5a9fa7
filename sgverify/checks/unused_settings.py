"""Which settings of a configuration have no effect, and is each of them an error or only worth a warning?"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from sgverify.checks.subject.subject import Subject
from sgverify.configuration.kinds import FALLING, SCHEDULE_KINDS
from sgverify.errors import ConfigurationError
from sgverify.gradients import READERS
from sgverify.schemes.composites import ReplicaExchange

AVERAGES = ("burn_in", "thinning")

SAMPLE = ("chains", "seed", "level", "dtype")

UNASKED: Mapping[str, tuple[str, ...]] = {
    "local-order": (
        *("sweep.lengths", "test_function", "chains", "level"),
        *AVERAGES,
    ),
    "stationary-bias": ("sweep.lengths", *AVERAGES),
    "covariance": ("sweep.lengths", "test_function", *AVERAGES),
    "wasserstein-2": ("sweep.lengths", "test_function", *AVERAGES),
    "bias": ("sweep.steps",),
    "mse": ("sweep.steps",),
    "sample": ("sweep.steps", "sweep.lengths", "level", "test_function", "proof_dim"),
    "verify": (),
}
"""The keys that a question never reads, by the quantity of `rate` or the command: a file for many questions may hold them."""

TOLD = ("batch",)
"""Keys that a table for several kinds holds, one of them chosen by hand: told, and not refused."""

_LOG = logging.getLogger("sgverify")


def refuse_unused(subject: Subject, question: str) -> None:
    """Raise `ConfigurationError` for a setting that contradicts another one; log a warning for every other unused setting.

    `question` is `verify`, `sample` or a quantity of `rate`. Four settings are certainly mistakes and raise: a key of
    another kind of gradient or schedule than the configured kind, epochs where nothing changes along a run, a metric for
    dynamics without a metric, and a device that this machine lacks. Keys that other schemes or questions read, such as the
    friction, only cause a warning, since one file may serve several schemes.
    """
    c = subject.configuration
    _refuse_foreign(c.gradient, "gradient", READERS, (c.gradient.kind,), question)
    _refuse_foreign(c.schedule, "schedule", SCHEDULE_KINDS, _schedules(subject, question), question)
    for key in _without_change(subject):
        if not _annealing_chosen(c):
            raise ConfigurationError(
                f"{key}={_value_of(c, key)} has no effect: nothing changes along the run; expected annealing.cooling above 1 "
                f"beside it, or what else changes from epoch to epoch; set that too, or leave {key} out"
            )
    _refuse_metric(subject)
    _refuse_device(subject)
    for key, why in (*_idle(subject), *_unasked(subject, question)):
        if not _open(c, key):
            _LOG.warning("warning: %s=%s has no effect: %s", key, _shown(_value_of(c, key)), why)


def tell_unsampled(subject: Subject, method: str) -> None:
    """Log that the settings of sampling had no effect, if the answer came from an exact method."""
    given = [key for key in SAMPLE if not _open(subject.configuration, key)]
    if given and method in ("proof", "exact"):
        _LOG.warning(
            "warning: %s: no effect, for nothing was sampled: the answer is [%s]", ", ".join(given), method
        )


def _value_of(configuration: Any, key: str) -> Any:
    """The value of a configuration under a dotted key; None if the configuration lacks the table."""
    for name in key.split("."):
        configuration = getattr(configuration, name, None)
    return configuration


def _open(configuration: Any, key: str) -> bool:
    """Is a dotted key at its default? A default that is written out counts: evidence writes out every key."""
    *path, last = key.split(".")
    table = _value_of(configuration, ".".join(path)) if path else configuration
    return table is None or getattr(table, last) == type(table).model_fields[last].default


def _schedules(subject: Subject, question: str) -> tuple[str, ...]:
    """The kinds of schedules in use: the configured kind, else those that the question or its claims name."""
    schedule = subject.configuration.schedule
    if "kind" in schedule.model_fields_set:
        return (schedule.kind,)
    if question == "verify" and not subject.black_box:
        return ("fixed", *FALLING)
    # `rate` keeps a step size that the user gave.
    return ("horizon",) if question in ("bias", "mse") and schedule.step is None else ("fixed",)


def _refuse_foreign(
    table: Any, name: str, readers: Mapping[str, tuple[str, ...]], kinds: tuple[str, ...], question: str
) -> None:
    chosen = "kind" in table.model_fields_set
    for key, able in readers.items():
        value = getattr(table, key)
        if key not in table.model_fields_set or value is None or set(kinds) & set(able):
            continue
        if chosen and (key in TOLD or value == type(table).model_fields[key].default):
            # Evidence writes out its whole configuration, which may be loaded again: a default kind is not refused.
            continue
        at_work = f"{name}.kind={kinds[0]!r}"
        if len(kinds) > 1:
            at_work = f"{name}.kind left open"
        elif not chosen:
            at_work += ", the default" if table.kind in kinds else f", which {question} is asked under"
        raise ConfigurationError(
            f"{name}.{key}={_shown(value)} has no effect: it belongs to {name}.kind={' or '.join(map(repr, able))}, and this is "
            f"{at_work}; expected such a kind beside it; set {name}.kind too, or leave {name}.{key} out"
        )


def _without_change(subject: Subject) -> Iterator[str]:
    """The keys of epochs that are given where nothing changes from epoch to epoch."""
    c = subject.configuration
    if c.annealing is None:
        return
    changing = c.annealing.cooling != 1 or (
        c.annealing.correction != 1 and isinstance(subject.composite, ReplicaExchange)
    )
    # An annealed schedule has the same epochs, and no end.
    if not changing:
        yield from (["annealing.until"] if c.annealing.until is not None else [])
        if c.schedule.kind != "annealed":
            yield from (["annealing.epoch"] if c.annealing.epoch is not None else [])


def _annealing_chosen(configuration: Any) -> bool:
    """Was it written that nothing changes? So does a grid that compares, and evidence, which writes out every key."""
    return bool({"cooling", "correction"} & configuration.annealing.model_fields_set)


def _refuse_metric(subject: Subject) -> None:
    given, dynamics = subject.configuration.metric, subject.scheme.dynamics
    if given is not None and not dynamics.riemannian:
        raise ConfigurationError(
            f"metric={_shown(given)} with scheme={subject.reference!r}: `{dynamics.name}` has no metric; expected a scheme on "
            "dynamics that have one, such as riemannian_langevin; leave metric out, or choose such a scheme"
        )


def _refuse_device(subject: Subject) -> None:
    device = subject.configuration.device
    if device == "cpu":
        return
    if subject.black_box:
        raise ConfigurationError(
            f"device={device!r} with scheme={subject.reference!r}: torch code is judged on the processor; expected 'cpu'; leave "
            "device out"
        )
    # Imported here: the module imports torch, which knows the devices of this machine.
    from sgverify.samplers.run.settings import Settings

    _ = Settings.of(subject.configuration).torch_device


def _idle(subject: Subject) -> Iterator[tuple[str, str]]:
    """The keys, each with the reason, that configure an ingredient which the scheme does not use."""
    c, scheme = subject.configuration, subject.scheme
    name = subject.reference
    if not c.gradient.estimator.draws_data and "kind" in c.gradient.model_fields_set:
        yield "gradient.batch", f"gradient.kind={c.gradient.kind!r} takes all data"
    if "D" not in (*scheme.parameters, *scheme.dynamics.parameters):
        yield "friction", f"{name} has no friction D"
    if "p" not in scheme.dynamics.state:
        yield "start_momentum", f"{name} has no momentum p"
        yield "resample_momentum", f"{name} has no momentum p"
    if c.annealing is not None and not isinstance(subject.composite, ReplicaExchange):
        yield "annealing.correction", f"the chains of {name} do not swap"
    yield from ((key, "nothing changes along the run") for key in _without_change(subject))
    if "test_function" in c.model_fields_set and subject.observable.degree == 0:
        yield (
            "test_function",
            "a constant has the same average under every law, so that no answer about it says anything",
        )
    if isinstance(subject.composite, ReplicaExchange):
        if "p" not in scheme.dynamics.state:
            yield "exchange.momentum", f"the replicas of {name} have no momentum p"
        if c.exchange is not None and c.exchange.variance == "minibatch":
            yield (
                "exchange.repeats",
                "exchange.variance='minibatch' takes the spread within one minibatch; set it to 'repeated'",
            )


def _unasked(subject: Subject, question: str) -> Iterator[tuple[str, str]]:
    torch_code = AVERAGES if subject.black_box else ()
    what = "no check of torch code" if question == "verify" else f"`sgverify {question}`"
    if question not in ("verify", "sample"):
        what = f"the quantity {question}"
    reads = "reads it" if what.startswith("no ") else "does not read it"
    for key in dict.fromkeys((*UNASKED[question], *torch_code)):
        yield key, f"{what} {reads}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


__all__ = ["refuse_unused", "tell_unsampled"]
