"""The kinds of order that a scheme may claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sgverify.errors import DefinitionError

KINDS = {
    "weak-finite-time": "E f(X_n) - E f(X(nh)) = O(h^K) at a fixed time nh, for every smooth f",
    "invariant": "the average of every smooth f under the invariant law, less that under rho, is O(h^K)",
}
"""What K means in each; of a scheme without memory the first is the local order, P_h f = exp(hL) f + O(h^(K+1))."""

Order = int | Mapping[str, int] | None
"""As it is written: a number is the weak order at finite times."""


@dataclass(frozen=True)
class ClaimedOrders:
    """The orders that a scheme claims by kind, None where it claims none of that kind.

    >>> ClaimedOrders.of({"weak-finite-time": 1, "invariant": 2})
    ClaimedOrders(finite_time=1, invariant=2)
    >>> ClaimedOrders.of(2)
    ClaimedOrders(finite_time=2, invariant=None)
    """

    finite_time: int | None = None
    invariant: int | None = None

    @staticmethod
    def of(order: Order) -> ClaimedOrders:
        """Read `order=` of a definition. Raises `DefinitionError` for another kind, or no positive whole number."""
        if not isinstance(order, Mapping):
            return ClaimedOrders(_checked(order, f"order={order!r}"))
        unknown = [kind for kind in order if kind not in KINDS]
        if unknown or not order:
            given = f"the kind {unknown[0]!r}" if unknown else "no kind"
            raise DefinitionError(
                f"order={dict(order)!r}: {given}; expected one of {', '.join(KINDS)}, as in order={{'weak-finite-time': 1, "
                "'invariant': 2}; a number alone is the weak order at finite times"
            )
        found = {kind: _checked(value, f"order[{kind!r}]={value!r}") for kind, value in order.items()}
        return ClaimedOrders(found.get("weak-finite-time"), found.get("invariant"))


def _checked(order: int | None, given: str) -> int | None:
    if order is not None and (isinstance(order, bool) or not isinstance(order, int) or order < 1):
        raise DefinitionError(
            f"{given}: expected a whole number of at least 1; leave it out if nothing is claimed"
        )
    return order
