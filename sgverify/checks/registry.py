"""The checks by name: each settles one kind of claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sgverify.checks.agreement import check_agreement
from sgverify.checks.finite_time import check_bias, check_consistency, check_mse
from sgverify.checks.local_order import check_local_order
from sgverify.checks.stationary_bias import check_stationary_bias
from sgverify.checks.subject import Subject
from sgverify.checks.words import check_constant_equivalence, check_order_equivalence
from sgverify.claims import Claim
from sgverify.evidence import Evidence


@dataclass(frozen=True)
class Check:
    """A check settles the quantity of its name: `function(subject, claim)` returns evidence, never a bool."""

    name: str
    function: Callable[[Subject, Claim], Evidence]
    source: str

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]


CHECKS: dict[str, Check] = {
    check.name: check
    for check in (
        Check("local-order", check_local_order, "chen2015 Definition 1, equation (2)"),
        Check("order-equivalence", check_order_equivalence, "chen2015 section 4"),
        Check("constant-equivalence", check_constant_equivalence, "chen2015 section 4"),
        Check("stationary-bias", check_stationary_bias, "chen2015 Theorem 4"),
        Check("bias", check_bias, "chen2015 Theorems 2 and 5"),
        Check("mse", check_mse, "chen2015 Theorems 3 and 5"),
        Check("consistency", check_consistency, "chen2015 Corollary 6"),
        Check("agreement", check_agreement, "one definition, several readings"),
    )
}
