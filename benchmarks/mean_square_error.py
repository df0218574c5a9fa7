"""Benchmark: the exponent of the mean square error over L = 1e2..1e10, in one dimension."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import sgverify
from benchmarks.measuring import Row, Setting, close, compare, measure
from benchmarks.moment_recursion import mean_square_error, start_of, step_of, test_function_of
from sgverify.configuration import load_configuration
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for
from sgverify.subject.binding import make_subject

SCHEME = "sghmc-aboba"
BAR = 0.2
LENGTHS = [10**k for k in range(2, 11)]
RECURSED = 10**5

# The recursion adds L terms in float64: relative rounding errors of at most about L eps = 2e-11 at L = 1e5, times
# the condition of sums whose terms are all of one sign or decay; 1e-6 is what the contract asks of the engines.
AGREEMENT = 1e-6


def run(setting: Setting) -> Iterator[Row]:
    """The whole answer for full and minibatch gradients; its nine values beside a recursion in numpy."""
    lengths, recursed = ([10, 100], 100) if setting.tiny else (LENGTHS, RECURSED)
    span = f"L = {lengths[0]:.0e}..{lengths[-1]:.0e}".replace("e+0", "e").replace("e+", "e")
    for kind in ("full", "iid"):
        timing = measure(
            lambda kind=kind: sgverify.rate(
                SCHEME, quantity="mse", gradient={"kind": kind}, sweep={"lengths": lengths}
            ),
            setting,
        )
        yield Row(f"mse exponent of {SCHEME}, {kind} gradients, {span}", timing, BAR)

    subject = make_subject(SCHEME, load_configuration())
    points = sgverify.rate(SCHEME, quantity="mse", sweep={"lengths": lengths}).points
    steps = {point.length: point.step for point in points}

    def values() -> dict[int, float]:
        answers = answers_for(subject.model)
        return {L: answers.mean_square_error(fixed_step(h), L).value for L, h in steps.items()}

    step = step_of(subject.model, steps[recursed])
    start, phi = start_of(subject.model), test_function_of(subject.model)
    timing, peer = compare(
        values,
        lambda: mean_square_error(repeat(step, recursed), start, phi),
        setting,
        same=lambda ours, theirs: close(ours[recursed], theirs, AGREEMENT),
    )
    yield Row(
        f"mse of {SCHEME}, full gradients, the {len(lengths)} values alone",
        timing,
        BAR,
        "moments step by step in numpy float64",
        peer,
        scale=sum(lengths) / recursed,
        note=f"the recursion runs {recursed:.0e} steps; its time is extrapolated to {sum(lengths):.3g}",
    )
