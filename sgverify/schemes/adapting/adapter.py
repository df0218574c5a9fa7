"""What does an adapter say of itself?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sgverify.schemes.adapting.settings import AdapterSettings
    from sgverify.schemes.composites import Composite
    from sgverify.schemes.scheme import Scheme
    from sgverify.schemes.torch_step import TorchStep


@dataclass(frozen=True)
class Adapter:
    """Makes a step of the objects of one library.

    `takes(found)` tells whether an object is of this kind; it is asked of every object that is no step by itself, and
    must not import the library (`is_of` tells by the modules of a type's ancestors). `adapt(found, settings, reference)`
    makes the step; it raises `DefinitionError` (given, expected, mend) where the object or the settings do not allow one.
    `conventions` are the parameters of the library by default, in h, T and D, as they are printed with an answer:
    `{"lr": "h"}`. `reads` are the keys of the settings that the adapter reads besides `dynamics`, `map` and `order`.
    """

    name: str
    summary: str
    takes: Callable[[Any], bool]
    adapt: Callable[[Any, AdapterSettings, str], Scheme | TorchStep | Composite]
    conventions: Mapping[str, str] = field(default_factory=dict)
    reads: tuple[str, ...] = ()


def is_of(found: Any, module: str) -> bool:
    """Does an object's type, or a class itself, or one of its ancestors, come from a module or package of this name?

    >>> from fractions import Fraction
    >>> is_of(Fraction(1), "fractions"), is_of(Fraction, "numbers"), is_of(1, "fractions")
    (True, True, False)
    """
    kind = found if isinstance(found, type) else type(found)
    return any(f"{ancestor.__module__}.".startswith(f"{module}.") for ancestor in kind.__mro__)


__all__ = ["Adapter", "is_of"]
