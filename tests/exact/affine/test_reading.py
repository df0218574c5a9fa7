"""The affine reading against M, c, Q written by hand, and against running the step on dense vectors."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest

from sgverify import dot, exp, scheme, sqrt
from sgverify.errors import Unreached
from sgverify.exact.affine.carrier import read_affine, read_start
from sgverify.exact.affine.field import Scalar
from sgverify.exact.affine.model import fixed_step, horizon_step
from sgverify.exact.numbers.ball import BALLS, FLOATS
from sgverify.schemes import exact, find_scheme, kinetic, langevin, thermostat
from sgverify.schemes.numbers.constants import constants
from tests.tables import each_row
from tests.zoo.affine_models import floats, gaussian, model_of
from tests.zoo.schemes import euler_of_two_minibatches, heun, heun_of_two_minibatches

H, D, T = 0.125, 1.5, 0.75
PRECISION = [[2.0, 0.5, 0.25], [0.5, 1.0, 0.125], [0.25, 0.125, 3.0]]
MEAN = [0.5, -1.0, 2.0]
P, MU = np.array(PRECISION), np.array(MEAN)
I = np.eye(3)
# Dyadic inputs; each side rounds a handful of operations of size about 1.
TOLERANCE = 1e-14


def chain_of(name, **settings):
    settings = {"temperature": T, "friction": D, "target": gaussian(PRECISION, MEAN), **settings}
    with flint.ctx.workprec(192):
        chain = model_of(name, **settings).chain(fixed_step(H)())
        return floats(chain.map), floats(chain.shift)[:, 0], floats(chain.covariance)


def by_hand(name):
    """(M, c, Q) of one step on U = (theta - mu) . P (theta - mu) / 2."""
    zero = np.zeros((3, 3))
    if name == "sgld-euler":
        return I - H * P, H * P @ MU, 2 * T * H * I
    if name == "sghmc-euler-explicit":
        m = np.block([[I, H * I], [-H * P, (1 - H * D) * I]])
        return (
            m,
            np.concatenate([np.zeros(3), H * P @ MU]),
            np.block([[zero, zero], [zero, 2 * D * T * H * I]]),
        )
    # Algorithm 2: the position moves with the new momentum.
    after = np.block([[I, H * I], [zero, I]])
    kick = np.block([[I, zero], [-H * P, (1 - H * D) * I]])
    noise = np.concatenate([zero, math.sqrt(2 * D * T * H) * I])
    if name == "sghmc-euler":
        b = after @ noise
        return after @ kick, after @ np.concatenate([np.zeros(3), H * P @ MU]), b @ b.T
    assert name == "sghmc-aboba"
    half = np.block([[I, H / 2 * I], [zero, I]])
    damp = np.block([[I, zero], [zero, math.exp(-D * H / 2) * I]])
    kick = np.block([[I, zero], [-H * P, I]])
    b = half @ damp @ noise
    return half @ damp @ kick @ damp @ half, half @ damp @ np.concatenate([np.zeros(3), H * P @ MU]), b @ b.T


@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-euler", "sghmc-euler-explicit", "sghmc-aboba"])
def test_map_shift_and_noise_by_hand(name: str) -> None:
    for found, expected in zip(chain_of(name), by_hand(name), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


def test_the_mean_is_a_fixed_point_of_every_catalogue_scheme() -> None:
    for name in ("sgld-euler", "sghmc-euler", "sghmc-aboba", "sghmc-baoab", "sghmc-obabo", "sghmc-oabao"):
        m, c, _ = chain_of(name)
        fixed = np.concatenate([MU, np.zeros(len(c) - 3)])
        np.testing.assert_allclose(m @ fixed + c, fixed, rtol=0, atol=4 * TOLERANCE)


class Plain:
    """A vector of floats: what exact numbers it meets become floats."""

    def __init__(self, entries) -> None:
        self.entries = entries

    def __add__(self, other):
        return Plain(self.entries + (other.entries if isinstance(other, Plain) else float(other)))

    __radd__ = __add__

    def __mul__(self, other):
        return Plain(self.entries * float(other))

    __rmul__ = __mul__

    def __neg__(self):
        return Plain(-self.entries)

    def __sub__(self, other):
        return self + (-other)

    def __truediv__(self, other):
        return Plain(self.entries / float(other))


class Run:
    """The gradients and draws of one step: minibatches have the given noises, in the order in which they open."""

    def __init__(self, gradient_noises, draws) -> None:
        self.noises, self.draws = iter(gradient_noises), iter(draws)

    def gradient(self):
        noise = next(self.noises)

        def grad(theta):
            return Plain(P @ (theta.entries - MU) + noise)

        grad.fresh = self.gradient
        return grad

    def noise(self):
        return Plain(next(self.draws))


@pytest.mark.parametrize(
    "item",
    [
        find_scheme(n)
        for n in (
            "sgld-euler",
            "sghmc-euler",
            "sghmc-aboba",
            "sghmc-baoab",
            "sghmc-obabo",
            "sghmc-chen-oabbao",
        )
    ]
    + [heun, heun_of_two_minibatches, euler_of_two_minibatches],
    ids=lambda item: item.name,
)
def test_blocks_against_running_the_step(item) -> None:
    """X_1 = M X_0 + c + sum_k B_k z_k + sum_m G_m g_m for random states, draws and gradient noises."""
    draw = np.random.default_rng(5)
    state = tuple(draw.normal(size=3) for _ in item.state)
    draws = [draw.normal(size=3) for _ in range(item.draws)]
    noises = [draw.normal(size=3) for _ in range(item.minibatches)]
    run = Run(noises, draws)
    plain = tuple(Plain(entries) for entries in state)
    landed = np.concatenate(
        [v.entries for v in item.step(plain, h=H, D=D, T=T, grad=run.gradient(), noise=run.noise)]
    )

    model = model_of(item, temperature=T, friction=D, target=gaussian(PRECISION, MEAN))
    with flint.ctx.workprec(192):
        chain = model.chain(fixed_step(H)())
        columns = model.parts(fixed_step(H)()).injections
        m, c, injected = floats(chain.map), floats(chain.shift)[:, 0], [floats(b) for b in columns]
    assert len(injected) == item.minibatches
    given = {
        name: Scalar(FLOATS, np.array(v))
        for name, v in {"h": H, "D": D, "T": T}.items()
        if name in ("h", *item.parameters)
    }
    read = read_affine(item, given)
    assert (read.draws, read.gradients) == (item.draws, item.minibatches)
    expected = m @ np.concatenate(state) + c + sum(b @ g for b, g in zip(injected, noises, strict=True))
    for k, z in enumerate(draws):
        rows = []
        for name in item.state:
            polynomial = read.rows[name].get(("noise", k), ())
            block = sum(
                (float(a) * np.linalg.matrix_power(P, i) for i, a in enumerate(polynomial)), np.zeros((3, 3))
            )
            rows.append(block @ z)
        expected = expected + np.concatenate(rows)
    np.testing.assert_allclose(landed, expected, rtol=0, atol=20 * TOLERANCE)


def test_minibatch_noise_joins_the_covariance() -> None:
    m, _, q = chain_of("sgld-euler")
    noisy = chain_of(
        "sgld-euler",
        gradient={"kind": "additive", "covariance": [[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.25]]},
    )
    v = np.array([[2.0, 0.5, 0], [0.5, 1.0, 0], [0, 0, 0.25]])
    np.testing.assert_array_equal(noisy[0], m)
    np.testing.assert_allclose(noisy[2], q + H**2 * v, rtol=0, atol=TOLERANCE)


def test_additive_noise_is_fresh_at_every_evaluation() -> None:
    """Heun asks three times (its first gradient twice), each answered with a noise of its own."""
    assert read_affine(heun, {"h": H, "T": T}).gradients == 1
    read = read_affine(heun, {"h": H, "T": T}, each_evaluation=True)
    assert read.gradients == 3
    # guess: -h; final: -h/2 (g_2 + g_3) and through the guess + h/2 h P g_1.
    assert {k: read.rows["theta"]["gradient", k] for k in range(3)} == {
        0: pytest.approx((0, H * H / 2)),
        1: pytest.approx((-H / 2,)),
        2: pytest.approx((-H / 2,)),
    }


def test_a_discrete_minibatch_by_all_its_outcomes() -> None:
    """batch 2 of 3 data: covariance of the mean of two draws, times N^2."""
    data = [0.5, 1.0, 3.0]
    target = {"name": "gaussian-mean", "data": data}
    gradients = np.array([-3 * (x - np.mean(data)) for x in data])
    for kind, pairs in {
        "iid": [(a, b) for a in range(3) for b in range(3)],
        "without-replacement": [(a, b) for a in range(3) for b in range(3) if a != b],
    }.items():
        outcomes = np.array([(gradients[a] + gradients[b]) / 2 for a, b in pairs])
        plain = chain_of("sgld-euler", target=target)
        noisy = chain_of("sgld-euler", target=target, gradient={"kind": kind, "batch": 2})
        np.testing.assert_allclose(noisy[2] - plain[2], H**2 * np.mean(outcomes**2), rtol=1e-14)
        np.testing.assert_array_equal(noisy[0], plain[0])


@pytest.mark.parametrize("start", ["zero", "stationary"])
def test_the_start(start: str) -> None:
    model = model_of(
        "sghmc-aboba", temperature=T, start=3.0, start_momentum=start, target=gaussian([4.0, 0.25], [1.0, -1.0])
    )  # fmt: skip
    with flint.ctx.workprec(192):
        mean, spread = model.start_law()
        expected = [1 + 3 * math.sqrt(T / 4), -1 + 3 * math.sqrt(T / 0.25), 0, 0]
        np.testing.assert_allclose(floats(mean)[:, 0], expected, rtol=1e-15)
        if start == "zero":
            assert spread is None
        else:
            np.testing.assert_array_equal(floats(spread), np.diag([0, 0, T, T]))


def test_the_start_of_memory() -> None:
    @scheme(langevin, memory={"before": lambda theta, *, grad: grad(theta)})
    def adams(theta, before, *, h, grad, noise, T):
        now = grad(theta)
        return theta - h * (3 * now / 2 - before / 2) + sqrt(2 * T * h) * noise(), now

    with flint.ctx.workprec(192):
        model = model_of(adams, start=2.0, target=gaussian(4.0, 1.0))
        mean, spread = model.start_law()
        # theta_0 = 1 + 2/sqrt(4), and the memory is its gradient 4 (theta_0 - 1).
        np.testing.assert_allclose(floats(mean)[:, 0], [2.0, 4.0], rtol=1e-15)
        assert floats(spread).tolist() == [[0, 0], [0, 0]]
        chain = model.chain(fixed_step(H)())
    np.testing.assert_allclose(floats(chain.map), [[1 - 6 * H, H / 2], [4, 0]], rtol=0, atol=TOLERANCE)


@each_row(
    ("body", "says"),
    [
        (lambda theta, h: theta * theta, "product of two state-dependent"),
        (lambda theta, h: theta**2, "power of a state-dependent"),
        (lambda theta, h: 1 / (1 + theta), "quotient by a state-dependent"),
        (lambda theta, h: theta / theta, "quotient by a state-dependent"),
        (lambda theta, h: exp(-h * theta), "nonlinear function"),
        (lambda theta, h: dot(theta, theta) * theta, "scalar product"),
    ],
)
def test_what_is_not_affine(body, says: str) -> None:
    @scheme(langevin)
    def bent(theta, *, h, grad, noise, T):
        return theta - h * grad(theta) + sqrt(2 * T * h) * noise() + h * body(theta, h)

    with pytest.raises(Unreached, match=says):
        read_affine(bent, {"h": H, "T": T})


def test_a_thermostat_is_not_affine() -> None:
    @scheme(thermostat)
    def euler(theta, p, xi, *, h, grad, noise, dim, D, T):
        p = p - h * grad(theta) - h * xi * p + sqrt(2 * D * T * h) * noise()
        return theta + h * p, p, xi + h * (dot(p, p) / dim - T)

    with pytest.raises(Unreached, match="scalar state"):
        read_affine(euler, {"h": H, "D": D, "T": T})


def test_constants_join_as_vectors_of_ones() -> None:
    @scheme(kinetic)
    def pushed(theta, p, *, h, grad, noise, D, T):
        return theta + h * p + 3, p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()

    read = read_affine(pushed, {"h": H, "D": D, "T": T})
    assert read.rows["theta"]["ones", 0] == (3,)


def test_scalars_of_a_field() -> None:
    with flint.ctx.workprec(100):
        third = Scalar(BALLS, BALLS.number(exact(Fraction(1, 3))))
        assert (3 * third - 1).value.contains(0)
        assert (0.1 * Scalar(BALLS, BALLS.number(10)) - 1).value.contains(0), (
            "a float is the decimal that it prints as"
        )
        assert (sqrt(third) ** 2 - third).value.contains(0)
        with pytest.raises(TypeError):
            third + "1"
        with pytest.raises(TypeError):
            True * third
        h = horizon_step(0.5, Fraction(1, 3), 10**9)()
        assert (h * 2000 - 1).contains(0)


def remembering(start: Any) -> Any:
    @scheme(langevin, memory={"z": start})
    def averaged(theta, z, *, h, grad, noise, T):
        new = noise()
        return theta - h * grad(theta) + sqrt(T * h / 2) * (z + new), new

    return averaged


def test_a_memory_whose_start_is_read_in_one_dimension_alone() -> None:
    with pytest.raises(Unreached, match="the memory of `averaged` starts from `dim`"):
        read_affine(remembering(lambda theta, *, dim: dim * theta), {"h": 1, "T": 1})


def test_a_memory_that_starts_from_noise_and_from_the_step() -> None:
    begun = read_start(remembering(lambda theta, *, h, noise: h * theta + 3 * noise()), {"h": Fraction(1, 8)})
    assert begun.rows["z"] == {("state", "theta"): (Fraction(1, 8),), ("noise", 0): (3,)}
    with pytest.raises(Unreached, match="no one h"):
        read_start(remembering(lambda theta, *, h: h * theta), {})


def test_a_step_that_asks_for_the_dimension() -> None:
    @scheme(langevin)
    def wide(theta, *, h, grad, noise, T, dim):
        return theta - h * grad(theta) / dim + sqrt(2 * T * h) * noise()

    with pytest.raises(Unreached, match="`wide` asks for `dim`"):
        read_affine(wide, {"h": 1, "T": 1})


def test_a_scalar_product_of_constants_is_no_error_of_the_definition() -> None:
    @scheme(langevin)
    def counted(theta, *, h, grad, noise, T):
        ones = constants((1,), theta)
        return theta - h * grad(theta) * dot(ones, ones) / dot(ones, ones) + sqrt(2 * T * h) * noise()

    with pytest.raises(Unreached, match="for all dimensions does not hold"):
        read_affine(counted, {"h": Scalar(BALLS, BALLS.number(Fraction(1, 100))), "T": 1})
