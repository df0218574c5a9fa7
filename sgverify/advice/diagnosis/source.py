"""Where does the text of a scheme stand, and which scheme does an edited text define?

A step function of a user's file is its own Python source, a word over such functions their sources and its letters. A scheme that
was made from a printed formula has that formula as its text, without file and line.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.exact.readings.formula import MATHEMATICS, define, formula, terms_of, text_of
from sgverify.schemes import Alphabet, Dynamics, Scheme
from sgverify.schemes.definition import mathematics
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.definition.declaration import read_signature
from sgverify.schemes.definition.foreign import ForeignNames, Library
from sgverify.schemes.scheme import make_scheme
from sgverify.schemes.splittings import Letter, Word, compose

PACKAGE = Path(__file__).resolve().parents[2]

FUTURE_ANNOTATIONS = 0x1000000
"""CO_FUTURE_ANNOTATIONS, the one future statement that changes how today's Python compiles a function."""


@dataclass(frozen=True)
class Replacement:
    """The characters `start` to `end` of a text become `new`."""

    start: int
    end: int
    new: str


def replaced(text: str, changes: Sequence[Replacement]) -> str:
    """The text with every change made; the changes do not overlap."""
    for change in sorted(changes, key=lambda change: -change.start):
        text = text[: change.start] + change.new + text[change.end :]
    return text


@dataclass(frozen=True)
class Text:
    """A text that an edit may change: the source of one function, the letters of a `word`, or its coefficients (`shares`).

    `line` is that of the first line of `text` in `file`, and `margin` the blanks that its lines have there before them. `clock`
    is the name of the time, h of a step and t of a letter; `vectors` are the vectors of the state, `due` the summands of the
    dynamics' drift and noise, such as "h*p", and `offered` the numbers of the dynamics that the text does not ask for yet.
    `sketch(text)` is the scheme of an edited text without the checks of its definition, for one cheap run; `made(text)` is the
    scheme proved well-formed, and raises `DefinitionError` where it is not.
    """

    text: str
    clock: str
    names: tuple[str, ...]
    sketch: Callable[[str], Scheme] = field(repr=False)
    made: Callable[[str], Scheme] = field(repr=False)
    known: Callable[[str], str | None] = field(repr=False, default=lambda name: name)
    file: str | None = None
    line: int | None = None
    margin: str = ""
    word: bool = False
    shares: bool = False
    vectors: tuple[str, ...] = ()
    due: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()


def texts_of(scheme: Scheme) -> Iterator[Text]:
    """The texts of a scheme in which an edit is sought: those of its own file, or its printed formula."""
    word = scheme.word
    if word is not None:
        yield _letters_of_word(scheme, word) if shares_equally(word) else _shares_of_word(scheme, word)
        for symbol, letter in word.alphabet.letters.items():
            if own_lines(letter.function) is not None:
                yield _of_letter(scheme, word, symbol)
        return
    yield _of_step(scheme)


def _of_step(scheme: Scheme) -> Text:
    """The function of a step: the source of a user's file, or the printed formula."""
    function = scheme.function
    printed = "" if own_lines(function) else text_of(function) or formula(scheme)
    name = printed.split("(", 1)[0].removeprefix("def ")

    return _text_of(
        function,
        "h",
        (*scheme.state, *scheme.declaration.ingredients),
        lambda text: _sketch(scheme, _executed(text, name) if printed else compiled(function, text)),
        lambda text: _made(scheme, define(text, name) if printed else compiled(function, text)),
        scheme.dynamics,
        printed,
    )


def _sketch(scheme: Scheme, function: Any) -> Scheme:
    """The scheme with another step function, whose signature is read again where it asks for more."""
    names = function.__code__.co_varnames[
        : function.__code__.co_argcount + function.__code__.co_kwonlyargcount
    ]
    known = {*scheme.state, *scheme.declaration.ingredients}
    declared = scheme.declaration if known.issuperset(names) else read_signature(function, "step")
    return replace(scheme, function=function, declaration=declared)


def _made(scheme: Scheme, function: Callable[..., Any]) -> Scheme:
    """The step function `function` as a scheme of the same dynamics, memory and claims."""
    made = make_scheme(function, scheme.dynamics, order=scheme.order, memory=scheme.memory, name=scheme.name)
    return replace(made, invariant_order=scheme.invariant_order)


def _offered(dynamics: Dynamics, known: Sequence[str]) -> tuple[str, ...]:
    """The numbers of the dynamics that are not known."""
    used = (*dynamics.parameters, *(name for name in dynamics.declaration.ingredients if name == "dim"))
    return tuple(name for name in used if name not in known)


def _of_letter(scheme: Scheme, word: Word, symbol: str) -> Text:
    letter = word.alphabet.letters[symbol]

    def sketch(text: str) -> Scheme:
        function = compiled(letter.function, text)
        edited = replace(letter, function=function, declaration=read_signature(function, "letter"))
        return _over(scheme, _with_letter(word, symbol, edited))

    def made(text: str) -> Scheme:
        functions = {name: item.function for name, item in word.alphabet.letters.items()}
        functions[symbol] = compiled(letter.function, text)
        alphabet = Alphabet(word.alphabet.name, scheme.dynamics, **functions)
        return _spelled(scheme, alphabet, word.text, list(word.shares))

    names = (*letter.declaration.state, *letter.declaration.ingredients)
    return _text_of(letter.function, "t", names, sketch, made, scheme.dynamics)


