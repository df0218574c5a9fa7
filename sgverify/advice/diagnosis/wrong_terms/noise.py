"""The terms of a step's generator, sorted by what they do to a variable, beside those of the dynamics.

A term of the drift of a variable v is a

- *force*: it holds a derivative of U,
- *correction*: it holds a derivative of the metric,
- *friction*: v occurs in it (-D p, -xi p in the drift of p),
- *motion*: another variable moves v, a vector (p in the drift of theta),
- *feedback*: v is a scalar, such as a thermostat's xi,
- *constant*: none of these.

Every term is a coefficient of numbers and parameters times powers of state and derivatives, so that two groups are
proportional where the quotients of all their coefficients are one.

The cause of a wrong diffusion: a factor, a power of h, the temperature, a draw that is shared, a metric that is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from sgverify.advice.diagnosis.model import Cause, CauseName
from sgverify.advice.diagnosis.wrong_terms.moments import (
    Quotient,
    StepMoments,
    moments_of,
    printed,
    root_text,
)
from sgverify.exact.rings.polynomials import Polynomial, parts_in
from sgverify.exact.rings.ring import Ring
from sgverify.schemes.torch_step import TorchStep

Kind = Literal["force", "correction", "friction", "motion", "feedback", "constant", "noise"]


@dataclass(frozen=True)
class ComparedTerms:
    """The terms of one kind that a step has for a variable, and those of its dynamics.

    Of a kind of drift by coordinate; of `noise`, Cov of its increment at h^1, twice the diffusion, by pairs of coordinates.
    """

    variable: str
    kind: Kind
    found: Mapping[Any, Polynomial]
    expected: Mapping[Any, Polynomial]
    moments: StepMoments

    @property
    def ring(self) -> Ring:
        """The ring of the coefficients."""
        return self.moments.ring

    @property
    def wrong(self) -> bool:
        """Whether the two differ."""
        return dict(self.found) != dict(self.expected)

    @property
    def place(self) -> Any:
        """The first place in which they differ, or the first of all; of pairs one on the diagonal if it can be."""
        apart = [k for k in self.expected if self.found[k] != self.expected[k]] or [*self.expected]
        return min(apart, key=lambda k: self.kind == "noise" and k[0] != k[1])

    @property
    def ratio(self) -> Quotient | None:
        """found / expected; None where they are not proportional with one factor."""
        return quotient(self.found[self.place], self.expected[self.place], self.ring)


def quotient(found: Polynomial, expected: Polynomial, ring: Ring) -> Quotient | None:
    """found / expected where that is a function of the parameters alone, else None."""
    if not expected:
        return None
    places = state_positions(ring, found, expected)
    numbers, own = parts_in(expected, places), parts_in(found, places)
    (index, bottom), *_ = numbers.items()
    top = own.get(index, ring.zero)
    if ring.reduce(found * bottom - expected * top):
        return None
    return Quotient.of(top, bottom, ring)


def state_positions(ring: Ring, *values: Polynomial) -> list[int]:
    """The generators in `values` that are no function of the parameters: state, derivatives, and roots and reciprocals of them."""
    used = sorted({k for value in values for k, degree in enumerate(value.degrees()) if degree > 0})
    return [k for k in used if not ring.depends_only_on_parameters(ring.generator_at(k))]


def drift_groups(moments: StepMoments) -> list[ComparedTerms]:
    """The terms of the drift, by variable and kind; those of the step are its mean at h^1."""
    ring = moments.ring
    found: dict[tuple[str, Kind], dict[int, Polynomial]] = {}
    expected: dict[tuple[str, Kind], dict[int, Polynomial]] = {}
    for table, mean in ((expected, moments.expected_mean), (found, moments.mean)):
        _sort(table, lambda k, mean=mean: mean(k, 2), ring)  # type: ignore[misc]
    groups = []
    for variable, kind in [*expected, *(key for key in found if key not in expected)]:
        places = [k for k, (name, _) in enumerate(ring.coordinates) if name == variable]
        sides = [
            {k: table.get((variable, kind), {}).get(k, ring.zero) for k in places}
            for table in (found, expected)
        ]
        groups.append(ComparedTerms(variable, kind, sides[0], sides[1], moments))
    return groups


def _sort(
    table: dict[tuple[str, Kind], dict[int, Polynomial]], mean: Callable[[int], Polynomial], ring: Ring
) -> None:
    for k, (variable, _) in enumerate(ring.coordinates):
        for kind, value in kinds_of(mean(k), k, ring).items():
            table.setdefault((variable, kind), {})[k] = value


def kinds_of(value: Polynomial, k: int, ring: Ring) -> dict[Kind, Polynomial]:
    """The terms of coordinate k's drift by their kind."""
    sums: dict[Kind, dict[tuple[int, ...], Any]] = {}
    for exponents, factor in value.to_dict().items():
        # The generators in a term, those under its roots too.
        used = ring.occurring(ring.context.from_dict({exponents: 1}))
        sums.setdefault(_kind(used, k, ring), {})[exponents] = factor
    return {kind: ring.context.from_dict(terms) for kind, terms in sums.items()}


