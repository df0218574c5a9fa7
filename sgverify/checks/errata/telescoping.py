"""The sums over steps that the proofs of Theorems 3 and 5 rearrange, as identities in free symbols.

With psi_l = psi(X_l), its expectation one step before e_l and the step's expansion e_l = psi_(l-1) + h_l (phi_l - mean) +
h_l dV_l psi + r_l, where L psi = phi - mean has been put in, the sum over l = 1..L gives sum_l h_l (phi_l - mean).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sgverify.checks.errata.formula import Examination, formula

STEPS = 4
"""As many steps as the identities are written out for: each term's sign shows from two on."""

Terms = dict[str, list[Any]]


def signs_between_24_and_25() -> Examination:
    """The sum of E psi - psi with a minus in front."""
    return _examine(
        lambda t: t["e"][STEPS] - t["psi"][0] - _sum(t, lambda k: t["e"][k] - t["psi"][k]) - _rest(t),
    )


def signs_above_38() -> Examination:
    """E psi + psi for E psi - psi, and plus in front of dV and of the higher terms."""
    return _examine(
        lambda t: t["e"][STEPS] - t["psi"][0] + _sum(t, lambda k: t["e"][k] + t["psi"][k]) + _rest(t),
    )


def index_of_21() -> Examination:
    """The Poisson equation holds where the step starts: its sum is that of phi(X_(l-1)h), not of phi(X_lh)."""
    from sympy import expand, symbols

    phi = symbols(f"phi_0:{STEPS + 1}")
    poisson = sum(phi[:STEPS])
    printed, mended = sum(phi[1:]) - poisson, sum(phi[1:]) - (phi[STEPS] - phi[0]) - poisson
    apart, left = expand(printed), expand(mended)
    return Examination(
        printed=str(apart) if apart != 0 else "",
        holds=str(left) if left != 0 else "",
        certificate={"sum_l L psi(X_(l-1)h) + L mean": str(poisson), "steps": STEPS},
    )


def _examine(printed: Callable[[Terms], Any]) -> Examination:
    from sympy import expand, symbols

    t: Terms = {name: list(symbols(f"{name}_0:{STEPS + 1}")) for name in ("e", "psi", "dV", "r")}
    # The start is known, so that its expectation is itself.
    t["e"][0] = t["psi"][0]
    truth = sum(t["e"][k] - t["psi"][k - 1] - t["dV"][k] - t["r"][k] for k in range(1, STEPS + 1))
    mended = t["e"][STEPS] - t["psi"][0] + _sum(t, lambda k: t["e"][k] - t["psi"][k]) - _rest(t)
    apart, left = expand(printed(t) - truth), expand(mended - truth)
    return Examination(
        printed=str(apart) if apart != 0 else "",
        holds=str(left) if left != 0 else "",
        certificate={
            "sum_l h_l (phi_l - mean)": str(truth),
            "symbols": "e: the expectation of psi after a step, dV: h_l dV_l psi, r: the terms of order h^2 and higher",
            "steps": STEPS,
        },
    )


def _sum(t: Terms, term: Callable[[int], Any]) -> Any:
    """sum over the states between the first and the last."""
    return sum(term(k) for k in range(1, STEPS))


def _rest(t: Terms) -> Any:
    return sum(t["dV"][k] + t["r"][k] for k in range(1, STEPS + 1))


FORMULAS = (
    formula("chen2015/equation-21", index_of_21),
    formula("chen2015/equation-24-signs", signs_between_24_and_25),
    formula("chen2015/equation-38-signs", signs_above_38),
)
