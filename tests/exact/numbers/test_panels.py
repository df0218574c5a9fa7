"""Expectations of functions that jump, bend and are singular at an end, against closed forms; where panels hide nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from sgverify.exact.numbers.panels import UnresolvedError, resolve, smooth_on
from sgverify.exact.numbers.quadrature import IncompressibleError, compressed, leading_functions
from tests.tables import each_row

Q = special.ndtr


def within(c: float) -> float:
    """E z^2 1{|z| < c}."""
    return 1 - 2 * (c * stats.norm.pdf(c) + Q(-c))


FUNCTIONS = {
    "an eighth power": (lambda z: z**8, 105.0),
    "a sign, squared about 1": (lambda z: (np.sign(z) - 1) ** 2, 2.0),
    "a threshold at 0.3": (lambda z: z > 0.3, Q(-0.3)),
    "a threshold at 5": (lambda z: z > 5, Q(-5)),
    "draws beyond 3 thrown away": (lambda z: z**2 * (np.abs(z) < 3), within(3)),
    "draws beyond 5 thrown away": (lambda z: z**2 * (np.abs(z) < 5), within(5)),
    "a clamp at 3": (lambda z: np.clip(z, -3, 3) ** 2, within(3) + 18 * Q(-3)),
    "an absolute value": (np.abs, math.sqrt(2 / math.pi)),
    "a logarithm at an end": (lambda z: special.log_ndtr(-z) ** 2, 2.0),
    "a cosine of a uniform number": (lambda z: np.cos(2 * math.pi * Q(z)) ** 2, 0.5),
    "stairs": (lambda z: np.floor(2 * z) / 2, -0.25),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_expectations_are_those_of_closed_forms(name):
    f, expected = FUNCTIONS[name]

    def section(z):
        return np.asarray(f(z), dtype=float)[:, None]

    panels = resolve(section)
    fine = panels.halved()
    assert panels.weights @ panels.values == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert fine.weights @ section(fine.nodes) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert not set(fine.nodes).issuperset(set(panels.nodes[np.abs(panels.nodes) > 1]))


def test_panels_fit_functions_that_jump_where_they_were_cut():
    def at(place):
        return lambda z: np.stack([np.sign(z - place) + np.sin(z), z], axis=1)

    panels = resolve(at(0.5))
    assert panels.fit(3 * at(0.5)(panels.nodes))
    assert not panels.fit(at(0.51)(panels.nodes))
    assert not panels.fit(np.abs(panels.nodes - 0.7)[:, None])


def test_more_places_than_can_be_told_apart_are_refused():
    with pytest.raises(UnresolvedError):
        resolve(lambda z: np.floor(100 * z)[:, None])


def test_a_jump_that_another_function_has_elsewhere_is_seen():
    at = [lambda z, c=c: (z > c).astype(float)[:, None] for c in (0.3, 0.3, 0.3 + 1e-6, 4.0)]
    panels = resolve(at[0])
    assert smooth_on([panels], at[1]) and smooth_on([panels], lambda z: z[:, None] ** 3)
    assert not smooth_on([panels], at[2]) and not smooth_on([panels], at[3])
    assert smooth_on([panels, resolve(at[3])], lambda z: at[0](z) - 2 * at[3](z))
    assert smooth_on([panels.scaled(2.0)], lambda z: at[0](z / 2))


NOISES = {
    "normal": lambda z: z,
    "sign": np.sign,
    "clamp": lambda z: np.clip(z, -3, 3),
    "skew": lambda z: -special.log_ndtr(-z),
}


@each_row("name", NOISES)
@each_row("degree", [5, 7])
def test_few_nodes_have_all_moments_of_what_is_made_of_a_draw(name, degree):
    noise = NOISES[name]
    # As a step makes of it: it enters two coordinates.
    panels = resolve(lambda z: np.stack([1e-2 * noise(z), 0.3 + 3e-3 * noise(z)], axis=1))
    functions = leading_functions(panels.values, panels.weights, degree)
    assert functions.shape[1] == 1
    chosen, weights = compressed(functions, panels.weights, degree)
    assert len(chosen) <= degree + 1 and (weights > 0).all()
    x, every = noise(panels.nodes[chosen]), noise(panels.nodes)
    for power in range(degree + 1):
        expected, size = panels.weights @ every**power, panels.weights @ np.abs(every) ** power
        assert weights @ x**power == pytest.approx(expected, abs=1e-10 * size)


def test_two_functions_of_a_draw_are_kept_with_their_products_and_many_are_refused():
    panels = resolve(lambda z: np.stack([z, 1e-3 * np.sign(z)], axis=1))
    functions = leading_functions(panels.values, panels.weights, 5)
    assert functions.shape[1] == 2
    chosen, weights = compressed(functions, panels.weights, 5)
    z = panels.nodes[chosen]
    for power in range(5):
        expected = panels.weights @ (panels.nodes**power * np.sign(panels.nodes))
        assert weights @ (z**power * np.sign(z)) == pytest.approx(expected, abs=1e-11)
    shifted = resolve(lambda z: np.stack([np.tanh(4 * (z - c)) for c in (-1, 0, 1, 2)], axis=1))
    with pytest.raises(IncompressibleError):
        leading_functions(shifted.values, shifted.weights, 3)