def _kind(used: set[int], k: int, ring: Ring) -> Kind:
    variable, _ = ring.coordinates[k]
    families = {ring.jets[j][0] for j in used if j in ring.jets}
    if families & {"U", "prior"}:
        return "force"
    if any(ring.jets[j][0] == "B" and any(ring.jets[j][2]) for j in used if j in ring.jets):
        return "correction"
    variables = {ring.coordinates[j][0] for j in used if j < len(ring.coordinates)}
    if ring.shapes[variable] != "vector":
        return "feedback"
    if variable in variables:
        return "friction"
    return "motion" if variables else "constant"


LATEST = 8
"""The power of sqrt(h) through which the variance of a noise is sought that vanishes at h^1 and h^2: noise multiplied by h^2."""


def diffusions(moments: StepMoments) -> list[ComparedTerms]:
    """The diffusion of each variable."""
    ring = moments.ring
    found = []
    for variable in dict.fromkeys(name for name, _ in ring.coordinates):
        places = [k for k, (name, _) in enumerate(ring.coordinates) if name == variable]
        pairs = [(k, m) for k in places for m in places if k <= m]
        found.append(
            ComparedTerms(
                variable,
                "noise",
                {pair: moments.covariance(*pair, 2) for pair in pairs},
                {pair: moments.expected_covariance(*pair, 2) for pair in pairs},
                moments,
            )
        )
    return found


def of_diffusion(noise: ComparedTerms) -> Cause | None:
    """The cause of a wrong diffusion of one variable."""
    moments, (k, m) = noise.moments, noise.place
    ring, dynamics, on = moments.ring, moments.scheme.dynamics.name, on_branch(moments)
    own, due = noise.found[k, m], noise.expected[k, m]
    halves = [printed(value * ring.constant(Fraction(1, 2)), ring) for value in (own, due)]
    # The variable, or its first coordinate that is wrong where another one is right.
    right = any(a == b and noise.found[a, b] == noise.expected[a, b] for a, b in noise.expected)
    of = f"{ring.labels[k]} in dimension {ring.dim}" if right and k == m else noise.variable
    stands = f"the diffusion of {of} is {halves[0]} where {dynamics} has {halves[1]}"
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
                f"the variance of the noise of {noise.variable} is {value} {power_text(Fraction(j, 2))} where "
                f"{printed(due, ring)} h is due: the noise is multiplied by {power_text(Fraction(j, 4))} and not by sqrt(h){on}",
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
    if isinstance(moments.scheme, TorchStep):
        return
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


def power_text(power: Fraction) -> str:
    """Such as "1", "h", "h^2" or "h^(3/4)"."""
    return (
        ("1", "h")[int(power)]
        if power in (0, 1)
        else f"h^{power}"
        if power.denominator == 1
        else f"h^({power})"
    )


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


def temperature_text(wrong: ComparedTerms) -> str:
    """The temperature that a measured noise or force of another size, beside the right other one, makes of T."""
    ratio, of_force, scheme = wrong.ratio, wrong.kind != "noise", wrong.moments.scheme
    if not wrong.moments.measured or ratio is None or not ratio.numerator or "T" not in ratio.ring.parameters:
        return ""
    number, ring = ratio.number, ratio.ring
    if (of_force and len(ring.shapes) > 1) or (number is not None and number < 0):
        return ""
    over, under = ratio.numerator, ratio.denominator
    if of_force:
        over, under = under, over
    # What takes no temperature is given U/T, and runs at 1.
    alone = isinstance(scheme, TorchStep) and scheme.tempered
    own = Quotient.of(over if alone else over * ring.generator("root", "T") ** 2, under, ring).text
    wide = (
        f", spreads are {float(number) ** (-0.5 if of_force else 0.5):.3g} times the due ones"
        if number
        else ""
    )
    return f"; its temperature is {own}{' where 1 is due' if alone else ''}{wide}"


def of_correction(number: Fraction, due: str, on: str) -> Cause:
    """The drift of theta by theta itself, which belongs to noise that depends on theta."""
    gamma = f"the correction of theta's drift (Gamma, T times the derivative of the preconditioner), {due},"
    if number == 0:
        return Cause("drift-correction-missing", f"{gamma} is missing{on}")
    if number == Fraction(1, 2):
        return Cause("stratonovich", f"{gamma} enters 1/2 times, where once is due: Stratonovich for Ito{on}")
    return Cause("drift-scaled", f"{gamma} enters {number} times, where once is due{on}")
