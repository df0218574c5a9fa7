"""Benchmark: the proof of local orders, of every catalogue scheme and in up to four dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.measuring import Row, Setting, compare, measure
from benchmarks.sympy_expansion import order_by_sympy
from sgverify import dynamics, scheme
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.operators import exponential_symbols, generator_of, symbol_of, transition_of
from sgverify.schemes import Scheme, find_scheme
from sgverify.schemes.catalogue import NAMED

BARS = {1: 0.1, 2: 0.5}
BARS_OF_ORDER_TWO = {1: 0.010, 2: 0.015, 3: 0.050, 4: 0.250}
BAR_OF_ORDER_FOUR = 0.1
OF_ORDER_TWO = ("sghmc-aboba", "sghmc-baoab")
COMPARED = "sghmc-aboba"


@dynamics(theta="vector", p="vector")
def newton(theta, p, *, grad):
    """Friction and noise left out: no scheme that draws has order 4 and letters that can be drawn."""
    return (p, -grad(theta)), (0, 0)


@scheme(newton, order=4)
def runge_kutta(theta, p, *, h, grad):
    """The classical method."""
    a, b = p, -grad(theta)
    c, d = p + h / 2 * b, -grad(theta + h / 2 * a)
    e, f = p + h / 2 * d, -grad(theta + h / 2 * c)
    g, k = p + h * f, -grad(theta + h * e)
    return theta + h / 6 * (a + 2 * c + 2 * e + g), p + h / 6 * (b + 2 * d + 2 * f + k)


def run(setting: Setting) -> Iterator[Row]:
    """Every scheme in dimension 1 and 2; second order in 1 to 4, fourth order in 1; one of them beside plain sympy."""
    schemes = (
        ["sgld-euler"] if setting.tiny else [name for name, scheme in NAMED.items() if not scheme.memory]
    )
    for dim, bar in BARS.items():
        for name in schemes:
            timing = measure(partial(local_order, find_scheme(name), dim), setting)
            yield Row(f"local order of {name}, dim {dim}", timing, bar)
    for name in OF_ORDER_TWO:
        for dim, bar in BARS_OF_ORDER_TWO.items():
            if dim == 1 or not setting.tiny:
                work = partial(local_order, find_scheme(name), dim)
                yield Row(f"order 2 of {name} with its defect, dim {dim}", measure(work, setting), bar)
    work = partial(local_order, runge_kutta, 1)
    yield Row("order 4 of Runge-Kutta with its defect, dim 1", measure(work, setting), BAR_OF_ORDER_FOUR)
    for name in OF_ORDER_TWO[: 1 if setting.tiny else None]:
        timing = measure(partial(powers_that_differ, find_scheme(name), 5), setting)
        yield Row(f"every power of {name} through h^5, dim 1", timing, BAR_OF_ORDER_FOUR)
    yield _beside_plain_sympy("sghmc-euler" if setting.tiny else COMPARED, setting)


def powers_that_differ(item: Scheme, highest: int) -> dict[int, int]:
    """How many terms P_h - exp(hL) has at each power of h through h^highest, in one dimension."""
    degree, dynamics = 2 * highest, item.dynamics
    ring = Ring(
        1,
        dynamics.shapes,
        dynamics.parameters,
        depth=highest,
        draws=item.draws,
        minibatches=1,
        cap=degree + 2,
    )
    found = transition_of(item, ring, degree)
    exact = exponential_symbols(symbol_of(generator_of(dynamics, ring), ring), ring, highest)
    halves = [len(found.symbol(2 * k + 1)) for k in range(highest)]
    assert not any(halves), "no power of sqrt(h) but the even ones"
    return {k: len(ring.reduce(found.symbol(2 * k) - exact[k])) for k in range(highest + 1)}


def _beside_plain_sympy(name: str, setting: Setting) -> Row:
    item = find_scheme(name)
    highest = int(local_order(item, 1).order)
    timing, peer = compare(
        lambda: local_order(item, 1).order,
        lambda: order_by_sympy(item, highest),
        setting,
        same=lambda ours, theirs: ours == theirs,
    )
    return Row(
        f"local order of {name}, dim 1, beside sympy",
        timing,
        BARS_OF_ORDER_TWO[1],
        "E f(X_1) expanded by plain sympy",
        peer,
        note=f"sympy stops at h^{highest + 1} and gives the order alone, without defect or average over minibatches",
    )
