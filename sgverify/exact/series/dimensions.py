"""The dimensions in which a local order is proved: several dimensions by number, or all of them with a symbol for `dim`.

A proof in dimension d follows d coordinates. Whether it extends to other dimensions depends on how the dimension enters.

Through `dim` itself. Then definition and dynamics are run with a symbol n in its place, beside d = 1, 2 and 3 coordinates:
an identity that holds for the symbol holds for every number, and (n - 1)(n - 2)(n - 3) is no zero. The symbol demands more
than necessary, because d followed coordinates among n others do not occur: a scheme that fails only with the symbol, as
one that takes E z.z = n, is proved by number, with n = d.

Through the number of terms of a sum over coordinates (`dot`, a contracted derivative). If the summand contains a coordinate
of the state, a derivative of U or a derivative d/dx, the sum is the same expression in every dimension. If it does not
distinguish the coordinates, as E z_i^2 or a sum of ones, the sum is a multiple of d. Where every draw comes with its
sqrt(h) there are at most k such sums of draws at h^k, so that a defect there is a polynomial in d of degree at most k, and
k + 1 dimensions decide it. Otherwise, or where constants are summed, the series records it (`LocalOrder.counts`), and the
proof covers only the dimensions that were computed by number.

Through the number of different coordinates in one term. exp(hL) has at most k of them at h^k beside those by which the test
function is differentiated: each L brings one. So has a step in which every derivative of U and every pair of draws comes
with its factor of h, that is every step without division by a power of h; each term of h^k then occurs in dimension k already.

Through constants that distinguish coordinates. They repeat after q coordinates and do not couple different periods: the
statements about k coordinates hold for k periods, the last of which may be cut short: dimensions 1 to k q decide.
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
"""The numbers of coordinates in the proofs with a symbol for `dim`."""

BY_NUMBER = (1, 2, 3, 4, 5)
FURTHER = (6, 7, 8, 9, 10, 12, 15, 20)
"""The further dimensions in which a definition is examined whose order may drop beyond the first ones."""

CONSTANTS = "its constants tell more coordinates apart than are read"

COUNTS = "a sum over coordinates in the step grows with their number by itself"


@dataclass(frozen=True)
class Proved:
    """The least local order over the dimensions `dims`, with the whole proof of the dimension that has it.

    `every`: the order holds in every dimension. Otherwise `why_not` is the obstacle, or None where the definition does not use
    `dim` and no sum counts coordinates: then the dimensions `dims` decide the others as well (see above).
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
    """The local order in dimension `base`, and a comparison of the same powers of h in further dimensions.

    The `configured` dimension is computed by number where its cost allows; `at` is as for `local_order`. Raises
    `NotExpandableError` where dimension `base` has no expansion; a further dimension without one is left out.
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
    """The dimensions in which the step agrees, the first in which it does not, and why they do not decide the others."""
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
    """Whether a step, or the start of its memory, has less than the order `through`."""
    given, start = found.given_minibatch, found.start
    return (given is not None and given.power <= through) or (start is not None and start.power < through)


def _largest(scheme: Scheme, through: int) -> int:
    """The largest dimension that takes about a second: derivatives of U through order 2 k - 1 enter h^k."""
    if scheme.memory:
        return 3
    return {1: 20, 2: 10, 3: 5}.get(through, 3) // (2 if scheme.dynamics.riemannian else 1)


def _with_symbol(scheme: Scheme, through: int) -> str | None:
    """The obstacle to a proof with a symbol for `dim`; None where the proof succeeds."""
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
