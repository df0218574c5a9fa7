"""What is an application: its name, the options of its command, and the function that runs it?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sgverify.applications.keeping import KeptParts
from sgverify.errors import ConfigurationError, UnknownNameError, shown

if TYPE_CHECKING:
    from sgverify.applications.result import AppFindings

Progress = Callable[[str, float, int], None]
"""(text, done, total): called as a run goes on."""


@dataclass(frozen=True)
class Option:
    """An option of an application's command, beside those that all of them have (--out, --seed, --seeds, --quick).

    `kind` is the type of the value; an option with `many` may be given several times and is a tuple. `quick` is the default of a
    reduced run, where it differs. A `default` of None is chosen by the application, and `help` says how. `least` is the smallest
    number that makes sense. A `data` option names a file or folder of the user; what it holds identifies a run, not its place.
    """

    name: str
    kind: type[int] | type[float] | type[str]
    default: Any
    help: str
    quick: Any = None
    many: bool = False
    least: float | None = None
    metavar: str | None = None

    def check(self, value: Any) -> None:
        """Raise `ConfigurationError` for a number below the least that makes sense, NaN or infinity."""
        for number in value if self.many else (value,):
            if self.kind is str or number is None:
                continue
            if not (float("-inf") < number < float("inf")) or (
                self.least is not None and number < self.least
            ):
                raise ConfigurationError(
                    f"--{self.name} {shown(number)}: expected a number"
                    + (f" of at least {self.least:g}" if self.least is not None else "")
                    + f"; the default is {self.default!r}"
                )


@dataclass(frozen=True)
class Application:
    """A model of a paper that can be sampled.

    `run` is `module:function`; the function takes a `Job` and returns `AppFindings`. It is imported when it is called, so that
    a list of applications loads neither torch nor scipy. `source` is the section of the paper, `minutes` what the default run
    costs on two cores.
    """

    name: str
    title: str
    summary: str
    source: str
    minutes: float
    run: str
    options: tuple[Option, ...] = ()

    def settings(self, given: Mapping[str, Any], *, quick: bool = False) -> dict[str, Any]:
        """The value of each option: as given, else its default (of a reduced run, with `quick`).

        Raises `UnknownNameError` for an option that it has not, `ConfigurationError` for a number that makes no sense.
        """
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                raise UnknownNameError(f"option of {self.name}", name, known)
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
