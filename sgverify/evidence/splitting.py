"""The answer of `sgverify bch`: the order of a splitting and its leading error, as a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sgverify.evidence.published import Count, Name, Published, Says, Size


@dataclass(frozen=True)
class CommutatorTerm:
    """A commutator of the Lyndon basis; the coefficient as text: a fraction, a root, or a middle +/- a radius."""

    commutator: Name
    coefficient: Name


@dataclass(frozen=True)
class RoundedReading:
    """What the printed decimals say of the order, beyond `order_within_rounding`."""

    refuted: Annotated[
        int | None, Says("the lowest order that no numbers have which round to the decimals", minimum=1)
    ]
    relative_radius: Annotated[
        Size, Says("the widest enclosure of a condition that holds, in units of 1/d!", minimum=0)
    ]
    leading: Annotated[tuple[CommutatorTerm, ...], Says("the enclosed error of the refuted order")]
    reason: Name


@dataclass(frozen=True)
class GeneratorPart:
    """The part of one degree of the modified generator."""

    degree: Count
    terms: tuple[CommutatorTerm, ...]


@dataclass(frozen=True)
class StatedCondition:
    """An order condition: what the coefficients must satisfy at one Lyndon word."""

    degree: Count
    word: Name
    condition: Name


@dataclass(frozen=True)
class UpToConjugacy:
    """The order up to conjugacy, where it is higher than the order."""

    order: int | None
    cuts: tuple[Name, ...]
    averages_off_by: Annotated[dict[str, str], Says("the share of each letter in Y of h E[Y f]")]


@dataclass(frozen=True)
class ConjugateWord:
    """Whether word = u v and the other word = v u; u and v where they are."""

    word: Name
    conjugate: bool
    u: Annotated[str, Says(optional=True)] = ""
    v: Annotated[str, Says(optional=True)] = ""
    proved: Annotated[bool, Says(optional=True)] = True


@dataclass(frozen=True)
class SplittingAnswer:
    """The order of a splitting exp(c1 X1) exp(c2 X2) ... and its leading error.

    The last five keys are there where they were asked for, or apply.
    """

    word: Name
    coefficients: tuple[Name, ...]
    order: Annotated[
        int | None,
        Says(
            "with the decimals read exactly; null: no error at any degree; of marked decimals the highest not refuted"
        ),
    ]
    order_within_rounding: Annotated[
        int | None,
        Says(
            "the highest order that the printed decimals are consistent with, which is no proof; null where none were given, "
            "or where they are too short to tell"
        ),
    ]
    leading: tuple[CommutatorTerm, ...]
    symmetric: bool
    degree: Annotated[Count, Says("the last degree that was examined")]
    proved: bool
    reason: Name
    within_rounding: RoundedReading | None
    first_even_degree: Annotated[int | None, Says(optional=True)] = None
    up_to_conjugacy: Annotated[UpToConjugacy | None, Says(optional=True)] = None
    conjugate_to: Annotated[ConjugateWord | None, Says(optional=True)] = None
    modified: Annotated[tuple[GeneratorPart, ...], Says(optional=True)] = ()
    order_conditions: Annotated[tuple[StatedCondition, ...], Says(optional=True)] = ()


BCH = Published(
    "sgverify/bch/1",
    SplittingAnswer,
    "an answer of bch",
    "Write it again with `sgverify bch WORD --json FILE`.",
)
