"""The errors that a user can meet, with the exit code that each carries, and texts as they may stand on a terminal."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from textwrap import fill
from typing import Any, TypeVar

Entry = TypeVar("Entry")

COLUMNS = 80
"""The most columns of a line of output, but for a word or a table that is wider."""

FEW = 60
"""Up to so many known names are listed in a message; of more, the nearest three."""


LONGEST_WORD, LONGEST = 300, 2000
"""Characters of a stretch without blanks, and of a message, beyond which the middle is left out."""


def shortened(message: str) -> str:
    """The message without the middle of what is long; its end, which says what was expected, is kept.

    >>> shortened("dtype='" + "x" * 20000 + "': expected 'float64'")
    "dtype='xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...(19949 characters)...xxxxxxxxxxxxxxxxxx': expected 'float64'"
    """
    words = re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: _without_middle(word[0], 40, 20), message)
    return words if len(words) <= LONGEST else _without_middle(words, LONGEST // 2, LONGEST // 2)


def _in_python(sign: str) -> str:
    return f"\\x{ord(sign):02x}" if ord(sign) < 128 else sign.encode("unicode_escape").decode()


def escaped(text: str, escape: Callable[[str], str] = _in_python) -> str:
    r"""The text with an `escape` for what steers a terminal or a build server, turns text around, is half a character, or unseen.

    Such a server takes what stands in brackets behind two number signs for a command.

    >>> escaped("a" + chr(27) + "[31m"), escaped("##[group]b")
    ('a\\x1b[31m', '\\x23#[group]b')
    """
    return _STEERING.sub(lambda sign: escape(sign[0]), text)


def printable(text: str) -> str:
    r"""The text as one line that may stand on a terminal or in a log: `escaped`, and without the two colons that begin a command.

    >>> printable("a" + chr(10) + "  b"), printable("::error::b")
    ('a b', '\\x3a:error::b')
    """
    line = escaped(re.sub(r"\s*[\r\n]\s*", " ", text)).rstrip()
    return re.sub(r"^(\s*):(?=:)", r"\1\\x3a", line)


def filled(text: str, first: str = "", rest: str | None = None, width: int = COLUMNS) -> str:
    """The text in lines of at most `width` columns, the first after `first`, the others after `rest`; no word is broken.

    `rest` is by default as wide as `first`.
    """
    rest = " " * len(first) if rest is None else rest
    return fill(
        printable(text), width, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def command_lines(command: str, margin: str = "  ") -> str:
    r"""A command in lines that a shell reads as one, none of which parts an option from its value.

    >>> print(command_lines("sgverify verify " + "x" * 60 + " --set friction=2"))
      sgverify verify xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx \
        --set friction=2
    """
    words = re.findall(
        r"""--\S+ (?:'[^']*'|"[^"]*"|[^\s'"-])(?:'[^']*'|"[^"]*"|[^\s'"])*|(?:'[^']*'|"[^"]*"|[^\s'"])+""",
        printable(command),
    )
    lines = [margin + words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + 3 > COLUMNS:
            lines[-1] += " \\"
            lines.append(f"{margin}  {word}")
        else:
            lines[-1] += f" {word}"
    return "\n".join(lines)


_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
    r"|#(?=#\w*\[)"
)


def _printable(record: logging.LogRecord) -> bool:
    record.msg, record.args = printable(record.getMessage()), ()
    return True


logging.getLogger("sgverify").addFilter(_printable)


def shown(value: Any) -> str:
    """repr(value), cut where it is long; for messages."""
    try:
        text = repr(value)
    except ValueError:
        # Python prints no whole number of more than some thousand digits.
        return f"a {type(value).__name__} of thousands of digits"
    return text if len(text) <= 80 else f"{text[:60]} ... ({len(text)} characters)"


def _without_middle(text: str, first: int, last: int) -> str:
    return f"{text[:first]}...({len(text) - first - last} characters)...{text[-last:]}"


class SgverifyError(Exception):
    """Base of every error that `sgverify` raises on purpose; its message is `shortened` and `escaped`.

    `paste` are lines of code that mend what is wrong, for the user to paste.
    """

    paste = ""

    def __init__(self, message: str = "") -> None:
        super().__init__(escaped(shortened(message)))


class UserError(SgverifyError):
    """The call, the configuration or the scheme's definition is wrong (exit code 2).

    The message says what was given, what was expected and how to mend it, in that order.
    """


class DefinitionError(UserError):
    """A scheme, a dynamics or an alphabet is not well-formed; the message names file and line."""


class ConfigurationError(UserError):
    """A configuration value is missing, misspelt, of the wrong type or out of range."""


class PluginError(UserError):
    """An entry point of an installed distribution cannot be used; the message names the distribution."""


class PluginWarning(UserWarning):
    """An entry point of an installed distribution is left out; the message names the distribution."""


class UnknownNameError(UserError):
    """A name that no catalogue knows; the message names the nearest known ones, or all of a few, or three of many."""

    def __init__(self, kind: str, given: str, known: Iterable[str], hint: str = "") -> None:
        known = sorted(set(known))
        # A name that continues the given one is likelier meant than one that differs in a letter: sgld-euler, not csgld.
        longer = [name for name in known if name.startswith(f"{given}-")]
        near = known if len(known) == 1 else _nearest(given, longer or known)
        mend = f"did you mean {' or '.join(map(repr, near))}?" if near else _listed(given, known)
        super().__init__(f"unknown {kind} {given!r}; {mend}{' ' + hint if hint else ''}")
        self.kind, self.nearest = kind, near[0] if near else None


def find_named(kind: str, name: str, known: Mapping[str, Entry], hint: str = "") -> Entry:
    """The entry of that name; raises `UnknownNameError` with the nearest known one."""
    if name not in known:
        raise UnknownNameError(kind, name, known, hint)
    return known[name]


def _nearest(given: str, known: list[str]) -> list[str]:
    """The known name that is nearest to the given one; up to three that are equally near, none where all are far."""
    near = difflib.get_close_matches(given, known, n=3, cutoff=0.5)
    likeness = [difflib.SequenceMatcher(None, name, given).ratio() for name in near]
    return sorted(name for name, share in zip(near, likeness, strict=True) if share == likeness[0])


def _listed(given: str, known: list[str]) -> str:
    if len(known) <= FEW:
        return f"known: {', '.join(known)}."
    nearest = difflib.get_close_matches(given, known, n=3, cutoff=0.0)
    return f"the nearest of {len(known)} known: {', '.join(nearest)}."


class InstabilityError(UserError):
    """The step size is beyond the stability limit: the spectral radius of one step is at least 1."""


class MomentsDivergeError(InstabilityError):
    """The step contracts, but not the moments of higher degree that a question needs: random Hessians expand them."""


class Unreached(SgverifyError):
    """A method does not reach this question; the message says why, for the middle of a sentence or for its end.

    Raised by whatever finds it out, and caught where the question is asked, which goes on to another method or says it.
    """


def unreached(ask: Callable[[], object]) -> str | None:
    """The reason of the `Unreached` that `ask` raises; None where it answers."""
    try:
        ask()
    except Unreached as why:
        return str(why)
    return None


class NotExpandableError(SgverifyError):
    """The step has no power series in sqrt(h) that the generator expansion can read."""

    def told(self, whose: str = "the step", between: str = "; ") -> str:
        """The reason as a clause about what has no series."""
        return f"{whose} has no power series in sqrt(h){between}it uses {self}"


class TooLargeError(NotExpandableError):
    """The step has a power series in sqrt(h), which is too large to be computed."""

    def told(self, whose: str = "the step", between: str = "; ") -> str:
        """The reason as a clause about what has no series."""
        return f"the power series of {whose.removeprefix('a ')} is too large{between}{self}"