def _letters_of_word(scheme: Scheme, word: Word) -> Text:
    def made(text: str) -> Scheme:
        return _spelled(scheme, word.alphabet, text, None)

    return Text(word.text, "h", tuple(word.alphabet.letters), made, made, word=True)


def shares_equally(word: Word) -> bool:
    """Whether the occurrences of each letter share the step equally, as in a word without coefficients."""
    counts = Counter(word.text)
    return all(share * counts[symbol] == 1 for symbol, share in zip(word.text, word.shares, strict=True))


def _shares_of_word(scheme: Scheme, word: Word) -> Text:
    """The coefficients of a word as one text with commas; its letters stay."""

    def made(text: str) -> Scheme:
        return _spelled(scheme, word.alphabet, word.text, text)

    shares = ",".join(map(str, word.shares))
    return Text(shares, "h", tuple(word.text), made, made, word=True, shares=True)


def _spelled(scheme: Scheme, alphabet: Alphabet, text: str, shares: list[Any] | str | None) -> Scheme:
    made = alphabet.word(text, order=scheme.order, coefficients=shares, name=scheme.name)
    return replace(made, invariant_order=scheme.invariant_order)


def _with_letter(word: Word, symbol: str, letter: Letter) -> Word:
    alphabet = copy(word.alphabet)
    alphabet.letters = MappingProxyType({**word.alphabet.letters, symbol: letter})
    return replace(word, alphabet=alphabet)


def _over(scheme: Scheme, word: Word) -> Scheme:
    return replace(scheme, word=word, function=compose(word))


def _text_of(
    function: Any,
    clock: str,
    names: tuple[str, ...],
    sketch: Callable[[str], Scheme],
    made: Callable[[str], Scheme],
    dynamics: Dynamics,
    printed: str = "",
) -> Text:
    """The text of a function in its file, or as it is `printed`."""
    lines, first = own_lines(function) or ([printed], None)
    whole = "".join(lines)
    margin = whole[: len(whole) - len(whole.lstrip())]
    file = function.__code__.co_filename
    return Text(
        textwrap.dedent(whole),
        clock,
        names,
        sketch,
        made,
        str if printed else _spelling(function),
        file if not printed and Path(file).is_file() else None,
        first,
        margin,
        vectors=tuple(name for name, shape in dynamics.shapes.items() if shape == VECTOR),
        due=tuple(terms_of(dynamics, clock)),
        offered=_offered(dynamics, names),
    )


def own_lines(function: Any) -> tuple[list[str], int] | None:
    """The source lines of a function of a user's file, and the number of the first; None where there is no such file."""
    if not isinstance(function, FunctionType):
        return None
    file = Path(function.__code__.co_filename)
    if file.is_file() and file.resolve().is_relative_to(PACKAGE):
        return None
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        return None
    return lines, first


def _spelling(function: FunctionType) -> Callable[[str], str | None]:
    """How the function's file spells sqrt, exp, expm1 and dot; None for one that it did not import."""

    def known(name: str) -> str | None:
        meant = getattr(mathematics, name)
        seen = function.__globals__
        names = seen.meanings() if isinstance(seen, ForeignNames) else seen
        for own, value in names.items():
            if value is meant:
                return own
        modules = (
            own
            for own, value in names.items()
            if value is sys.modules["sgverify"]
            or (isinstance(value, Library) and getattr(value, name, None) is meant)
        )
        return next((f"{own}.{name}" for own in modules), None)

    return known


def _executed(text: str, name: str) -> Any:
    """The function of a printed formula, in a tenth of the time of `define`: an edit is run a thousand times in a search."""
    namespace: dict[str, Any] = {"__builtins__": {}, "Fraction": Fraction, **MATHEMATICS}
    exec(compile(text, "<edited>", "exec"), namespace)
    return namespace[name]


def compiled(function: Callable[..., Any], text: str) -> FunctionType:
    """The function of an edited text, among the names that `function` sees; raises `DefinitionError` where there is none."""
    assert isinstance(function, FunctionType)
    free = function.__code__.co_freevars
    inside = text[text.find("def ") :].replace("\n", "\n ")
    flags = function.__code__.co_flags & FUTURE_ANNOTATIONS
    outer = f"def enclosing({', '.join(free)}):\n {inside}"
    try:
        code = compile(outer, "<edited>", "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise DefinitionError(f"the edited text is no Python: {error}; in\n{text}") from None
    inner = _named(_named(code, "enclosing"), function.__name__)
    if inner.co_freevars != free:
        raise DefinitionError(f"the edit encloses {inner.co_freevars}, the function {free}")
    made = FunctionType(
        inner, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _named(code: CodeType, name: str) -> CodeType:
    found = (item for item in code.co_consts if isinstance(item, CodeType) and item.co_name == name)
    inner = next(found, None)
    if inner is None:
        raise DefinitionError(f"the edited text defines no `{name}`")
    return inner
