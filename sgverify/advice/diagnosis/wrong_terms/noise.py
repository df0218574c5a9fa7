"""The cause of a wrong diffusion: a factor, a power of h, the temperature, a draw that is shared, a metric that is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sgverify.advice.diagnosis.model import Cause, CauseName
from sgverify.advice.diagnosis.wrong_terms.groups import quotient
from sgverify.advice.diagnosis.wrong_terms.moments import StepMoments, moments_of
from sgverify.advice.diagnosis.wrong_terms.ratio import Quotient, printed, root_text
from sgverify.exact.rings.polynomials import Polynomial
from sgverify.exact.rings.ring import Ring

LATEST = 8
"""The power of sqrt(h) through which the variance of a noise is sought that vanishes at h^1 and h^2: noise multiplied by h^2."""


@dataclass(frozen=True)
class DiffusionTerm:
    """Twice the diffusion of a variable, Cov of its increment at h^1: found and due, by pairs of coordinates."""

    variable: str
    found: dict[tuple[int, int], Polynomial]
    expected: dict[tuple[int, int], Polynomial]
    moments: StepMoments

    @property
    def place(self) -> tuple[int, int]:
        """The first diagonal pair at which they differ, or any pair that does."""
        apart = [pair for pair in self.expected if self.found[pair] != self.expected[pair]]
        return min(apart, key=lambda pair: (pair[0] != pair[1], pair))

    @property
    def wrong(self) -> bool:
        """Whether they differ."""
        return self.found != self.expected

    @property
    def ratio(self) -> Quotient | None:
        """found / due where one factor of the parameters says all."""
        k, m = self.place
        return quotient(self.found[k, m], self.expected[k, m], self.moments.ring)


def diffusions(moments: StepMoments) -> list[DiffusionTerm]:
    """The diffusion of each variable."""
    ring = moments.ring
    found = []
    for variable in dict.fromkeys(name for name, _ in ring.coordinates):
        places = [k for k, (name, _) in enumerate(ring.coordinates) if name == variable]
        pairs = [(k, m) for k in places for m in places if k <= m]
        found.append(
            DiffusionTerm(
                variable,
                {pair: moments.covariance(*pair, 2) for pair in pairs},
                {pair: moments.expected_covariance(*pair, 2) for pair in pairs},
                moments,
            )
        )
    return found


def of_diffusion(noise: DiffusionTerm) -> Cause | None:
    """The cause of a wrong diffusion of one variable."""
    moments, (k, m) = noise.moments, noise.place
    ring, dynamics, on = moments.ring, moments.scheme.dynamics.name, on_branch(moments)
    own, due = noise.found[k, m], noise.expected[k, m]
    halves = [printed(value * ring.constant(Fraction(1, 2)), ring) for value in (own, due)]
    stands = f"the diffusion of {noise.variable} is {halves[0]} where {dynamics} has {halves[1]}"
    if k != m:
        if due:
            return Cause("metric-wrong", f"{stands}, between {ring.labels[k]} and {ring.labels[m]}{on}")
        variances = moments.covariance(k, k, 2) * moments.covariance(m, m, 2)
        whole = not ring.reduce(own * own - variances)
        return Cause(
            "noise-shared" if whole else "noise-correlated",
            f"the noises of {ring.labels[k]} and {ring.labels[m]} have the covariance {printed(own, ring)} h where they are "
            f"independent{': they are one draw' if whole else ''}{on}",
        )
    if not due:
        return Cause(
            "diffusion-scaled", f"{noise.variable} has the diffusion {halves[0]}, and {dynamics} none{on}"
        )
    if not own:
        for j, value in _later_variances(k, moments):
            return Cause(
                "diffusion-power-of-h",
                f"the variance of the noise of {noise.variable} is {value} {_power(Fraction(j, 2))} where "
                f"{printed(due, ring)} h is due: the noise is multiplied by {_power(Fraction(j, 4))} and not by sqrt(h){on}",
            )
        return Cause(
            "noise-missing",
            f"{noise.variable} has no noise, where {dynamics} has the diffusion {halves[1]}{on}",
        )
    ratio = noise.ratio
    if ratio is None:
        if has_metric(due, ring):
            return Cause("metric-wrong", f"{stands}{on}")
        return Cause("diffusion-scaled", f"{stands}{on}")
    if ratio.depends_on("T"):
        why = (
            "T is missing, which is nothing at T = 1"
            if temperature_cause(own, ring) == "temperature-missing"
            else f"a factor of {ratio.text}, which is nothing at T = 1"
        )
        if not ratio.at_one("T").is_one:
            why = f"a factor of {ratio.text}"
        return Cause(temperature_cause(own, ring), f"{stands}: {why}{on}")
    number = ratio.number
    if number is None:
        return Cause("diffusion-scaled", f"{stands}: a factor of {ratio.text}{on}")
    size = f"too small by {root_text(1 / number)}" if number < 1 else f"too large by {root_text(number)}"
    return Cause("diffusion-scaled", f"{stands}: the noise is {size}{on}")


def _later_variances(k: int, moments: StepMoments) -> Iterator[tuple[int, str]]:
    """The variance of a coordinate's increment above h^1; beyond h^2 only where it vanishes there."""
    for j in range(3, moments.degree + 1):
        value = moments.covariance(k, k, j)
        if value:
            yield j, printed(value, moments.ring)
    further = moments_of(moments.scheme, moments.ring.dim, LATEST)[0]
    for j in range(moments.degree + 1, LATEST + 1):
        value = further.covariance(k, k, j)
        if value:
            yield j, printed(value, further.ring)


def between_variables(moments: StepMoments) -> Cause | None:
    """A covariance between the noises of two variables at h^1 that the dynamics does not have."""
    ring = moments.ring
    for k in moments.coordinates():
        for m in range(k + 1, len(ring.coordinates)):
            own, due = moments.covariance(k, m, 2), moments.expected_covariance(k, m, 2)
            if own != due and ring.coordinates[k][0] != ring.coordinates[m][0]:
                return Cause(
                    "noise-correlated",
                    f"the noises of {ring.labels[k]} and {ring.labels[m]} have the covariance {printed(own, ring)} h where "
                    f"{moments.scheme.dynamics.name} has {printed(due, ring)}{on_branch(moments)}",
                )
    return None


def _power(power: Fraction) -> str:
    """Such as "h", "h^2" or "h^(3/4)"."""
    return "h" if power == 1 else f"h^{power}" if power.denominator == 1 else f"h^({power})"


def temperature_cause(found: Polynomial, ring: Ring) -> CauseName:
    """Missing where T does not occur in what was found, else at the wrong place, as outside of a root."""
    inside = [ring.reciprocals[k] for k in ring.reciprocals if found.degrees()[k] > 0]
    has = any(value.degrees()[ring.position("root", "T")] > 0 for value in (found, *inside))
    return "temperature-misplaced" if has else "temperature-missing"


def has_metric(value: Polynomial, ring: Ring) -> bool:
    """Whether the root of the metric, or a derivative of it, occurs."""
    degrees = value.degrees()
    return any(key[0] == "B" and degrees[j] > 0 for j, key in ring.jets.items())


def on_branch(moments: StepMoments) -> str:
    """The part of states and parameters on which something was found, for the end of a sentence."""
    return f", where {moments.where}" if moments.where else ""


__all__ = [
    "DiffusionTerm",
    "between_variables",
    "diffusions",
    "has_metric",
    "of_diffusion",
    "on_branch",
    "temperature_cause",
]
