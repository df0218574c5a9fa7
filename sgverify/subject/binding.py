"""A scheme bound to a configuration: the one door through which a question, a sampler or a test gets its subject."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sgverify.configuration import Configuration, load_configuration, tree_of
from sgverify.configuration.loading import adapter_settings
from sgverify.configuration.model import FALLING, SCHEDULE_KINDS, ExchangeTable
from sgverify.errors import ConfigurationError
from sgverify.gradients import READERS
from sgverify.schemes import Scheme, TorchStep
from sgverify.schemes.adapting import adapted
from sgverify.schemes.composites import COMPOSITES, AdaptivelyWeighted, Composite, ReplicaExchange
from sgverify.schemes.loading import load_step, refuse_adapter
from sgverify.schemes.torch_step import OwnLoss
from sgverify.subject.composite import CompositeSubject, TorchSubject
from sgverify.subject.momentum_unit import in_own_unit
from sgverify.subject.subject import Subject
from sgverify.targets.catalogue.conjugate import EXPANDED_MEAN
from sgverify.targets.own.log_density import is_plain
from sgverify.targets.registry import build_target

# Settings without effect: a mistake, or only worth a warning.


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


def bind(
    scheme: Scheme | TorchStep | Composite | str | Any,
    configuration: Configuration,
    question: str,
    method: str | None = None,
) -> Subject:
    """`make_subject`, with settings that contradict one another refused and those without effect told.

    `question` is `verify`, `sample` or a quantity of `rate`: each reads settings of its own.
    """
    subject = make_subject(scheme, configuration, method)
    refuse_stray_tables(subject)
    refuse_unused(subject, question)
    return subject


def make_subject(
    scheme: Scheme | TorchStep | Composite | str | Any,
    configuration: Configuration,
    method: str | None = None,
) -> Subject:
    """The subject of a scheme, of an object that an adapter makes one of, or of a reference to either.

    `method` is "exact" or "monte-carlo"; None takes an exact method if one exists.
    """
    settings = adapter_settings(configuration)
    if isinstance(scheme, str):
        return _subject(load_step(scheme, settings), configuration, scheme, method)
    if isinstance(scheme, (Scheme, TorchStep, Composite)):
        refuse_adapter(scheme.reference or scheme.name, settings)
    else:
        scheme = adapted(scheme, settings)
    return _subject(scheme, configuration, scheme.reference or scheme.name, method)


def refuse_stray_tables(subject: Subject) -> None:
    """Raise `ConfigurationError` for a table, or starts of replicas, of another kind of composite than the subject.

    Only a user's call is refused. Stored evidence about a composite's scheme holds the whole configuration of the
    composite, and its replay does not come here.
    """
    kind = subject.composite.kind if subject.composite else None
    for table, (whose, lacks) in _TABLES.items():
        if getattr(subject.configuration, table) is None or kind == whose:
            continue
        able = ", ".join(name for name, composite in COMPOSITES.items() if composite.kind == whose)
        raise ConfigurationError(
            f"{table} with scheme={subject.reference!r}: {subject.reference} has no {lacks}; expected a composite that has "
            f"({able}, or one of your own by `from sgverify import {_MADE[whose]}`); use one, or leave {table} out"
        )
    _refuse_starts(subject, kind == ReplicaExchange.kind)


def _refuse_starts(subject: Subject, replicated: bool) -> None:
    c = subject.configuration
    if not isinstance(c.start, list):
        return
    ladder = (c.exchange or ExchangeTable()).ladder
    if not replicated:
        expected = f"one number, for {subject.reference} has no replicas"
    elif len(c.start) != len(ladder):
        expected = (
            f"{len(ladder)} numbers, one for each of exchange.ladder={ladder}, or one number for all of them"
        )
    else:
        return
    raise ConfigurationError(
        f"start={c.start} with scheme={subject.reference!r}: expected {expected}; mend start"
    )


_TABLES = {
    "exchange": (ReplicaExchange.kind, "replicas"),
    "partition": (AdaptivelyWeighted.kind, "regions with weights"),
}
"""The tables of composites: the kind that reads each, and what others lack."""

_MADE = {kind.kind: kind.__name__ for kind in (ReplicaExchange, AdaptivelyWeighted)}


def _subject(
    scheme: Scheme | TorchStep | Composite, configuration: Configuration, reference: str, method: str | None
) -> Subject:
    if isinstance(scheme, Composite):
        return CompositeSubject(scheme.scheme, configuration, reference, method=method, composite=scheme)
    if isinstance(scheme, TorchStep):
        from sgverify.samplers.intercepted.numpy_draws import NumpyDraws

        numpy = NumpyDraws(scheme.function)
        scheme = in_own_unit(replace(scheme, context=numpy) if numpy.places else scheme)
        configuration = _of_own_loss(scheme.own_loss, configuration, reference)
        return TorchSubject(scheme, configuration, reference, method=method)
    scheme = in_own_unit(scheme)
    return Subject(scheme.without_idle_memory, _at_home(scheme, configuration), reference, method=method)


def _at_home(scheme: Scheme, configuration: Configuration) -> Configuration:
    """The configuration with a target on theta > 0 where the scheme lives there and no target is named."""
    if not scheme.dynamics.positive or "target" in configuration.model_fields_set:
        return configuration
    return load_configuration({**tree_of(configuration), "target": {"name": EXPANDED_MEAN.name}})


def _of_own_loss(own: OwnLoss | None, configuration: Configuration, reference: str) -> Configuration:
    """The configuration with the density that code with its own loss is held against as its target.

    Without a density, a Gaussian of the code's dimension only says from where it is called. Raises `ConfigurationError` for
    another target beside it, or a density of another dimension.
    """
    if own is None:
        return configuration
    tree = tree_of(configuration)
    given = tree.get("target", {})
    dim = own.dim or given.get("dim", 1)
    target: dict[str, Any] = {"name": own.density} if own.density else {"name": "gaussian", "dim": dim}
    if own.density and is_plain(own.density):
        target["dim"] = dim
    if any(given.get(key, value) != value for key, value in target.items()):
        raise ConfigurationError(
            f"target.name={given.get('name')!r} with scheme={reference!r}: the code brings its own loss; expected its density as "
            "adapter.density; leave target out"
        )
    found = load_configuration({**tree, "target": {**given, **target}})
    size = build_target(found.target).dim
    if own.dim and size != own.dim:
        raise ConfigurationError(
            f"adapter.density={own.density!r}: has dimension {size}, and scheme={reference!r} trains {own.dim} parameters; "
            f"expected a density of dimension {own.dim}, in the order of the parameters"
        )
    return found
