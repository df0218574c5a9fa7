"""In which dimensions a local order is proved: in several by number, and in every one where `dim` is a symbol.

A proof in dimension d follows d coordinates. What it says of other dimensions depends on how the dimension enters.

Through `dim` itself. Then definition and dynamics are read with a symbol n in its place, beside d = 1, 2 and 3 coordinates:
an identity that holds for the symbol holds for every number, and (n - 1)(n - 2)(n - 3) is no zero. This asks for more than
is needed, because d coordinates among n that are not followed is no case that occurs: a scheme that fails here alone, as
one that takes E z.z = n, is proved by number, with n = d.

Through the number of terms of a sum over coordinates (`dot`, a contracted derivative). Such a sum either holds a coordinate
of its own, that of a state, a derivative or a derivative d/dx, and is then the same expression in every dimension. Or nothing
in it tells the coordinates apart, E z_i^2 or a sum of ones, and it is a multiple of d. Where every draw comes with its
sqrt(h) there are at most k such sums of draws at h^k, so that a defect there is a polynomial in d of degree k at most, and
k + 1 dimensions settle it. Where that is not so, or constants are summed, the series says so (`LocalOrder.counts`), and only
the dimensions that were read by number count.

Through the number of different coordinates that one term holds. exp(hL) has at most k at h^k given those that the test
function is differentiated by: each L brings one. So has a step in which every derivative of U and every pair of draws comes
with its factor of h, which is every step that divides by no power of h; a term of h^k is then met in dimension k already.

Through constants that tell coordinates apart. They repeat after q coordinates, and couple none of different periods: what
was said of k coordinates holds of k periods, the last of which a dimension may cut short: dimensions 1 to k q settle it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from sgverify.errors import NotExpandableError
from sgverify.exact.series.local_order import compare_through, local_order
from sgverify.exact.series.orders import LocalOrder
from sgverify.schemes import Scheme

SYMBOLIC = (1, 2, 3)
"""The numbers of coordinates that are followed where `dim` is a symbol."""

BY_NUMBER = (1, 2, 3, 4, 5)
FURTHER = (6, 7, 8, 9, 10, 12, 15, 20)
"""Dimensions in which a definition that may be wrong beyond the first ones is looked at, until one shows it."""

CONSTANTS = "its constants tell more coordinates apart than are read"

COUNTS = "a sum over coordinates in the step grows with their number by itself"


@dataclass(frozen=True)
class Proved:
    """The least local order over the dimensions `dims`, with the whole proof of the dimension that has it.

    `every`: the order is that of every dimension. Otherwise `why_not` says what is in the way, None where the definition
    does not ask for `dim` and nothing else counts coordinates: then the dimensions stand for those beyond (see above).
    """

    order: LocalOrder
    dims: tuple[int, ...]
    every: bool
    why_not: str | None

    def reaches(self, dim: int) -> bool:
        """Whether the order is proved in dimension `dim`."""
        return self.every or self.why_not is None or dim in self.dims

    def __str__(self) -> str:
        """Such as "in every dimension" or "in dimensions 1 to 5 and 7"."""
        return "in every dimension" if self.every else f"in {dimensions_text(self.dims)}"


def prove_order(
    scheme: Scheme, base: int, configured: int, *, at: Mapping[str, Fraction] | None = None
) -> Proved:
    """The local order in dimension `base`, and the powers of h that it says to agree in further dimensions too.

    `configured` is read by number where its cost allows; `at` is as for `local_order`. Raises `NotExpandableError`
    where dimension `base` cannot be read; a further dimension that cannot is left out.
    """
    order = local_order(scheme, base, at=at)
    through = floor(order.order)
    if through < 1:
        return Proved(order, (base,), False, None)
    periods = range(1, scheme.longest * through + 1) if scheme.longest > 1 else ()
    dims, wrong, why = _by_number(scheme, through, {*BY_NUMBER, configured, *periods} - {base}, at)
    if not {base, *dims}.issuperset(periods):
        why = why or CONSTANTS
    every = False
    if scheme.asks_for_dimension and wrong is None:
        unlike = _with_symbol(scheme, through)
        every, why = not (unlike or why), why or unlike
    if why is not None and wrong is None:
        more, wrong, _ = _by_number(scheme, through, set(FURTHER) - {configured}, at)
        dims += more
    if wrong is not None:
        # The whole proof of that dimension, its averaged defect too.
        order = min(order, local_order(scheme, wrong.dim, at=at), key=lambda found: found.order)
    return Proved(order, tuple(sorted({base, *dims})), every, why)


def dimensions_text(dims: Sequence[int]) -> str:
    """Dimensions as words.

    >>> dimensions_text([2]), dimensions_text([1, 2]), dimensions_text([1, 2, 3, 7])
    ('dimension 2', 'dimensions 1 and 2', 'dimensions 1 to 3 and 7')
    """
    runs: list[list[int]] = []
    for dim in dims:
        if runs and dim == runs[-1][-1] + 1:
            runs[-1].append(dim)
        else:
            runs.append([dim])
    texts = [t for run in runs for t in (map(str, run) if len(run) < 3 else [f"{run[0]} to {run[-1]}"])]
    listed = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
    return f"dimension{'s' * (len(dims) > 1)} {listed}"


def _by_number(
    scheme: Scheme, through: int, candidates: Iterable[int], at: Mapping[str, Fraction] | None
) -> tuple[list[int], LocalOrder | None, str | None]:
    """The dimensions in which the step agrees, the first in which it does not, and why they do not stand for others."""
    dims: list[int] = []
    why = None
    for dim in sorted(candidates):
        if dim > _largest(scheme, through):
            break
        try:
            found = compare_through(scheme, dim, through, at=at)
        except NotExpandableError as error:
            why = why or f"in dimension {dim} the step cannot be read: it uses {error}"
            continue
        except ZeroDivisionError:
            why = why or f"in dimension {dim} the step divides by zero"
            continue
        why = why or (COUNTS if found.counts else None)
        if _differs(found, through):
            return dims, found, why
        dims.append(dim)
    return dims, None, why


def _differs(found: LocalOrder, through: int) -> bool:
    """Whether a step, or the start of its memory, leaves less than the order `through`."""
    given, start = found.given_minibatch, found.start
    return (given is not None and given.power <= through) or (start is not None and start.power < through)


def _largest(scheme: Scheme, through: int) -> int:
    """The largest dimension that is read in about a second: derivatives of U through order 2 k - 1 enter h^k."""
    if scheme.memory:
        return 3
    return {1: 20, 2: 10, 3: 5}.get(through, 3) // (2 if scheme.dynamics.riemannian else 1)


def _with_symbol(scheme: Scheme, through: int) -> str | None:
    """What stands against the proof for every `dim`; None where nothing does."""
    for dim in SYMBOLIC:
        if dim > _largest(scheme, through):
            break
        try:
            found = compare_through(scheme, dim, through, symbolic=True)
        except NotExpandableError as error:
            return f"the step cannot be read with a symbol for dim: it uses {error}"
        if _differs(found, through):
            seen = found.given_minibatch or found.start
            assert seen is not None
            return f"with a symbol for dim it differs at h^{seen.power}: {seen.text}"
    return None
