"""Hessian-vector products, prior and likelihood: what definitions may ask, and that every reading answers the same."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
import pytest
import torch

from sgverify.checks import verify
from sgverify.configuration import load_configuration
from sgverify.errors import DefinitionError
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.numbers.jets import derivatives_of
from sgverify.exact.readings.formula import formula, plant
from sgverify.exact.readings.long_double import LongDouble, LongDoubleGradient, step_in_long_double
from sgverify.exact.series.local_order import compare_through, local_order
from sgverify.exact.transfer.line.operator import StepMap
from sgverify.exact.transfer.plane.interpreter import PlaneInterpreter
from sgverify.samplers.gradients import differentiation
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.kinds import Clipped
from sgverify.schemes import dynamics, kinetic, langevin, scheme, sqrt
from sgverify.schemes.definition.limits import evaluations
from sgverify.schemes.splittings import Alphabet
from sgverify.subject.binding import make_subject
from sgverify.targets import build_target
from tests.mutants.correct import taylor_step
from tests.self_checks.long_double import MinibatchGradient
from tests.zoo.regressions import draw, subject

ROUNDING = 1e-11
"""Some hundred roundings of numbers below 100."""


@scheme(langevin, order=1)
def bent(theta, *, h, grad, noise, T):
    """All that can be asked: parts, and products on two minibatches."""
    theta = theta - h * grad.prior(theta)
    other = grad.fresh()
    g = grad.likelihood(theta)
    g = g - h / 2 * grad.hessian(theta, g) + h / 3 * other.hessian(theta, other(theta))
    return theta - h * g + sqrt(2 * T * h) * noise()


def test_a_census_counts_what_is_asked() -> None:
    census = bent.census
    assert (census.gradients, census.minibatches, census.hessians, census.parts) == (2, 2, 2, True)
    # The likelihood, the fresh gradient and two products; the prior visits no data.
    assert evaluations(bent, minibatches=True) == 4


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("grad.hessian(theta, 2)", "H(theta) v is returned"),
        ("grad.prior(h)", "grad.prior() of something that is not a vector"),
        ("grad.likelihoods(theta)", "grad.prior(theta) and grad.likelihood(theta)"),
    ],
)
def test_what_is_asked_amiss_is_refused(body: str, told: str) -> None:
    text = (
        f"@scheme(langevin)\ndef step(theta, *, h, grad, noise, T):\n    return theta - h*{body} + noise()\n"
    )
    with pytest.raises(DefinitionError, match="mine.py:3") as refusal:
        exec(compile(text, "mine.py", "exec"), {"scheme": scheme, "langevin": langevin})
    assert told in str(refusal.value)


def test_a_dynamics_is_one_of_the_whole_gradient() -> None:
    with pytest.raises(DefinitionError, match="a step may ask for them"):

        @dynamics(theta="vector")
        def high_resolution(theta, *, grad, T):
            return -grad(theta) - grad.hessian(theta, grad(theta)), T


def test_the_formula_is_read_back_as_the_same_step() -> None:
    text = formula(bent)
    assert "grad.prior(theta)" in text
    assert "grad1.hessian(x1, grad1(x1))" in text
    wrong = plant(bent, "theta - h*grad.prior(theta)", "theta - 2*h*grad.prior(theta)")
    assert local_order(bent, 1).order == 1
    assert local_order(wrong, 1).order == 0


def _kick(theta, p, *, t, grad, noise, T):
    return theta, p - t * grad.prior(theta) + sqrt(2 * T * t) * noise()


def test_noise_that_comes_with_a_part_flows_no_time_backwards() -> None:
    letters = Alphabet("kicks", kinetic, K=_kick, A=lambda theta, p, *, t: (theta + t * p, p))
    with pytest.raises(DefinitionError, match="negative share"):
        letters.word("KAK", coefficients="2,1,-1")


DATA = draw(6, 2, seed=3)


def logistic() -> Any:
    rows = [[*row[:2], float(row[2] > 0)] for row in DATA]
    return build_target(load_configuration({"target": {"name": "logistic-regression", "data": rows}}).target)


def at(target: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(5, target.dim)), rng.normal(size=(5, target.dim))


def difference(target: Any, theta: np.ndarray, v: np.ndarray) -> np.ndarray:
    """H v by central differences of the gradient in long double, good to 1e-10."""
    along, step = LongDoubleGradient(target), np.longdouble(1e-5)
    ends = [along(LongDouble(theta + sign * step * v)).value for sign in (1, -1)]
    return np.asarray((ends[0] - ends[1]) / (2 * step))


@pytest.mark.parametrize("minibatch", [None, [1, 4, 4]])
def test_products_of_the_run_are_those_of_taylor_polynomials_and_of_differences(minibatch: Any) -> None:
    target = logistic()
    theta, v = at(target)
    plain = MinibatchGradient(target, [minibatch] if minibatch else ())
    expected = plain.hessian(LongDouble(theta), LongDouble(v)).value
    chosen = None if minibatch is None else torch.tensor(minibatch)[:, None]
    potential = Potential(target, dtype=torch.float64, device="cpu")
    found = potential.hessian(torch.tensor(theta), torch.tensor(v), chosen).numpy()
    assert np.abs(found - expected).max() < ROUNDING
    if minibatch is None:
        assert np.abs(difference(target, theta, v) - expected).max() < 1e-8
    parts = plain.prior(LongDouble(theta)).value + plain.likelihood(LongDouble(theta)).value
    assert np.abs(parts - plain(LongDouble(theta)).value).max() < ROUNDING


def test_products_of_a_hoisted_gradient_are_those_of_autograd() -> None:
    target = build_target(
        load_configuration({"target": {"name": "gaussian-mean", "dim": 2, "size": 7}}).target
    )
    theta, v = (torch.tensor(x) for x in at(target))
    ways = [Potential(target, dtype=torch.float64, device="cpu", hoist=hoist) for hoist in (True, False)]
    one, two = (way.hessian(theta, v) for way in ways)
    assert differentiation.read_affine(target) is not None
    assert float((one - two).abs().max()) < ROUNDING


def test_clipped_gradients_have_no_hessian() -> None:
    potential = Clipped(Potential(logistic(), dtype=torch.float64, device="cpu"), 1.0)
    with pytest.raises(Exception, match="leave gradient.clip out"):
        potential.hessian(torch.zeros(1, 2, dtype=torch.float64), torch.ones(1, 2, dtype=torch.float64))


def in_long_double(step: Any, theta: float, h: float, T: float, target: Any, minibatches: Any = ()) -> float:
    moved = step_in_long_double(
        step,
        [np.full((1, target.dim), theta)],
        [np.zeros((1, target.dim))] * step.draws,
        h=h,
        gradient=MinibatchGradient(target, minibatches),
        parameters={"T": T},
        dim=target.dim,
        metric=None,  # type: ignore[arg-type]
    )
    return float(moved[0][0, 0])


@pytest.mark.parametrize("name", ["gaussian-mean", "gaussian"])
def test_the_affine_reading_takes_the_step_that_is_written(name: str) -> None:
    table = {"name": name} if name == "gaussian" else {"name": name, "size": 5}
    found = make_subject(bent, load_configuration({"target": table}))
    with flint.ctx.workprec(128):
        chain = found.model.chain(fixed_step(0.02)())
    expected = in_long_double(bent, 0.7, 0.02, 1.0, found.target)
    assert abs(float((chain.map[0, 0] * 0.7 + chain.shift[0, 0]).mid()) - expected) < ROUNDING


def test_a_prior_that_is_no_multiple_of_one_is_refused_by_the_affine_reading() -> None:
    found = subject("sgld-euler", DATA, "iid", 2, "theta[0]**2")
    why = make_subject(bent, found.configuration).why_not_affine
    assert why is not None
    assert "prior and likelihood apart" in why


def test_the_line_takes_the_step_that_is_written() -> None:
    target = build_target(load_configuration({"target": {"name": "double-well"}}).target)
    motion = StepMap(bent, target, {"T": 1.0})
    found = float(motion.without_noise(np.array([0.7], dtype=np.longdouble), 0.02)[0])
    assert abs(found - in_long_double(bent, 0.7, 0.02, 1.0, target)) < ROUNDING


def test_the_plane_takes_the_kick_that_is_written() -> None:
    target = build_target(load_configuration({"target": {"name": "double-well"}}).target)

    @scheme(kinetic)
    def kick(theta, p, *, h, grad, noise, D, T):
        noisy = sqrt(2 * D * T * h) * noise()
        slope = grad.prior(theta) + grad.likelihood(theta) - h * grad.hessian(theta, noisy + p)
        return theta, p - h * slope + noisy

    reading = PlaneInterpreter(kick, target, temperature=1.0, friction=2.0)
    theta, p, h = np.array([0.7]), np.array([-0.3]), 0.02
    image = reading.moves(h)[0](theta, p)
    slope, bend = derivatives_of(target, theta, 2)[1:]
    assert abs(float(image.p[0]) - (p - h * (slope - h * bend * p))[0]) < ROUNDING
    ((_, amplitude),) = image.draws
    assert abs(float(amplitude[0]) - (np.sqrt(4 * h) * (1 + h * h * bend[0]))) < ROUNDING


def test_the_order_is_proved_in_two_dimensions() -> None:
    # Where H is no number, what it does to a vector counts.
    assert compare_through(taylor_step, 2, 2).given_minibatch is None


def test_a_hessian_is_that_of_its_minibatch() -> None:
    # E over minibatches of h^2 H_B g_B differs from h^2 H g by a moment of the noise, which is named.
    @scheme(langevin, order=1)
    def same(theta, *, h, grad, noise, T):
        g = grad(theta)
        return theta - h * g + h**2 / 2 * grad.hessian(theta, g) + sqrt(2 * T * h) * noise()

    @scheme(langevin, order=1)
    def apart(theta, *, h, grad, noise, T):
        g = grad(theta)
        return theta - h * g + h**2 / 2 * grad.fresh().hessian(theta, g) + sqrt(2 * T * h) * noise()

    texts = [local_order(item, 1).averaged.text for item in (same, apart)]  # type: ignore[union-attr]
    assert "E[W' W'']" in texts[0]
    assert "E[W' W'']" not in texts[1]


def test_a_wrong_part_is_refuted_for_every_potential() -> None:
    @scheme(langevin, order=1)
    def twice(theta, *, h, grad, noise, T):
        return theta - h * (grad(theta) + grad.prior(theta)) + sqrt(2 * T * h) * noise()

    (found,) = verify(twice, checks=["local-order"])
    assert (found.verdict, found.method) == ("violates", "proof")
    assert "U_prior'" in str(found.certificate) or "U_prior_" in str(found.certificate)
