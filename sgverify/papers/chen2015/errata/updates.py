"""The updates that chen2015 calls one Euler scheme, distinguished by E f(X_1) for every smooth U."""

from __future__ import annotations

from sgverify.checks.verify_and_rate import rate
from sgverify.exact.series import local_order
from sgverify.exact.series.operators import difference, operator_text, ring_of, transition_of
from sgverify.papers.chen2015.errata.definitions import drift_then_kick
from sgverify.papers.formula import Examination, formula
from sgverify.schemes import Scheme, find_scheme

DIMENSION = 1
DIMENSIONS = "1, for every smooth U; what differs there differs in every dimension"


def algorithm_2_against_i1() -> Examination:
    """Algorithm 2 moves theta with the new momentum, appendix I.1 with the old one."""
    algorithm, explicit = find_scheme("sghmc-euler"), find_scheme("sghmc-euler-explicit")
    apart = _apart(algorithm, explicit)
    orders = {scheme.name: int(local_order(scheme, DIMENSION).order) for scheme in (algorithm, explicit)}
    biases = {
        f"{scheme.name}, {quantity}": _bias_exponent(scheme.name, quantity)
        for scheme in (algorithm, explicit)
        for quantity in ("theta**2", "p**2")
    }
    return Examination(
        printed=apart,
        holds=""
        if set(orders.values()) == {1}
        and biases[f"{algorithm.name}, theta**2"] != biases[f"{explicit.name}, theta**2"]
        else f"orders {orders}, biases {biases}",
        certificate={
            "local orders": orders,
            "dimension": DIMENSIONS,
            "order in h of the stationary bias, Gaussian target, full gradients": biases,
        },
    )


def product_42_against_i1() -> Examination:
    """exp(h L_2) exp(h L_3) moves theta first and asks for the gradient there; I.1 asks for it where the step starts."""
    explicit = find_scheme("sghmc-euler-explicit")
    apart = _apart(drift_then_kick, explicit)
    order = local_order(drift_then_kick, DIMENSION).order
    return Examination(
        printed=apart,
        holds="" if order == 1 else f"order {order}",
        certificate={
            "the product as an update": "theta' = theta + h p, p' = p - h D p - h grad U(theta') + sqrt(2Dh) z",
            "its local order": int(order),
            "dimension": DIMENSIONS,
        },
    )


def _bias_exponent(scheme: str, quantity: str) -> str:
    evidence = rate(scheme, quantity="stationary-bias", test_function=quantity)
    return str(evidence.found.exponent)


def _apart(left: Scheme, right: Scheme) -> str:
    """The first power of h at which E f(X_1) differs, and by which operator."""
    dynamics = left.dynamics
    ring = ring_of(
        dynamics,
        DIMENSION,
        depth=6,
        draws=max(left.draws, right.draws),
        cap=5,
    )
    one, other = (transition_of(scheme, ring, 4) for scheme in (left, right))
    for j in (2, 4):
        operator = difference(one.at(j), other.at(j), ring)
        if operator:
            return f"at h^{j // 2}: {operator_text(operator, ring)}"
    return ""


FORMULAS = (
    formula("chen2015/algorithm-2", algorithm_2_against_i1),
    formula("chen2015/equation-42", product_42_against_i1),
)
