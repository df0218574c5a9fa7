"""The declaration in a definition's signature: state by position, ingredients by keyword."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.abstract import where

RESERVED = ("h", "t", "grad", "log_density", "noise", "dim", "metric", "U")


@dataclass(frozen=True)
class Declaration:
    """The names that a definition's signature declares."""

    state: tuple[str, ...]
    ingredients: tuple[str, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        """The ingredients that are numbers of the dynamics, such as D and T."""
        return tuple(name for name in self.ingredients if name not in RESERVED)

    def select(self, ingredients: dict[str, Any]) -> dict[str, Any]:
        """Those of the offered ingredients that the definition asks for."""
        return {name: ingredients[name] for name in self.ingredients}


def read_signature(function: Callable[..., Any], role: str) -> Declaration:
    """Read the declaration of `function`; raise `DefinitionError` for a signature that is none of a definition."""
    if not callable(function) or not hasattr(function, "__code__"):
        raise DefinitionError(
            f"{role}={function!r} is not a function; expected a plain `def` with the state by position"
        )
    state, ingredients = [], []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            ingredients.append(name)
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            state.append(name)
        else:
            raise DefinitionError(
                f"{where(function)}: `{function.__name__}` takes *{name}; expected named state and, after a bare *, "
                "named ingredients; spell them out."
            )
        if parameter.default is not parameter.empty:
            raise DefinitionError(
                f"{where(function)}: `{function.__name__}` gives `{name}` a default; the configuration supplies every "
                "value; remove the default."
            )
    if not state:
        raise DefinitionError(
            f"{where(function)}: `{function.__name__}` has no positional state; expected e.g. (theta, *, h)"
        )
    return Declaration(tuple(state), tuple(ingredients))


def check_state(
    function: Callable[..., Any],
    found: tuple[str, ...],
    expected: tuple[str, ...],
    dynamics: str,
    ingredients: Collection[str] | None = None,
    *,
    face: str = "scheme",
) -> None:
    """Refuse a step whose positional parameters are not the state of its dynamics, in order.

    `ingredients`: the keywords of a step that may have memory. A surplus parameter that is no ingredient may be meant as
    memory, and the message says so.
    """
    if found != expected:
        more = found[len(expected) :] if found[: len(expected)] == expected else ()
        # The usual reason for more: what an optimizer keeps.
        memory = ""
        if ingredients is not None and more and more[0] not in ingredients:
            memory = f" What else a step carries on is memory, declared as {_declared(face, dynamics, expected, more)}"
        raise DefinitionError(
            f"{where(function)}: `{function.__name__}` takes the state ({', '.join(found)}); `{dynamics}` has "
            f"({', '.join(expected)}); name the positional parameters so, and put ingredients after a bare *.{memory}"
        )


def _declared(face: str, dynamics: str, state: tuple[str, ...], more: tuple[str, ...]) -> str:
    if face == "torch_step":
        return f"@torch_step({dynamics}, memory={list(more)})."
    return f"@scheme({dynamics}, memory={{'{more[0]}': start}}), where start({', '.join(state)}) is its first value."


def check_ingredients(
    function: Callable[..., Any], found: Collection[str], allowed: Collection[str], clock: str | None = None
) -> None:
    """Refuse unknown ingredients, and a step without its clock (`h` for schemes, `t` for letters), if it has one."""
    known = set(allowed)
    for name in found:
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.0)
            raise DefinitionError(
                f"{where(function)}: `{function.__name__}` asks for the ingredient `{name}`; known here: "
                f"{', '.join(sorted(known))}; did you mean `{near[0]}`?"
            )
    if clock is not None and clock not in found:
        raise DefinitionError(
            f"{where(function)}: `{function.__name__}` does not take `{clock}`; expected the keyword `{clock}`, "
            f"the {'step size' if clock == 'h' else 'time that the letter flows'}; add it after the bare *."
        )
