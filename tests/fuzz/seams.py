"""Where computing begins: there an accepted input ends, with the configuration that it came to."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

from sgverify import cli

SEAMS = (
    "sgverify.verdict.asking:settle",
    "sgverify.checks.verify_and_rate:answer",
    "sgverify.checks.verify_and_rate:judge_pair",
    "sgverify.testing.regressions:judge_pair",
    "sgverify.draws.sampling:Sampling.draw",
    "sgverify.advice.plans:advise",
    "sgverify.advice.identification.identifying:identify",
    "sgverify.papers.formula:check_errata",
    "sgverify.cli.installation:examine",
    "sgverify.campaigns.tasks:answered",
    "sgverify.campaigns.cluster:connected",
    "reports.applications.chains:ChainRun.step",
    "reports.applications.classifier.result:compare",
)
"""The functions that compute, module:name."""

RUNNERS = ("answered", "run_batch")
"""The functions by which modules of the command line run jobs, under the names by which they import them."""


class Accepted(BaseException):
    """An input was accepted, with the configuration it came to where that is known; past every handler of the product."""

    def __init__(self, configuration: dict[str, Any] | None) -> None:
        super().__init__("accepted")
        self.configuration = configuration


@contextmanager
def without_computing() -> Iterator[None]:
    """A context in which whatever would compute raises `Accepted`."""
    with ExitStack() as stack:
        for holder, name in (*map(found, SEAMS), *_runners()):
            stack.enter_context(patch.object(holder, name, _end))
        yield


def _runners() -> Iterator[tuple[Any, str]]:
    for module in pkgutil.walk_packages(cli.__path__, f"{cli.__name__}."):
        holder = import_module(module.name)
        for name in RUNNERS:
            if hasattr(holder, name):
                yield holder, name


def found(place: str) -> tuple[Any, str]:
    """The object that holds the function of a seam, and its name there."""
    module, _, names = place.partition(":")
    holder: Any = import_module(module)
    *path, name = names.split(".")
    for step in path:
        holder = getattr(holder, step)
    if not hasattr(holder, name):
        raise AttributeError(f"{place}: {holder} has no {name!r}")
    return holder, name


def _end(*given: Any, **others: Any) -> Any:
    raise Accepted(_configuration([*given, *others.values()]))


def _configuration(given: list[Any]) -> dict[str, Any] | None:
    """The configuration within what a function was given."""
    for item in given:
        first = item[0] if isinstance(item, list | tuple) and item else item
        for holder in (first, getattr(first, "subject", None)):
            found = getattr(holder, "configuration", None)
            if hasattr(found, "as_dict"):
                return dict(found.as_dict())
        if hasattr(first, "as_dict"):
            return dict(first.as_dict())
    return None
