"""Check: the averages that the sampler returns are the weighted averages of the states that its chains passed through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sgverify.checks.rates.sampled.method import check_complete
from sgverify.rates.verdict import Judgement
from sgverify.samplers import Averages, Cyclical, Fixed, Power, Row, Settings, cyclical, sample
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject
from sgverify.targets import Observable
from tests.self_checks.exact_steps import UNIT, averaged, step_of
from tests.self_checks.finding import Finding, finding, unanswered
from tests.self_checks.run_transcript import BLOCK, Transcript, transcribe
from tests.self_checks.transcripts import ALPHA, SHRUNK

STAGE = "averaging"

LENGTHS = (20, 33)
"""The numbers of steps at which averages are taken; neither is a multiple of a block's length."""

BURN_IN, THINNING, OWN_BURN_IN = 5, 3, 9
"""Burn-in and thinning of the second run, and the burn-in of a row that sets its own.

The first run has neither; its sums take another path through the sampler.
"""

CYCLES, THRESHOLD = 4, 0.3
"""The number of cycles and the threshold of the cyclical row: each cycle has 9 of the 33 steps, the first 3 explore."""

WORK = 64
"""The largest number of chains times terms of the test function; at least one chain runs."""

PERIOD = -(-LENGTHS[-1] // CYCLES)


@dataclass(frozen=True)
class RecordedRun:
    """The averages that a run returned, and the transcript of the same run: every state and step size."""

    settings: Settings
    rows: tuple[Row, ...]
    averages: Averages
    transcript: Transcript


@dataclass(frozen=True)
class AveragingRule:
    """The rule of one average: does it count state l (`counts`), and with which weight (`weight`)?"""

    counts: Callable[[int], bool]
    weight: Callable[[int], Fraction]


def check_averaging(subject: Subject) -> Finding:
    """sum_l h_l phi(X_l) / sum_l h_l, or 1/n sum_l phi(X_l), over burn-in + thinning, burn-in + 2 thinning, ..., <= L.

    In rational arithmetic on the states that the chains passed through, against what the sampler returned, within the
    rounding of a sum in float64; and the steps h_l themselves, decreasing or in cycles. Of a cycle only the stage from
    the threshold on is averaged.

    Cannot see: whether the states are right, and what only runs of more than 33 steps would show.
    """
    worst, compared = 0.0, 0
    for run in _runs(subject):
        if run.transcript.diverged:
            reason = (
                f"chains diverge at every step size tried; no averages to look at ({run.transcript.diverged})"
            )
            return unanswered(reason)
        for differs, wrong in (("steps", _wrong_steps(run)), ("states", _other_states(subject, run))):
            if wrong:
                judgement = Judgement("violates", False, wrong)
                return finding(judgement, certificate={"differs": differs})
        for row, place, chain in _averages(run):
            values = _values(subject.observable, run.transcript, row, chain)
            exact, bound = average(values, rule_of(run, row), LENGTHS[place], _roundings(subject.observable))
            found = float(run.averages.values[0, row, place, chain])
            off = abs(Fraction(found) - exact) if np.isfinite(found) else None
            compared += 1
            if off is None or off > bound:
                judgement = Judgement("violates", False, _told(run, row, place, chain, values, found))
                return finding(judgement, certificate={"differs": "average"})
            worst = max(worst, float(off / bound) if bound else 0.0)
    reason = (
        f"{compared} averages are those of the chains' states; recomputed in exact fractions, uniform with fixed steps, by h_l "
        "with decreasing ones and with the sampling stages of cyclical ones, with and without burn-in and thinning"
    )
    certificate = {
        "compared": compared,
        "largest_error_in_units_of_its_bound": worst,
        "lengths": list(LENGTHS),
    }
    return finding(Judgement("conforms", False, reason), certificate=certificate)


def average(
    values: Sequence[tuple[Fraction, Fraction]], rule: AveragingRule, length: int, roundings: int
) -> tuple[Fraction, Fraction]:
    """The weighted average of the first `length` values, and how far float64 arithmetic may be off it.

    `values` are pairs (phi(X_l), sum of the absolute values of its terms), l = 1, 2, ... Every term of phi is rounded
    `roundings` times, each product h phi once, each sum once per term, and the quotient once (Higham 2002, section 4.2).
    """
    total = size = weights = Fraction(0)
    count = 0
    for l, (value, absolute) in enumerate(values[:length], start=1):
        if rule.counts(l):
            weight = rule.weight(l)
            total, size, weights, count = (
                total + weight * value,
                size + weight * absolute,
                weights + weight,
                count + 1,
            )
    # (1 + u)^k - 1 <= 1.01 k u for every k that occurs here.
    share = Fraction(101, 100) * (roundings + 2 * count + 2) * Fraction(UNIT)
    return total / weights, share * size / weights


def rule_of(run: RecordedRun, row: int) -> AveragingRule:
    """The averaging rule of one row of the run."""
    item = run.rows[row]
    burn_in = run.settings.burn_in if item.burn_in is None else item.burn_in
    weighted = not isinstance(item.schedule, Fixed)
    return _rule(run, row, burn_in, run.settings.thinning, weighted)


def _rule(
    run: RecordedRun,
    row: int,
    burn_in: int,
    thinning: int,
    weighted: bool,
    first: int | None = None,
    stages: bool = True,
) -> AveragingRule:
    """The rule that counts the states burn_in + first, burn_in + first + thinning, ...; `first` defaults to the thinning.

    With `stages`, states outside the sampling stage of their cycle are not counted.
    """
    steps = run.transcript.steps[:, row]
    start = burn_in + (thinning if first is None else first)
    stages = stages and isinstance(run.rows[row].schedule, Cyclical)
    return AveragingRule(
        lambda l: (
            l >= start and (l - start) % thinning == 0 and (not stages or averaged(l, PERIOD, THRESHOLD))
        ),
        (lambda l: Fraction(float(steps[l - 1]))) if weighted else (lambda l: Fraction(1)),
    )


def _runs(subject: Subject) -> Iterator[RecordedRun]:
    """Two short runs, each sampled and written down under one seed."""
    chains = max(1, min(8, WORK // max(1, len(subject.observable.terms))))
    for number, (burn_in, thinning) in enumerate(((0, 1), (BURN_IN, THINNING))):
        settings = Settings.of(
            subject.configuration,
            seed=run_seed(subject, STAGE, number),
            chains=chains,
            burn_in=burn_in,
            thinning=thinning,
        )
        for factor in SHRUNK:
            step = subject.step / factor
            rows = [Row(Fixed(step), LENGTHS)]
            if number:
                rows += [Row(Power(step, float(ALPHA)), LENGTHS), Row(Fixed(step / 2), LENGTHS, OWN_BURN_IN)]
                for shape, low in (("cosine", 0.0), ("linear", step / 4)):
                    rows += cyclical(
                        [step], LENGTHS, cycles=CYCLES, low=low, threshold=THRESHOLD, shape=shape
                    )
            transcript = transcribe(subject.scheme, subject.target, rows, settings)
            if not transcript.diverged:
                break
        # The same block length as in the transcript, so that the two runs can differ in their averages only.
        averages = sample(
            subject.scheme,
            subject.target,
            rows,
            observables=[subject.observable],
            settings=settings,
            block=BLOCK,
        )
        check_complete(averages)
        yield RecordedRun(settings, tuple(rows), averages, transcript)


def _averages(run: RecordedRun) -> Iterator[tuple[int, int, int]]:
    for row in range(len(run.rows)):
        for place in range(len(LENGTHS)):
            for chain in range(run.settings.chains):
                yield row, place, chain


def _wrong_steps(run: RecordedRun) -> str:
    """A sentence about a step size that is not the schedule's; "" if there is none."""
    for row, item in enumerate(run.rows):
        for l, h in enumerate(run.transcript.steps[:, row].tolist(), start=1):
            expected, allowed = step_of(item.schedule, l, PERIOD)
            # Written as "not within the bound", so that a NaN is a wrong step too.
            if not abs(Fraction(h) - expected) <= allowed if np.isfinite(h) else True:
                return f"step {l} has the size {h:.3g}, expected {float(expected):.3g}; with {item.schedule}: {h!r}"
    return ""


def _other_states(subject: Subject, run: RecordedRun) -> str:
    """A sentence if two runs from one seed ended in different states; "" if they did not."""
    for name in subject.scheme.state:
        if not np.array_equal(run.averages.last[name], run.transcript.states[name][-1], equal_nan=True):
            return (
                f"the run ended in another {name} when its states were written down: one seed gave two runs"
            )
    return ""


def _values(
    observable: Observable, transcript: Transcript, row: int, chain: int
) -> list[tuple[Fraction, Fraction]]:
    """The pairs (phi(X_l), sum of the absolute values of its terms), l = 1, 2, ..., in exact fractions."""
    states = [transcript.states[name][1:, row, chain].tolist() for name in observable.state]
    sizes = Observable(
        observable.dim, observable.state, {a: abs(value) for a, value in observable.terms.items()}
    )
    used = {place for exponents in observable.terms for place, power in enumerate(exponents) if power}
    found = []
    for parts in zip(*states, strict=True):
        flat = [x for part in parts for x in part]
        coordinates = [Fraction(x) if place in used else Fraction(0) for place, x in enumerate(flat)]
        found.append(
            (
                Fraction(observable.evaluate(coordinates)),
                Fraction(sizes.evaluate([abs(x) for x in coordinates])),
            )
        )
    return found


def _roundings(observable: Observable) -> int:
    """The number of roundings in one value of phi: of a coefficient, of its products, and of the sum of all terms."""
    return observable.degree + len(observable.terms) + 2


def _told(
    run: RecordedRun,
    row: int,
    place: int,
    chain: int,
    values: Sequence[tuple[Fraction, Fraction]],
    found: float,
) -> str:
    """A sentence about a wrong average; if the value is that of a common mistake (such as other weights), it names that mistake."""
    length, own = LENGTHS[place], rule_of(run, row)
    exact, bound = average(values, own, length, 1)
    text = (
        f"an average is {found:.5g}, that of the states {float(exact):.5g}; chain {chain}, over {length} steps with "
        f"{run.rows[row].schedule}: {found!r} and {float(exact)!r}, where rounding allows {float(bound):.1g}"
    )
    item, thinning = run.rows[row], run.settings.thinning
    burn_in = run.settings.burn_in if item.burn_in is None else item.burn_in
    weighted = not isinstance(item.schedule, Fixed)
    slips = {
        "with uniform weights": (burn_in, thinning, False, None),
        "with weights h_l": (burn_in, thinning, True, None),
        "with a burn-in longer by one step": (burn_in + 1, thinning, weighted, None),
        "with a burn-in shorter by one step": (max(0, burn_in - 1), thinning, weighted, None),
        "with the first state after the burn-in counted first": (burn_in, thinning, weighted, 1),
        "with the last state of the burn-in counted first": (burn_in, thinning, weighted, 0),
        "with the burn-in of the settings": (run.settings.burn_in, thinning, weighted, None),
        "without burn-in": (0, thinning, weighted, None),
        "without thinning": (burn_in, 1, weighted, None),
    }
    rules = {
        name: _rule(run, row, left_out, every, by_step, first)
        for name, (left_out, every, by_step, first) in slips.items()
    }
    if isinstance(item.schedule, Cyclical):
        rules["over the exploring stages too"] = _rule(run, row, burn_in, thinning, weighted, stages=False)
    for name, rule in rules.items():
        if not any(map(rule.counts, range(1, length + 1))):
            continue
        other, allowed = average(values, rule, length, 9)
        if np.isfinite(found) and abs(Fraction(found) - other) <= allowed and other != exact:
            return f"{text}; it is the average {name}"
    return text
