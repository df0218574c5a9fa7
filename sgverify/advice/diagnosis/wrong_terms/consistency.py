"""The cause where a step has another generator than its dynamics: drift or diffusion at h^1 is wrong, or appears at another power.

Every hypothesis is a statement about the coefficients, and is tested exactly: a term that stands at h^0 forgot the step
size; a diffusion whose ratio to the due one is 1/T lacks the temperature; a ratio of 2 says that the noise is too large by
sqrt(2). A ratio that belongs to several terms alike is one mistake: that of a substep, of the whole step, or of the friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sgverify.advice.diagnosis.model import Cause, CauseName
from sgverify.advice.diagnosis.wrong_terms.moments import Quotient, StepMoments, at_one, printed
from sgverify.advice.diagnosis.wrong_terms.noise import (
    ComparedTerms,
    between_variables,
    diffusions,
    drift_groups,
    has_metric,
    kinds_of,
    of_correction,
    of_diffusion,
    on_branch,
    quotient,
    temperature_cause,
    temperature_text,
)
from sgverify.exact.rings.polynomials import parts_in

OF_KIND: dict[str, CauseName] = {
    "force": "drift-scaled",
    "correction": "metric-wrong",
    "friction": "friction-wrong",
    "motion": "substep-wrong",
    "feedback": "thermostat-wrong",
    "constant": "drift-scaled",
}
"""The cause by the kind of the term that is wrong, where nothing more is known of it."""

WORDS = {
    "force": "the force on {v}",
    "correction": "the metric's divergence in the drift of {v}",
    "friction": "the friction of {v}",
    "motion": "the motion of {v}",
    "feedback": "the drift of {v}",
    "constant": "the constant drift of {v}",
}


def wrong_generator(moments: StepMoments) -> Cause | None:
    """The cause of a generator that is not that of the dynamics on this branch; None where it is right, or nothing matches."""
    early = _too_early(moments)
    if early is not None:
        return early
    groups = [group for group in drift_groups(moments) if group.wrong]
    noises = [noise for noise in diffusions(moments) if noise.wrong]
    cross = between_variables(moments)
    together = _in_common(moments, groups, noises)
    if together is not None:
        return together
    for group in groups:
        found = _of_drift(group)
        if found is not None:
            alone = not noises and len(groups) == 1 and group.kind == "force"
            return Cause(found.name, found.sentence + temperature_text(group) * alone)
    # A noise that a variable lacks comes before one that another has too much: it was moved there.
    for noise in sorted(noises, key=lambda item: not any(item.expected.values())):
        found = of_diffusion(noise)
        if found is not None:
            return Cause(found.name, found.sentence + temperature_text(noise))
    return cross


def _too_early(moments: StepMoments) -> Cause | None:
    """A mean or a covariance below h^1: a term without its step size."""
    ring = moments.ring
    for j in (0, 1):
        power = Fraction(j, 2)
        for k in moments.coordinates():
            variable, _ = ring.coordinates[k]
            value = moments.mean(k, j)
            if value:
                kind = next(iter(kinds_of(value, k, ring)))
                text = printed(value, ring)
                return Cause(
                    OF_KIND[kind],
                    f"{WORDS[kind].format(v=variable)} is applied without the step size: {variable} moves by {text} in every "
                    f"step, however small h is (h^{power} where h^1 is due){on_branch(moments)}",
                )
        for k in moments.coordinates():
            variable, _ = ring.coordinates[k]
            value = moments.covariance(k, k, j)
            if value:
                due = moments.expected_covariance(k, k, 2)
                wanted = f"{printed(due, ring)} h is due" if due else "none is due"
                return Cause(
                    "diffusion-power-of-h",
                    f"the noise of {variable} has the variance {printed(value, ring)}"
                    f"{' h^' + str(power) if j else ', whatever h is'}, where {wanted}{on_branch(moments)}",
                )
    return None


def _in_common(
    moments: StepMoments, groups: Sequence[ComparedTerms], noises: Sequence[ComparedTerms]
) -> Cause | None:
    """One mistake that scales several terms alike."""
    wrong: list[ComparedTerms] = [*groups, *noises]
    ratios = {id(item): item.ratio for item in wrong}
    numbers = [ratio.number if ratio else None for ratio in ratios.values()]
    terms: list[ComparedTerms] = [*drift_groups(moments), *diffusions(moments)]
    everything = [item for item in terms if any(value for value in item.expected.values())]
    first = numbers[0] if numbers else None
    if (
        len(everything) > 1
        and first is not None
        and len(numbers) == len(everything)
        and set(numbers) == {first}
    ):
        return Cause(
            "substep-wrong",
            f"a step moves everything for {first} h, where h is due: drift and diffusion are both scaled by {first}"
            f"{on_branch(moments)}",
        )
    for noise in noises:
        mine = [group for group in groups if group.variable == noise.variable]
        if len(mine) != 1:
            continue
        group, spread = mine[0], ratios[id(noise)]
        drift = ratios[id(group)]
        if drift is None or spread is None:
            continue
        if group.kind == "friction" and drift == spread:
            return Cause(
                "friction-wrong",
                f"friction and noise of {group.variable} are those of {_times(drift, 'D')}, where "
                f"{moments.scheme.dynamics.name} has D{on_branch(moments)}",
            )
    return None


def _of_drift(group: ComparedTerms) -> Cause | None:
    if group.kind == "force":
        parts = _of_parts(group)
        if parts is not None:
            return parts
    ratio, k = group.ratio, group.place
    own, due = printed(group.found[k], group.ring), printed(group.expected[k], group.ring)
    what, dynamics = WORDS[group.kind].format(v=group.variable), group.moments.scheme.dynamics.name
    on = on_branch(group.moments)
    stands = f"{what} is {own} where {dynamics} has {due}"
    if not group.expected[k]:
        if group.variable == "theta" and group.kind == "friction":
            return Cause(
                "prior-scaled",
                f"theta is drawn by the extra drift {own}, which is no part of {dynamics}: as a weight decay counts the prior "
                f"once more{on}",
            )
        return Cause(OF_KIND[group.kind], f"{what} is {own}, and {dynamics} has none{on}")
    if (
        group.variable == "theta"
        and group.kind == "friction"
        and ratio is not None
        and ratio.number is not None
    ):
        return of_correction(ratio.number, due, on)
    if ratio is not None:
        return _of_ratio(group, ratio, stands)
    if "T" in group.ring.parameters and group.found[k] == at_one(group.expected[k], "T", group.ring):
        return Cause("temperature-missing", f"{stands}: T is missing, which is nothing at T = 1{on}")
    if has_metric(group.expected[k], group.ring):
        return Cause("metric-wrong", f"{stands}{on}")
    if group.kind == "feedback":
        dim = group.ring.dim
        # In one dimension, where texts are short, it was right.
        several: CauseName = (
            "thermostat-dimension" if dim > 1 and not group.moments.measured else "thermostat-wrong"
        )
        return Cause(several, f"{stands}{f' in dimension {dim}, and right in one' if dim > 1 else ''}{on}")
    if group.kind == "force":
        flipped = _sign_only(group)
        return Cause(flipped, f"{stands}{on}")
    return Cause(OF_KIND[group.kind], f"{stands}{on}")


def _of_ratio(group: ComparedTerms, ratio: Quotient, stands: str) -> Cause:
    number, on = ratio.number, on_branch(group.moments)
    name = OF_KIND[group.kind]
    if ratio.depends_on("T"):
        return Cause(
            temperature_cause(group.found[group.place], group.ring),
            f"{stands}: the factor {ratio.text} is 1 at T = 1 alone{on}"
            if ratio.at_one("T").is_one
            else f"{stands}: a factor of {ratio.text}{on}",
        )
    if number == 0:
        return _missing(group)
    if number is None:
        return Cause(name, f"{stands}: a factor of {ratio.text}{on}")
    if number < 0:
        signs: CauseName = name if group.kind in ("friction", "feedback", "correction") else "drift-sign"
        return Cause(signs, f"{stands}: the sign is wrong{_also(-number)}{on}")
    if group.kind in ("feedback", "motion") or (group.kind == "force" and group.variable != "theta"):
        what = WORDS[group.kind].format(v=group.variable)
        return Cause("substep-wrong", f"{stands}: {what} acts for {number} h in all, where h is due{on}")
    return Cause(name, f"{stands}: a factor of {ratio.text}{on}")


def _missing(group: ComparedTerms) -> Cause:
    """A group that the generator lacks; it may stand at h^2, multiplied by h once more."""
    what, on = WORDS[group.kind].format(v=group.variable), on_branch(group.moments)
    due, k = group.expected[group.place], group.place
    has = f"{group.moments.scheme.dynamics.name} has {printed(due, group.ring)}"
    wanted = set(due.monoms())
    # What was measured is known to h.
    mean = group.ring.zero if group.moments.measured else group.moments.mean(k, 4)
    later = group.ring.context.from_dict({m: c for m, c in mean.to_dict().items() if m in wanted})
    ratio = quotient(later, due, group.ring) if later else None
    if ratio is not None:
        return Cause(OF_KIND[group.kind], f"{what} is multiplied by h^2 and not by h: {has} at h^1{on}")
    return Cause(OF_KIND[group.kind], f"{what} is missing: {has}{on}")


def _also(number: Fraction) -> str:
    return "" if number == 1 else f", and the factor {number} too much"


def _of_parts(group: ComparedTerms) -> Cause | None:
    """Prior and likelihood entering with different factors: U is their sum."""
    ring, k = group.ring, group.place
    jets = [j for j, key in ring.jets.items() if key[0] == "prior" and group.found[k].degrees()[j]]
    if len(jets) != 1:
        return None
    index = ring.jets[jets[0]][2]
    whole = ring.position("U", 0, index)
    parts = parts_in(group.found[k], [jets[0], whole])
    due = parts_in(group.expected[k], [whole]).get((1,), ring.zero)
    data = Quotient.of(parts.get((0, 1), ring.zero), due, ring).number if due else None
    extra = Quotient.of(parts.get((1, 0), ring.zero), due, ring).number if due else None
    if data is None or extra is None:
        return None
    prior, on = data + extra, on_branch(group.moments)
    if data == 1:
        return Cause(
            "prior-scaled",
            f"the gradient of the prior enters {prior} times, where once is due, that of the likelihood once{on}",
        )
    if prior == 1:
        return Cause(
            "data-scaling",
            f"the gradient of the likelihood enters {data} times, where once is due, that of the prior once{on}",
        )
    return Cause(
        "drift-scaled",
        f"the gradient of the prior enters {prior} times and that of the likelihood {data} times{on}",
    )


def _sign_only(group: ComparedTerms) -> CauseName:
    """Whether found and due agree in size on each coordinate, up to signs."""
    same = all(group.found[k] in (group.expected[k], -group.expected[k]) for k in group.expected)
    return "drift-sign" if same else "drift-scaled"


def _times(ratio: Quotient, name: str) -> str:
    text = ratio.text
    return f"{text} {name}" if ratio.number is not None else f"{name} times {text}"
