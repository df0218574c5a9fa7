"""Benchmark: the proof of every catalogue scheme's local order, in one and two dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.measuring import Row, Setting, compare, measure
from benchmarks.sympy_expansion import order_by_sympy
from sgverify.exact.series import local_order
from sgverify.schemes import find_scheme
from sgverify.schemes.catalogue import NAMED

BARS = {1: 0.1, 2: 0.5}
COMPARED = "sghmc-aboba"


def run(setting: Setting) -> Iterator[Row]:
    """Every scheme in dimension 1 and 2; one of them beside sympy."""
    schemes = ["sgld-euler"] if setting.tiny else list(NAMED)
    for dim, bar in BARS.items():
        for name in schemes:
            timing = measure(partial(local_order, find_scheme(name), dim), setting)
            yield Row(f"local order of {name}, dim {dim}", timing, bar)
    name = "sghmc-euler" if setting.tiny else COMPARED
    scheme = find_scheme(name)
    highest = int(local_order(scheme, 1).order)
    timing, peer = compare(
        lambda: local_order(scheme, 1).order,
        lambda: order_by_sympy(scheme, highest),
        setting,
        same=lambda ours, theirs: ours == theirs,
    )
    yield Row(
        f"local order of {name}, dim 1, beside sympy",
        timing,
        BARS[1],
        "E f(X_1) expanded by plain sympy",
        peer,
        note=f"sympy stops at h^{highest + 1} and gives the order alone, without defect or average over minibatches",
    )
