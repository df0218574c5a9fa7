"""What is an application: its name, the options of its command, and the function that runs it?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Any

from reports.applications.keeping import KeptParts
from sgverify.errors import ConfigurationError, UnknownNameError, shown

if TYPE_CHECKING:
    from reports.applications.result import AppFindings

Progress = Callable[[str, float, int], None]
"""(text, done, total): called as a run goes on."""


@dataclass(frozen=True)
class Option:
    """An option of an application's command, beside those that all of them have (--out, --seed, --seeds, --quick).

    `kind` is the type of the value; an option with `many` may be given several times and is a tuple. `quick` is the default of a
    reduced run, where it differs. A `default` of None is chosen by the application, and `help` says how. `least` is the smallest
    number that makes sense, and `most` the largest: what is beyond takes more memory or time than any machine has.
    """

    name: str
    kind: type[int] | type[float] | type[str]
    default: Any
    help: str
    quick: Any = None
    many: bool = False
    least: float | None = None
    most: float | None = None
    metavar: str | None = None

    def check(self, value: Any) -> None:
        """Raise `ConfigurationError` for a number below the least that makes sense or above the most, NaN or infinity."""
        least, most = (-inf if self.least is None else self.least), (inf if self.most is None else self.most)
        for number in value if self.many else (value,):
            if self.kind is str or number is None:
                continue
            if not (least <= number <= most and -inf < number < inf):
                bounds = [
                    f"{words} {bound:,.12g}"
                    for words, bound in (("of at least", self.least), ("of at most", self.most))
                    if bound is not None
                ]
                raise ConfigurationError(
                    f"--{self.name} {shown(number)}: expected a number {' and '.join(bounds)}; the default is {self.default!r}"
                )


@dataclass(frozen=True)
class Application:
    """A model of a paper that can be sampled.

    `refuse`, if there is one, is called with the options that are given, each with its value, and raises `ConfigurationError` for
    one that has no effect beside the others. `run` is `module:function`; the function takes a `Job` and returns `AppFindings`. It
    is imported when it is called, so that a list of applications loads neither torch nor scipy. `source` is the section of the
    paper, `minutes` what the default run costs on two cores.
    """

    name: str
    title: str
    summary: str
    source: str
    minutes: float
    run: str
    options: tuple[Option, ...] = ()
    refuse: Callable[[Mapping[str, Any]], None] | None = None

    def settings(self, given: Mapping[str, Any], *, quick: bool = False) -> dict[str, Any]:
        """The value of each option: as given, else its default (of a reduced run, with `quick`).

        Raises `UnknownNameError` for an option that it has not, `ConfigurationError` for a number that makes no sense and for an
        option without an effect.
        """
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                raise UnknownNameError(f"option of {self.name}", name, known)
        if self.refuse is not None:
            self.refuse({name: value for name, value in given.items() if value not in (None, (), [])})
        found = {}
        for name, option in known.items():
            value = given.get(name)
            if value is None or (option.many and not value):
                value = option.quick if quick and option.quick is not None else option.default
            option.check(value)
            found[name] = value
        return found

    def load(self) -> Callable[[Job], AppFindings]:
        """The function that runs the application."""
        module, _, name = self.run.partition(":")
        function: Callable[[Job], AppFindings] = getattr(import_module(module), name)
        return function


@dataclass(frozen=True)
class Job:
    """One run of an application.

    `settings` are the values of its options, `seed` that of all random streams, `seeds` the number of independent chains of each
    setting. `kept` stores what is done, and gives it back to a run that goes on. `progress` is told how far the run is.
    """

    settings: Mapping[str, Any]
    seed: int = 0
    seeds: int = 2
    quick: bool = False
    kept: KeptParts = field(default_factory=KeptParts)
    progress: Progress | None = None

    def tell(self, text: str, done: float, total: int) -> None:
        """Report progress, where somebody asked for it."""
        if self.progress is not None:
            self.progress(text, done, total)
