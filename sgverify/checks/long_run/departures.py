"""Do the innovations of a run depart from what is due: mean 0, variance 1, independent? From which step on, and by how much?

All tests together have one level. Each statistic is a standard normal number where nothing departs: a sum over copies at one
step, over windows of steps, over one period of steps, or a correlation over some distance in steps or in copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from sgverify.checks.long_run.innovations import FEW, SINGLE, Innovations

LEVEL = 1e-6
"""The chance that a run without a departure is told to depart."""

WINDOWS = (50, 500)
"""The lengths of windows over which sums are tested, besides single steps and the whole run.

They are ten times apart, as the whole run of 5,000 steps is from the longest: what departs over some steps fills one of the windows
that touch it to a tenth at least if it is longer than the shortest, and thousands of copies show shorter ones in single steps.
"""

MANY, ENOUGH = 10, 200
"""The fewest copies of which neighbours are compared, and of which the kurtosis is that of single steps."""

SWINGING = " swinging"

Kind = Literal["law", "dependence"]


@dataclass(frozen=True)
class RunDeparture:
    """One statement that does not hold: `what` as a clause, at the steps `when`; `size` is the value found where `due` was.

    `kind`: the law of a step is another one, or numbers that should be independent are not. `flags` are the steps that were
    seen to depart, of each step of the run; `excess` is the statistic over its bound.
    """

    kind: Kind
    what: str
    when: str
    size: float
    due: float
    excess: float
    flags: np.ndarray

    def __str__(self) -> str:
        return f"{self.what} {self.size:.3g} where {self.due:g} is due, {self.when}"


def departures(found: Innovations) -> list[RunDeparture]:
    """The departures, those of the law first, and those that leave their bounds by most; none where nothing departs.

    One is told all the same with the chance `LEVEL`.
    """
    tests = _number_of_tests(found)
    bound = -float(ndtri(LEVEL / (2 * tests)))
    listed = [*_of_steps(found, bound), *_over_steps(found, bound)]
    laws = [item for item in listed if item.kind == "law"]
    listed += _over_copies(found, bound, known_steps(laws) if laws else np.ones(found.done, dtype=bool))
    return sorted(listed, key=lambda item: (item.kind != "law", -item.excess))


def known_steps(found: Sequence[RunDeparture]) -> np.ndarray:
    """Which steps were not seen to have another law, where some were; what swings over the run shows in none of them."""
    flags = [item.flags for item in found if item.kind == "law" and SWINGING not in item.what]
    return ~np.any([np.zeros_like(found[0].flags), *flags], axis=0)


def _number_of_tests(found: Innovations) -> int:
    series = 4 * (len(found.blocks) + 1)
    pairs = len(list(combinations(found.of_block, 2)))
    return 3 * series * found.done + (2 + 2 * pairs) * found.done + (2 + len(found.alone)) * found.copies


@dataclass(frozen=True)
class _Edge:
    """The bound of a sum over copies: that of normal numbers, with the skewness and the kurtosis of its terms, and their error."""

    bound: float
    count: float
    error: float
    skewness: float = 0.0
    kurtosis: float = 0.0

    def at(self, width: int = 1) -> float:
        """The bound of a sum over copies and this many steps."""
        count, b = self.count * width, self.bound
        skewed = self.skewness * (b**2 - 1) / (6 * np.sqrt(count))
        return float(b + skewed + self.kurtosis * (b**3 - 3 * b) / (24 * count) + self.error * np.sqrt(count))


def _of_steps(found: Innovations, bound: float) -> Iterator[RunDeparture]:
    n, error = found.done, found.error
    sizes = np.diff(found.starts).astype(float)
    first, second, fourth, beside, along = found.sums[:, :n]
    kurtoses = _kurtosis(found, second, fourth, sizes)
    groups = [(f" of {block.name}", [number]) for number, block in enumerate(found.blocks)]
    if len(groups) > 1:
        groups.append(("", list(range(len(groups)))))
    for whose, numbers in groups:
        whose = whose if len(groups) > 1 else ""
        count, kurtosis = sizes[numbers].sum(), float(kurtoses[numbers].max())
        ratio = second[:, numbers].sum(1) / count
        # Noise that is larger than due is another departure than noise whose mean, or whose dependence, is another.
        size = np.sqrt(np.maximum(ratio, 1.0)) if count >= FEW else 1.0
        z = first[:, numbers].sum(1) / np.sqrt(count) / size
        edge = _Edge(bound, count, error, kurtosis=max(kurtosis - 3, 0.0))
        yield from _series(z, edge, "law", f"the mean{whose} is", z / np.sqrt(count), 0.0)
        if count >= MANY and found.normal:
            # The cube root of Wilson and Hilferty makes them normal.
            share = 2 / (9 * count)
            z, edge = (np.cbrt(ratio) - (1 - share)) / np.sqrt(share), _Edge(bound, count, error)
        else:
            z = (ratio - 1) * np.sqrt(count / max(kurtosis - 1, 1e-3))
            skewness = 3 * np.sqrt(max(kurtosis - 1, 0.0))
            edge = _Edge(bound, count, error, skewness, skewness**2)
        yield from _series(z, edge, "law", f"the variance of the noise{whose} is", ratio, 1.0)
        z = along[:, numbers].sum(1) / np.sqrt(len(numbers)) / size
        if z.any():
            # The states weigh the terms.
            edge = _Edge(bound, count, error, kurtosis=3 * max(kurtosis - 3, 0.0))
            told = f"the noise{whose} goes with the state before by"
            yield from _series(z, edge, "law", told, z / np.sqrt(count), 0.0)
        pairs = (sizes[numbers] - 1).sum()
        if pairs >= MANY:
            scales = np.where(
                sizes[numbers] >= FEW, np.maximum(second[:, numbers] / sizes[numbers], 1.0), 1.0
            )
            z = (beside[:, numbers] / scales).sum(1) / np.sqrt(pairs)
            edge = _Edge(bound, pairs, error, kurtosis=kurtosis**2 - 3)
            told = f"neighbours{whose} have the correlation"
            yield from _series(z, edge, "dependence", told, z / np.sqrt(pairs), 0.0)


def _kurtosis(found: Innovations, second: np.ndarray, fourth: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """E e^4/(E e^2)^2 of each block: of normal numbers 3, of others that of their usual steps."""
    if found.normal:
        return np.full(len(sizes), 3.0)
    ratio = np.median(sizes * fourth / np.maximum(second, 1e-300) ** 2, axis=0)
    whole = found.done * sizes * fourth.sum(0) / np.maximum(second.sum(0), 1e-300) ** 2
    return np.asarray(np.where(sizes >= ENOUGH, ratio, np.maximum(whole, ratio)))


def _series(
    z: np.ndarray, edge: _Edge, kind: Kind, what: str, values: np.ndarray, due: float
) -> Iterator[RunDeparture]:
    """A departure of a statistic that each step has: at single steps, else over windows, else with a period."""
    n = len(z)
    for width in (1, *WINDOWS, n):
        ends = np.arange(0, n - width + 1, width)
        if not len(ends):
            continue
        sums = np.abs(np.add.reduceat(z[: len(ends) * width], ends) / np.sqrt(width))
        limit = edge.at(width)
        if not (sums > limit).any():
            continue
        flags = np.zeros(n, dtype=bool)
        for start in ends[sums > limit]:
            flags[start : start + width] = True
        size = float(values[flags].mean())
        # What leaves its bound on either side at several steps is something that copies have in common.
        spread = float(np.sqrt(((values[flags] - due) ** 2).mean()))
        if kind == "law" and width == 1 and flags.sum() > 3 and abs(size - due) < spread / 2:
            kind, what, size, due = (
                "dependence",
                f"copies have noise in common: {what}, from step to step, off by",
                spread,
                0.0,
            )
        yield RunDeparture(kind, what, told_steps(flags), size, due, float(sums.max() / limit), flags)
        return
    power = np.abs(rfft(z - z.mean())) ** 2 / n
    # At each frequency an exponential number: its limit is where a normal number has the bound's chance.
    limit = edge.at(n) ** 2 / 2 + 4
    where = int(power[1:].argmax()) + 1
    if power[where] > limit:
        told = f"with a period of {n / where:.4g} steps"
        size = float(np.sqrt(power[where] / n / edge.count))
        yield RunDeparture(
            kind, f"{what}{SWINGING}, by", told, size, due, float(power[where] / limit), np.ones(n, bool)
        )


def _over_steps(found: Innovations, bound: float) -> Iterator[RunDeparture]:
    """Dependence between steps, at every distance; of blocks on those of other blocks as well."""
    n = found.done
    length = next_fast_len(2 * n, real=True)
    every = np.ones(n, dtype=bool)
    ends = np.concatenate([[0], np.cumsum(found.of_block)])
    plain = found.series[:n]
    squares = plain * plain
    spread = squares.std()
    forms = [("the noise is correlated with that", plain)]
    if found.normal and spread > 0:
        forms.append(("the noise's size is correlated with that", (squares - squares.mean()) / spread))
    for told, series in forms:
        waves = rfft(series, length, axis=0)
        found_here = irfft((np.abs(waves) ** 2).sum(1), length)[1:n]
        z = found_here / np.sqrt(np.arange(n - 1, 0, -1) * series.shape[1])
        # At large distances a sum has few terms.
        z[n - max(50, 2000 // series.shape[1]) :] = 0
        yield from _lag(
            z, bound, found.error * np.sqrt(n * series.shape[1]), f"{told} {{}} before", series.size, every
        )
        if told != forms[0][0]:
            continue
        for one, other in combinations(range(len(found.blocks)), 2):
            width = min(found.of_block[one], found.of_block[other])
            if width <= SINGLE:
                continue
            width = (width + 1) // 2
            a, b = (waves[:, ends[k] : ends[k] + width] for k in (one, other))
            both = irfft((a * b.conj()).sum(1), length)
            for sign, part in ((1, both[1:n]), (-1, both[: length - n : -1])):
                z = part / np.sqrt(np.arange(n - 1, 0, -1) * width)
                z[n - max(50, 2000 // width) :] = 0
                names = [found.blocks[k].name for k in ((one, other) if sign > 0 else (other, one))]
                text = f"the noise of {names[0]} is correlated with that of {names[1]} {{}} before"
                yield from _lag(z, bound, found.error * np.sqrt(n * width), text, n * width, every)


def _lag(
    z: np.ndarray, bound: float, slack: float, text: str, count: int, flags: np.ndarray
) -> Iterator[RunDeparture]:
    beyond = np.flatnonzero(np.abs(z) > bound + slack)
    if len(beyond):
        lag = int(np.argmax(np.abs(z)))
        told = text.format(f"{lag + 1} step{'s' * bool(lag)}") + ", by"
        excess = float(np.abs(z[lag]) / (bound + slack))
        yield RunDeparture(
            "dependence", told, "over the run", float(z[lag] / np.sqrt(count)), 0.0, excess, flags
        )


def _over_copies(found: Innovations, bound: float, known: np.ndarray) -> Iterator[RunDeparture]:
    """Dependence between copies at steps of a known law, at every distance, and of the copies of small blocks on all others."""
    looked = found.looked(known)
    if found.copies >= ENOUGH and looked:
        z = found.between_copies(known)
        z[found.copies - MANY :] = 0
        beyond = np.abs(z) > bound + found.error * np.sqrt(found.copies * looked)
        if beyond.any():
            distance = int(np.argmax(np.abs(z)))
            text = f"entries {distance + 1} apart have the correlation"
            size = float(z[distance] / np.sqrt(looked * (found.copies - distance)))
            yield RunDeparture(
                "dependence", text, "over the run", size, 0.0, float(np.abs(z[distance]) / bound), known
            )
    for row, copy in enumerate(found.alone if known.all() else ()):
        z = found.beside[row] / np.sqrt(found.done)
        z[copy] = 0
        where = int(np.argmax(np.abs(z)))
        if abs(z[where]) > bound + found.error * np.sqrt(found.done):
            names = [_block_of(found, place) for place in (int(copy), where)]
            text = f"an entry of {names[0]} and one of {names[1]} have the correlation"
            size = float(z[where] / np.sqrt(found.done))
            yield RunDeparture(
                "dependence", text, "over the run", size, 0.0, float(abs(z[where]) / bound), known
            )


def _block_of(found: Innovations, copy: int) -> str:
    return found.blocks[int(np.searchsorted(found.starts, copy, side="right")) - 1].name


def told_steps(flags: np.ndarray) -> str:
    """Which steps are flagged, in words; steps count from 1.

    >>> told_steps(np.arange(1, 1000) % 300 == 0)
    'at step 300 and every 300 steps from there'
    >>> told_steps(np.arange(1, 1000) >= 136), told_steps(np.arange(1, 1000) <= 100)
    ('from step 136 on', 'at steps 1 to 100')
    >>> told_steps(np.arange(1, 1000) % 10 != 1)
    'at all steps but every 10th, from step 2 on'
    """
    n, steps = len(flags), np.flatnonzero(flags) + 1
    if not len(steps):
        return "at no step"
    first, last = int(steps[0]), int(steps[-1])
    if len(steps) == n:
        return "at every step"
    if last - first + 1 == len(steps):
        one = f"at step {first}" if first == last else f"at steps {first} to {last}"
        return f"from step {first} on" if last == n and first < n else one
    gaps = np.diff(steps)
    if len(steps) > 2 and (gaps == gaps[0]).all():
        return f"at step {first} and every {gaps[0]} steps from there"
    left = np.flatnonzero(~flags[first - 1 :]) + first
    if len(left) > 2 and (np.diff(left) == left[1] - left[0]).all():
        return f"at all steps but every {_ordinal(int(left[1] - left[0]))}, from step {first} on"
    ends = np.flatnonzero(gaps > 1)
    stretches = list(zip([first, *steps[ends + 1]], [*steps[ends], last], strict=True))
    if len(stretches) <= 4:
        return "at steps " + ", ".join(f"{a} to {b}" if b > a else f"{a}" for a, b in stretches)
    share = len(steps) / (last - first + 1)
    if share > 0.9:
        return f"at {share:.0%} of the steps from {first} {'on' if last > 0.99 * n else f'to {last}'}"
    shown = ", ".join(f"{a} to {b}" if b > a else f"{a}" for a, b in stretches[:3])
    return f"at steps {shown}, ... ({len(steps)} of {n})"


def _ordinal(number: int) -> str:
    tail = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in (11, 12, 13) else 0, "th")
    return f"{number}{tail}"
