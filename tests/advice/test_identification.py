"""`identify`: the catalogue's schemes are found in any convention, and schemes that are slightly wrong are not."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.making.identification.making import torch_schemes
from reports.making.identification.slightly_wrong import slightly_wrong
from reports.making.identification.spelled import DATA, Spelling, drawn, recovered, spelled
from sgverify import Alphabet, scheme, sqrt, torch_step
from sgverify.advice.identification.candidates import named_candidates
from sgverify.advice.identification.conventions import monomial
from sgverify.advice.identification.fitting import ResponseFit, solved
from sgverify.advice.identification.identifying import identify
from sgverify.advice.identification.matching import Search
from sgverify.advice.identification.model import Identification
from sgverify.errors import ConfigurationError
from sgverify.law.observed import HandedNumbers, observed_step, settings_about
from sgverify.schemes import find_scheme, kinetic, langevin
from sgverify.schemes.catalogue import NAMED
from sgverify.schemes.catalogue.kinetic import drift, friction, noisy_kick
from sgverify.schemes.definition.abstract_value import SCALAR, VECTOR
from tests.zoo.optimizers import SGHMC, DriftAlone, NoiseOfDecay, Preconditioned, PreconditionedAtOne


def numbers(found: Identification) -> dict[str, float]:
    return {item.name: float(item.value) for item in found.numbers}


RECOVERY = Path(__file__).resolve().parents[2] / "reports" / "identification" / "recovery.json"

QUICK = ("sgld-euler", "sghmc-baoab", "sghmc-ubu", "sgnht-euler", "sgrld-euler", "psgld")


@pytest.mark.by_default("sgld-euler", "sghmc-baoab", "sgnht-euler", "sgrld-euler")
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.power) for name in NAMED]
)
def test_every_scheme_of_the_catalogue_is_identified(name: str) -> None:
    found = identify(name)
    assert (found.outcome, found.scheme) == ("identified", name), found
    assert found.agreement is not None and found.agreement.difference < 1e-11
    assert found.agreement.dimensions == (2, 1, 3)


SLOWER = [pytest.param(name, marks=pytest.mark.power) for name in ("sghmc-ubu", "psgld-0.999-0.1")]


@pytest.mark.by_default("sgnht-euler")
@pytest.mark.parametrize("name", ["sghmc-baoab", "sgnht-euler", *SLOWER])
def test_torch_code_in_another_convention_is_identified(name: str) -> None:
    spelling = Spelling(
        "learning rate", lambda h, D, T: (math.sqrt(h), D, T), scale=lambda h: -h, offset=0.4, turn=True
    )
    found = identify(spelled(name, spelling))
    assert recovered(found, name, spelling, (0.1, 2.0, 1.0)), found
    assert "h is a learning rate: the step size is sqrt(h)" in found.convention


@pytest.mark.power  # 0.6 s
def test_a_thermostat_that_moves_little_in_a_step_is_recovered() -> None:
    """xi is 10 and moves by 1e-5 in a step: its temperature is recovered to 1e-7 alone at the other settings."""
    random = Random("sgnht-euler")
    cases = [drawn("sgnht-euler", random) for _ in range(15)]
    spelling, (h, D, T) = next(case for case in cases if "mass 2.103, gradient times 100" in case[0].text)
    found = identify(
        spelled("sgnht-euler", spelling), schedule={"step": h}, friction=D, temperature=T, **DATA
    )
    assert recovered(found, "sgnht-euler", spelling, (h, D, T)), found.reason


@pytest.mark.power
@pytest.mark.parametrize("name", torch_schemes())
@settings(max_examples=10, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_random_conventions_are_recovered(name: str, random: Random) -> None:
    spelling, (h, D, T) = drawn(name, random)
    found = identify(spelled(name, spelling), schedule={"step": h}, friction=D, temperature=T, **DATA)
    assert recovered(found, name, spelling, (h, D, T)), f"{spelling.text}: {found.reason}"


def test_the_stored_recovery_is_whole_and_what_is_taken_is_listed() -> None:
    stored = json.loads(RECOVERY.read_text(encoding="utf-8"))
    assert {row["scheme"] for row in stored["recovered"]} == {*torch_schemes()}
    assert all(row["recovered"] == row["tried"] for row in stored["recovered"])
    taken = [text for row in stored["slightly_wrong"] for text in row["taken"]]
    assert len(taken) == sum(row["identified"] for row in stored["slightly_wrong"])


@pytest.mark.parametrize(
    ("name", "every"),
    [
        ("sgld-euler", 1),
        pytest.param("psgld-0.999-0.1", 11, marks=pytest.mark.power),
        pytest.param("sgnht-euler", 12, marks=pytest.mark.power),
    ],
)
def test_one_factor_off_by_a_percent_is_not_the_scheme(name: str, every: int) -> None:
    for label, wrong in list(slightly_wrong(find_scheme(name)))[::every]:
        found = identify(wrong)
        assert not (found.identified and found.scheme == name), label


def test_a_wrong_kick_is_named_with_its_factor() -> None:
    @torch_step(kinetic)
    def step(theta, p, *, h, grad, D, T):
        p = p - h / 2 * grad(theta)
        theta = theta + h / 2 * p
        p = math.exp(-D * h) * p + (-T * math.expm1(-2 * D * h)) ** 0.5 * torch.randn_like(p)
        theta = theta + h / 2 * p
        return theta, p - 0.505 * h * grad(theta)

    found = identify(step)
    assert found.outcome == "none" and found.scheme is None
    assert found.nearest is not None and found.nearest.scheme == "sghmc-baoab"
    first = found.nearest.terms[0]
    h, kept = 0.1, math.exp(-0.2)
    # The last kick acts where the step ends: (h/2)(1 - ...) of the first, and 1.01 h/2 of its own, at degree 1 in the curvature.
    assert (first.variable, first.term) == ("p", "grad U")
    assert first.due == pytest.approx(-h / 2 * (1 + kept), rel=1e-9)
    assert first.found == pytest.approx(-h / 2 * (1.01 + kept), rel=1e-9)


CLIPPED = {
    "a gradient clipped at 100": lambda g, z: (g.clamp(-100, 100), z),
    "draws clipped at 3": lambda g, z: (g, z.clamp(-3, 3)),
}


@pytest.mark.parametrize("clip", CLIPPED.values(), ids=list(CLIPPED))
def test_clipped_steps_are_no_scheme_and_the_difference_is_told(clip) -> None:
    @torch_step(langevin)
    def step(theta, *, h, grad, T):
        g, z = clip(grad(theta), torch.randn_like(theta))
        return theta - h * g + (2 * h * T) ** 0.5 * z

    found = identify(step)
    assert found.outcome == "none" and found.nearest is not None and found.nearest.scheme == "sgld-euler"
    told = re.search(r"differs by (\S+) of a step in theta\[\d\] at other states and draws", found.reason)
    assert told is not None and float(told[1]) > 1e-3, found.reason


def test_what_lies_beyond_the_compared_numbers_is_said_to_be_untested() -> None:
    @torch_step(langevin)
    def step(theta, *, h, grad, T):
        noise = (2 * h * T) ** 0.5 if T > 0.3 else (h * T) ** 0.5
        return theta - h * grad(theta) + noise * torch.randn_like(theta)

    beyond = identify(step).untested[0]
    assert "T outside 0.35 to 1.9" in beyond and "dimensions above 3" in beyond
    assert "D outside" not in beyond
    bounds = [float(bound) for bound in re.findall(r"> ([\d.]+)", beyond)]
    assert bounds[0] > 50 and bounds[1] > 100 and bounds[2] > 4
    assert not identify(step, temperature=0.2).identified


@pytest.mark.by_default("SGHMC-sghmc-euler")
@pytest.mark.parametrize(
    ("made", "scheme"),
    [
        (SGHMC, "sghmc-euler"),
        (Preconditioned, "psgld-0.99-1.0"),
        (PreconditionedAtOne, "psgld-0.97-0.37"),
        (DriftAlone, None),
    ],
)
def test_the_buffer_of_an_optimizer_is_a_variable_of_a_scheme(made: type, scheme: str | None) -> None:
    found = identify(made)
    assert (found.scheme, found.identified) == (scheme, scheme is not None), found


@pytest.mark.power  # 0.7 s
def test_conjugate_chains_are_named_as_such() -> None:
    found = identify("sghmc-md-aoab")
    assert (found.scheme, found.outcome) == ("sghmc-baoab", "identified")
    assert found.relation is not None and "kick of h/2" in found.relation


@pytest.mark.power
def test_a_cyclic_shift_of_a_word_of_ones_own_is_found() -> None:
    found = identify(Alphabet("other", kinetic, A=drift, B=friction, O=noisy_kick).word("BOBA"))
    assert found.scheme == "sghmc-aboba" and "drift" in str(found.relation)


@pytest.mark.power
def test_a_word_without_a_name_is_named_by_its_letters() -> None:
    assert identify("sghmc-md-oab").scheme == "sghmc-md-oab"


def test_momentum_that_is_forgotten_is_overdamped() -> None:
    @torch_step(kinetic)
    def refreshed(theta, p, *, h, grad, T):
        p = T**0.5 * torch.randn_like(p) - h / 2 * grad(theta)
        theta = theta + h * p
        return theta, p - h / 2 * grad(theta)

    found = identify(refreshed)
    assert (found.scheme, found.outcome) == ("sgld-euler", "identified")
    assert {item.name: item.law for item in found.numbers} == {"h": "h**2/2", "T": "T"}
    assert "no later position depends on its p" in found.convention


def test_descent_with_momentum_is_the_scheme_without_noise() -> None:
    @torch_step(kinetic)
    def descent(theta, p, *, h, grad, D):
        p = (1 - h * D) * p - h * grad(theta)
        return theta + h * p, p

    found = identify(descent)
    assert found.identified and found.scheme == "sghmc-euler" and numbers(found)["T"] == 0


@pytest.mark.power  # 0.9 s
def test_a_fixed_friction_and_temperature_are_recovered() -> None:
    found = identify(spelled("sghmc-baoab", Spelling("fixed"), declared=(), D=1.3, T=0.7))
    assert found.identified
    got = numbers(found)
    assert (got["D"], got["T"]) == (pytest.approx(1.3, rel=1e-10), pytest.approx(0.7, rel=1e-10))


@pytest.mark.power  # 0.9 s
def test_a_factor_of_the_gradient_is_named_by_the_data() -> None:
    step = spelled("sgld-euler", Spelling("N/n", gradient=50.0))
    named = identify(step, target={"size": 500}, gradient={"batch": 10})
    assert (
        named.identified and "T/50, with N/n = 50: either the gradient is multiplied" in named.convention[0]
    )
    unconfigured = identify(spelled("sgld-euler", Spelling("N", gradient=1000.0)))
    assert unconfigured.outcome == "other-numbers" and "T/1000" in unconfigured.reason
    odd = identify(step, target={"size": 500}, gradient={"batch": 20})
    assert odd.outcome == "other-numbers" and "T/50" in odd.reason
    assert any("the gradient times g" in line and "T/g" in line for line in odd.family)


def test_a_noise_too_weak_is_another_temperature() -> None:
    @scheme(langevin)
    def weak(theta, *, h, grad, noise, T):
        return theta - h * grad(theta) + sqrt(T * h) * noise()

    found = identify(weak)
    assert found.outcome == "other-numbers" and found.scheme == "sgld-euler"
    assert "the temperature of the noise is T/2" in found.reason


@scheme(langevin)
def too_weak(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(2 * T * h / 10) * noise()


@pytest.mark.parametrize("configured", [{}, {"target": {"size": 500}, "gradient": {"batch": 10}}])
@pytest.mark.parametrize(
    ("step", "name"),
    [(too_weak, "sgld-euler"), pytest.param(NoiseOfDecay, "sghmc-euler", marks=pytest.mark.power)],
)
def test_a_noise_too_weak_by_the_size_of_a_minibatch_is_no_factor_of_the_gradient(
    step, name, configured
) -> None:
    found = identify(step, **configured)
    assert (found.outcome, found.scheme) == ("other-numbers", name)
    assert "the temperature of the noise is T/10" in found.reason
    assert not any("gradient is multiplied" in line for line in found.convention)


@pytest.mark.power  # 0.6 s
def test_torch_code_that_seeds_its_generator_is_no_scheme() -> None:
    @torch_step(langevin)
    def seeded(theta, *, h, grad, T):
        torch.manual_seed(3)
        return theta - h * grad(theta) + (2 * T * h) ** 0.5 * torch.randn_like(theta)

    found = identify(seeded)
    assert (found.outcome, found.scheme) == ("none", None)
    assert "law of sgld-euler" in found.reason and "seeds torch's generator anew" in found.reason


def test_two_point_draws_are_told_beside_the_scheme_with_normal_ones() -> None:
    @scheme(langevin)
    def two_point(theta, *, h, grad, noise, T):
        return theta - h * grad(theta) + sqrt(2 * T * h) * noise.two_point()

    found = identify(two_point)
    assert (found.outcome, found.scheme) == ("undecided", None)
    assert "two_point" in found.reason and "in their place: sgld-euler" in found.reason


def test_draws_of_another_law_leave_it_open() -> None:
    @torch_step(langevin)
    def uniform(theta, *, h, grad, T):
        z = 12**0.5 * (torch.rand_like(theta) - 0.5)
        return theta - h * grad(theta) + (2 * T * h) ** 0.5 * z

    found = identify(uniform)
    assert found.outcome == "undecided" and "uniform" in found.reason


def test_float32_within_leaves_it_open() -> None:
    @torch_step(langevin)
    def single(theta, *, h, grad, T):
        return theta - h * grad(theta).float().double() + (2 * T * h) ** 0.5 * torch.randn_like(theta)

    found = identify(single)
    assert found.outcome == "undecided" and "float32" in found.reason


def test_a_dimension_that_differs_is_found() -> None:
    @torch_step(langevin)
    def plane(theta, *, h, grad, T, dim):
        h = h if dim < 3 else 1.01 * h
        return theta - h * grad(theta) + (2 * T * h) ** 0.5 * torch.randn_like(theta)

    found = identify(plane)
    assert found.outcome == "none" and "in dimension 3 it differs" in found.reason


def test_a_composite_names_its_scheme() -> None:
    with pytest.raises(ConfigurationError, match=r"resgld.*expected its scheme, sgld-euler"):
        identify("resgld")


def test_a_number_that_is_no_monomial_has_no_law() -> None:
    at = settings_about(HandedNumbers(0.1, 2.0, 1.3))
    found = monomial(at, [s.h**0.5 * s.T / s.D / 3 for s in at])
    assert str(found) == "sqrt(h)*T/(3*D)"
    assert monomial(at, [s.h + 1e-5 * s.h**2 for s in at]) is None
    assert monomial(at, [s.h - 0.05 for s in at]) is None


@settings(max_examples=25, deadline=None)
@given(random=st.randoms(use_true_random=False), error=st.floats(1e-9, 1e-3))
def test_a_monomial_is_taken_up_to_the_errors_of_its_values(random: Random, error: float) -> None:
    at = settings_about(
        HandedNumbers(random.uniform(0.01, 1), random.uniform(0.1, 5), random.uniform(0.1, 5))
    )
    constant = random.uniform(0.5, 2)
    values = [constant * s.h * s.T * (1 + random.uniform(-0.9, 0.9) * error) for s in at]
    found = monomial(at, values, [error] * len(at))
    assert found is not None and found.is_near(constant)
    values[random.randrange(1, len(at))] *= 1 + 4 * error
    assert monomial(at, values, [error] * len(at)) is None
    assert monomial(at, values, [1.0] * len(at)) is None


@pytest.mark.parametrize("gradient", [1.0, 1e3])
def test_the_errors_of_recovered_numbers_are_bounds_and_follow_the_conditioning(gradient: float) -> None:
    """With large gradients the thermostat, whose friction takes up h T/g in a step, is known to fewer digits than the step."""
    h, D, T = 0.0731928374, 1.9321736451, 0.8437261859
    spelling = Spelling("other gradients", lambda h, D, T: (h, D, T), gradient=gradient)
    step = observed_step(spelled("sgnht-euler", spelling), 1)
    search = Search(step, HandedNumbers(h, D, T), {})
    (candidate,) = (
        item for item in named_candidates((VECTOR, VECTOR, SCALAR), False) if item.name == "sgnht-euler"
    )
    seen = search.seen(search.base, search.variables)
    solution = solved(
        candidate,
        seen,
        search.variables,
        1,
        [
            {
                **spelling.expected(candidate.scheme, h, D, T),
                "p": gradient**0.5,
                "xi": gradient**0.5,
                "xi offset": 0.01,
            }
        ],
        1,
        12,
    )
    assert solution is not None
    for name, value in spelling.expected(candidate.scheme, h, D, T).items():
        assert abs(solution.numbers[name] / value - 1) <= solution.errors[name] + 1e-15 < 1e-3
    assert solution.errors["T"] > solution.errors["h"]
    # Where Newton's method has run off, responses overflow: no number is known, and the next candidate is tried.
    fit = ResponseFit(candidate, seen, search.variables, 1)
    assert set(fit.errors(np.full(len(fit.names), 1e300)).values()) == {math.inf}
