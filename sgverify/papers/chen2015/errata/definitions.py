"""The printed formulas of chen2015 as definitions: dynamics by their generators or equations, updates as steps.

A dynamics returns (F, a) of its generator F . grad + a : (second derivatives).

The updates that chen2015 calls one Euler scheme, distinguished by E f(X_1) for every smooth U.
"""

from __future__ import annotations

from sgverify.checks.verify_and_rate import rate
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.operators import difference, operator_text, ring_of, transition_of
from sgverify.papers.formula import Examination, formula
from sgverify.schemes import Scheme, dot, dynamics, find_scheme, kinetic, scheme, sqrt


def half_squared(sigma):
    """sigma^2/2, the coefficient of the second derivatives."""
    return sigma * sigma / 2


@dynamics(theta="vector", p="vector")
def kick_of_equation_9(theta, p, *, grad, D):
    """d theta = 0, dp = -grad U dt + sqrt(2D) dW."""
    return (0 * theta, -grad(theta)), (0, half_squared(sqrt(2 * D)))


@dynamics(theta="vector", p="vector")
def kick_with_2d(theta, p, *, grad, D):
    """-grad U . grad_p + 2D I : grad_p grad_p^T."""
    return (0 * theta, -grad(theta)), (0, 2 * D)


@dynamics(theta="vector", p="vector")
def kick_with_d(theta, p, *, grad, D):
    """-grad U . grad_p + D I : grad_p grad_p^T."""
    return (0 * theta, -grad(theta)), (0, D)


@dynamics(theta="vector", p="vector")
def momentum_of_equation_11(theta, p, *, grad, D):
    """The momentum of (11): dp = -grad U dt - D p dt + sqrt(2D) dW."""
    return (0 * theta, -grad(theta) - D * p), (0, half_squared(sqrt(2 * D)))


@dynamics(theta="vector", p="vector")
def momentum_with_2d(theta, p, *, grad, D):
    """-D p . grad_p - grad U . grad_p + 2D I : grad_p grad_p^T."""
    return (0 * theta, -grad(theta) - D * p), (0, 2 * D)


@dynamics(theta="vector", p="vector")
def momentum_with_d(theta, p, *, grad, D):
    """-D p . grad_p - grad U . grad_p + D I : grad_p grad_p^T."""
    return (0 * theta, -grad(theta) - D * p), (0, D)


@dynamics(theta="vector", p="vector")
def friction_with_a_step(theta, p, *, grad, D, step):
    """-D p h . grad_p - grad U . grad_p + D I : grad_p grad_p^T, its h called `step`."""
    return (0 * theta, -grad(theta) - step * D * p), (0, D)


@dynamics(theta="vector")
def langevin_of_algorithm_1(theta, *, grad):
    """d theta = -grad U dt + sqrt(2) dW."""
    return -grad(theta), half_squared(sqrt(2))


@dynamics(theta="vector")
def langevin_with_2(theta, *, grad):
    """-grad U . grad + 2 I : grad grad^T."""
    return -grad(theta), 2


@dynamics(theta="vector")
def langevin_with_1(theta, *, grad):
    """-grad U . grad + I : grad grad^T."""
    return -grad(theta), 1


@dynamics(theta="vector")
def langevin_of_equation_10(theta, *, grad):
    """d theta = -(1/2) grad U dt + dW."""
    return -grad(theta) / 2, half_squared(1)


def update_of_algorithm_1(state, *, t, grad, noise, **_):
    """The update of Algorithm 1 as it runs, at T = 1."""
    return find_scheme("sgld-euler").step(state, h=t, grad=grad, noise=noise, T=1)


def update_of_algorithm_3(state, *, t, grad, noise, dim, D, **_):
    """The update of Algorithm 3 as it runs, at T = 1."""
    return find_scheme("sgnht-euler").step(state, h=t, grad=grad, noise=noise, dim=dim, D=D, T=1)


@dynamics(theta="vector", p="vector", xi="scalar")
def thermostat_of_algorithm_3(theta, p, xi, *, grad, dim, D):
    """(12) with its dt."""
    return (p, -grad(theta) - xi * p, dot(p, p) / dim - 1), (0, D, 0)


@dynamics(theta="vector", p="vector")
def noise_of_kinetic(theta, p, *, grad, D):
    """L_l - L, of the kinetic dynamics with the gradient of a minibatch and with the full one."""
    (_, full), _ = kinetic.function(theta, p, grad=grad, D=D, T=1)
    (_, minibatch), _ = kinetic.function(theta, p, grad=grad.fresh(), D=D, T=1)
    return (0 * theta, minibatch - full), (0, 0)


@dynamics(theta="vector", p="vector")
def noise_with_plus(theta, p, *, grad):
    """(grad U~_l - grad U) . grad_p."""
    full, minibatch = grad(theta), grad.fresh()(theta)
    return (0 * theta, minibatch - full), (0, 0)


@dynamics(theta="vector", p="vector")
def noise_with_minus(theta, p, *, grad):
    """-(grad U~_l - grad U) . grad_p."""
    full, minibatch = grad(theta), grad.fresh()(theta)
    return (0 * theta, -(minibatch - full)), (0, 0)


@scheme(kinetic)
def drift_then_kick(theta, p, *, h, grad, noise, D, T):
    """exp(h L_2) exp(h L_3) of (42): theta moves first, and the gradient is asked for where it has come to."""
    theta = theta + h * p
    return theta, p - h * D * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()


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
