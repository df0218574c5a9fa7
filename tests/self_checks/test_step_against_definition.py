"""The sampler's steps are the definition's in long double, on every target; a change to the running code is seen."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sgverify import dynamics, scheme, sqrt
from sgverify.configuration import load_configuration
from sgverify.exact.readings.long_double import LongDouble, LongDoubleGradient
from sgverify.schemes import find_scheme
from sgverify.targets import build_target
from sgverify.testing.planting import edited_source
from tests.self_checks.long_double import MinibatchGradient
from tests.self_checks.registry import self_check
from tests.zoo.carriers import Extended

DATA = {
    "name": "gaussian-mean",
    "data": [[0.0, 1.0], [1.0, 0.0], [4.0, 1.5], [0.5, -2.0]],
    "prior_mean": [1.0, -0.5],
}
GENERIC = {"temperature": 0.5, "friction": 3.0, "schedule": {"step": 0.1}}
TARGETS = {
    "data": DATA,
    "double well": {"name": "double-well"},
    "logistic": {"name": "logistic-regression", "size": 8, "dim": 2},
    "mixture": {"name": "mixture"},
    "quartic": {"name": "quartic"},
}


def judged(reference, target="data", **settings):
    configuration = load_configuration({**GENERIC, "target": TARGETS[target], **settings})
    found = self_check("one-step-law", reference, configuration)
    return found


@pytest.mark.parametrize(
    "target, reference",
    [
        *((target, "sghmc-obabo") for target in TARGETS),
        ("data", "sgnht-aboba"),
        ("double well", "sgld-euler"),
    ],
)
def test_the_sampler_passes_on_every_target(target, reference):
    found = judged(reference, target)
    assert (found.verdict, found.method) == ("conforms", "quadrature"), found.reason
    for code, definition in found.certificate["expectations"].values():
        assert code == pytest.approx(definition, abs=1e-12)


@pytest.mark.parametrize(
    "gradient",
    [
        {"kind": "iid", "batch": 2},
        {"kind": "without-replacement", "batch": 3, "scale": 1.5},
        {"kind": "reshuffle", "batch": 2, "clip": 0.7},
        {"kind": "symmetric", "batch": 2, "scale": 0.5, "clip": 0.7},
        {"kind": "additive", "covariance": 2.0},
    ],
    ids=lambda gradient: gradient["kind"],
)
@pytest.mark.parametrize("target", ["data", "logistic"])
def test_it_passes_with_every_estimator(gradient, target):
    found = judged("sghmc-aboba", target, gradient=gradient)
    assert found.verdict == "conforms", found.reason
    assert found.certificate["minibatches"] == (0 if gradient["kind"] == "additive" else 1)


@pytest.mark.parametrize(
    ("reference", "metric"),
    [("sgrld-euler", "1 + theta**2/7"), ("sghmc-nogin", None), ("sghmc-ubu", None)],
)
def test_it_passes_with_metrics_with_other_laws_and_with_memory(reference, metric):
    found = judged(reference, **({} if metric is None else {"metric": metric}))
    assert found.verdict == "conforms", found.reason


def test_a_snapshot_is_no_step_of_its_own_and_torch_potentials_are_said_to_be_out_of_reach(tmp_path):
    assert judged("sgld-euler", gradient={"kind": "svrg", "batch": 2}).verdict == "not-applicable"
    (tmp_path / "mine.py").write_text(
        "import torch\nfrom sgverify import log_density\n"
        "@log_density(dim=1)\ndef steep(theta): return -torch.cosh(theta).sum(-1)\n"
    )
    found = self_check("one-step-law", "sgld-euler", target={"name": f"{tmp_path}/mine.py:steep"})
    assert found.verdict == "inconclusive" and "cannot be read in long double" in found.reason


BUGS = {
    "a constant rounded to float32": (
        "sgverify.samplers.reading.constants:Constant.meet",
        ".to(like.dtype).to(like.device)",
        ".to(torch.float32).to(like.dtype).to(like.device)",
        "sghmc-aboba",
        {},
    ),
    "a minibatch not scaled by N/n": (
        "sgverify.samplers.gradients.estimators:MinibatchEstimator.evaluate",
        "scale = len(self._data) / self._batch",
        "scale = 1.0",
        "sghmc-aboba",
        {"target": "logistic", "gradient": {"kind": "iid", "batch": 2}},
    ),
    "the offset of the gradient forgotten": (
        "sgverify.samplers.gradients.differentiation:Potential.full",
        "return linear + self.affine.offset if self._shifted else linear",
        "return linear * (1 + 1e-12)",
        "sgld-euler",
        {},
    ),
    "a recording that is played on the old draws": (
        "sgverify.samplers.reading.motion:Motion._play",
        "tape.play_into((*state, *given), met, tape.fixed, new)",
        "self.__dict__.setdefault('kept', given); tape.play_into((*state, *self.kept), met, tape.fixed, new)",
        "sghmc-aboba",
        {},
    ),
    "the prior left out": (
        "sgverify.samplers.gradients.differentiation:Potential.full",
        "return prior + total",
        "return 0 * prior + total",
        "sgld-euler",
        {"target": "logistic"},
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_of_the_running_code_is_seen(bug):
    place, was, now, reference, settings = BUGS[bug]
    assert judged(reference, **settings).verdict == "conforms"
    with edited_source(place, ((was, now),)):
        found = judged(reference, **settings)
    assert found.verdict == "violates" and "far from the definition in long double" in found.reason


def test_gradients_in_long_double_are_those_of_the_exact_quadratic():
    target = build_target(load_configuration(None, target=DATA).target)
    theta = np.array([[0.25, -1.5], [3.0, 0.125]], dtype=np.longdouble)
    expected = [[float(g) for g in target.gradient([Fraction(float(t)) for t in row])] for row in theta]
    assert np.allclose(
        LongDoubleGradient(target)(LongDouble(theta)).value.astype(float), expected, rtol=1e-15
    )
    # The mean over all minibatches of one datum is the gradient itself.
    single = [MinibatchGradient(target, [[k]])(LongDouble(theta)).value for k in range(4)]
    assert np.allclose(np.mean(single, axis=0).astype(float), expected, rtol=1e-14)


def test_two_minibatches_of_a_step_are_told_apart():
    @dynamics(theta="vector")
    def flat(theta, *, grad, T):
        return -grad(theta), T

    @scheme(flat)
    def twice(theta, *, h, grad, noise, T):
        return theta - h * (2 * grad(theta) - grad.fresh()(theta)) + sqrt(2 * T * h) * noise()

    found = judged(twice, gradient={"kind": "iid", "batch": 1})
    assert found.verdict == "conforms" and found.certificate["minibatches"] == 2


@pytest.mark.parametrize("draw", [0.8, -1.75])
def test_the_plain_carrier_agrees_with_the_one_of_the_tests(draw):
    def moved(carrier):
        numbers = {name: carrier(np.longdouble(x)) for name, x in {"h": 0.3, "D": 2.5, "T": 0.7}.items()}
        state = tuple(carrier(np.longdouble([[x]])) for x in (0.4, -1.2))
        drawn = carrier(np.longdouble([[draw]]))
        values = find_scheme("sghmc-baoab").step(state, grad=lambda x: 3 * x, noise=lambda: drawn, **numbers)
        return [value.value for value in values]

    assert np.array_equal(moved(LongDouble), moved(Extended))


@pytest.mark.parametrize(
    "settings",
    [
        {"target": {"name": "gaussian", "mean": 1e10}},
        {"target": {"name": "gaussian", "mean": 3}, "temperature": 1e-20, "friction": 0.1},
    ],
)
def test_a_place_that_is_known_to_few_of_its_spreads_is_no_flaw_of_the_step(settings):
    found = self_check("one-step-law", "sghmc-baoab", load_configuration(settings))
    assert found.verdict == "conforms", found.reason


def test_a_step_that_diverges_is_made_smaller_and_one_that_always_does_is_said_to(monkeypatch):
    settings = {
        "target": {"name": "logistic-regression", "dim": 1, "size": 2, "prior_precision": 0.324},
        "temperature": 609000,
        "friction": 42,
    }
    found = self_check("one-step-law", "sgnht-chen-BAOAB", load_configuration(settings))
    assert found.verdict == "conforms" and max(found.certificate["largest_gap"].values()) < 1e-6
    monkeypatch.setattr("tests.self_checks.step_against_definition.SHRUNK", (1,))
    found = self_check("one-step-law", "sgnht-chen-BAOAB", load_configuration(settings))
    assert found.verdict == "inconclusive" and "diverge within 4 steps" in found.reason


def test_a_flaw_in_float32_makes_no_room_for_itself():
    kept = judged("sghmc-aboba").certificate["rounding_explains"]
    place = "sgverify.samplers.reading.constants:Constant.meet"
    worse = ".to(like.dtype).mul(1.5 if like.dtype == torch.float32 else 1.0).to(like.device)"
    with edited_source(place, ((".to(like.dtype).to(like.device)", worse),)):
        found = judged("sghmc-aboba")
    assert found.certificate["rounding_explains"] == kept
