"""The certificate of a scheme that is asked for: its class, its step size, and the searches around it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from sgverify.advice.certified.model import CertifiedBound
from sgverify.advice.certified.published import published_bounds
from sgverify.advice.size.model import percent
from sgverify.configuration import Configuration, load_configuration
from sgverify.configuration.overrides import SamplingOverrides
from sgverify.errors import ConfigurationError, Unreached, UserError
from sgverify.exact.affine.stability import eigenvalues_of
from sgverify.exact.certificates.contraction import CurvatureBounds, certified_contraction
from sgverify.exact.certificates.distance import distance_bound
from sgverify.exact.certificates.largest_step import fastest, fastest_friction, largest_step
from sgverify.schemes import Scheme, exact
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from sgverify.targets import Target

ROUGH = 5e-3
"""The accuracy of the largest step in the answer about a scheme."""

OUTWARD = 1e-9
"""The share by which the bounds of a target, computed in floats, are moved outward."""


def bound(
    scheme: Scheme | str,
    config: Configuration | Mapping[str, Any] | str | Path | None = None,
    *,
    m: float | None = None,
    L: float | None = None,
    variance: float = 0.0,
    hessian_lipschitz: float | None = None,
    dim: int = 1,
    **overrides: Unpack[SamplingOverrides],
) -> CertifiedBound:
    """The certificate of `scheme` for every U with m <= U'' <= L, at the configured step, temperature and friction.

    `m` and `L` are those of the configured target where they are left out; `variance` is V, that of a coordinate of the
    minibatches' gradient noise. With `hessian_lipschitz`, a Lipschitz constant of U'', the distance is of the next order, in
    dimension `dim`. `config` and `overrides` as in `sgverify.sample`; without a configured step, half the largest one
    with a certificate is taken. Raises `UserError` for m <= 0, m > L, a target without bounds of its Hessian, and torch code.

        print(sgverify.bound("sghmc-baoab", m=1, L=10, friction=4.0, schedule={"step": 0.1}))
    """
    given = given_class(m, L)
    for name, value in {"--noise": variance, "--hessian-lipschitz": hessian_lipschitz}.items():
        if value is not None and not math.isfinite(value):
            raise ConfigurationError(f"{name} {value}: expected a finite number")
    if variance < 0:
        raise ConfigurationError(f"--noise {variance:g}: expected the variance of a coordinate, 0 or more")
    if (hessian_lipschitz or 0) < 0 or dim < 1:
        raise ConfigurationError(
            f"--hessian-lipschitz {hessian_lipschitz}, --dim {dim}: expected 0 or more, and a dimension of 1 or more"
        )
    subject = make_subject(scheme, load_configuration(config, **overrides))
    bounds = of_target(subject.target) if given is None else given
    law, read = _with_definition(subject)
    known = None if hessian_lipschitz is None else exact(hessian_lipschitz)
    asked = CertifiedBound(
        scheme=subject.reference,
        m=float(bounds.m),
        L=float(bounds.L),
        origin=subject.target.name if given is None else None,
        step=float(read.step),
        temperature=float(read.model_parameters["T"]),
        friction=float(read.model_parameters["D"]) if "D" in read.scheme.parameters else None,
        variance=variance,
        dimension=None if known is None else dim,
        law=law,
    )
    return _answered(asked, read, bounds, known)


def given_class(m: float | None, L: float | None) -> CurvatureBounds | None:
    """The class of potentials with m <= U'' <= L; None where neither is given. Raises `UserError` for one alone and for m > L."""
    if m is None and L is None:
        return None
    if m is None or L is None:
        raise ConfigurationError(
            f"--{'L' if m is None else 'm'} is given alone; expected --m and --L, or neither, and a target whose bounds are known"
        )
    for name, value in {"--m": m, "--L": L}.items():
        if not math.isfinite(value):
            raise ConfigurationError(f"{name} {value}: expected a finite number")
    return CurvatureBounds(exact(m), exact(L))


def _with_definition(subject: Subject) -> tuple[str | None, Subject]:
    """The subject itself, or for torch code the published scheme whose law one step has, at the numbers that were recovered.

    Raises `UserError` where no scheme has its law, and for a composite.
    """
    if subject.composite is not None:
        raise UserError(
            f"scheme={subject.reference!r}: is a composite; expected a scheme, whose step a certificate is about"
        )
    if not subject.black_box:
        return None, subject
    from sgverify.advice.identification.identifying import identify

    found = identify(subject.scheme, subject.configuration)
    if found.scheme is None or found.relation != "equal":
        raise UserError(
            f"scheme={subject.reference!r}: is torch code, and {found.reason}; expected the law of one step of a published scheme, "
            "or a definition, whose gradients are symbols to a certificate"
        )
    keys = {"h": "schedule.step", "D": "friction", "T": "temperature"}
    numbers = {number.name: number.value for number in found.numbers if number.name in keys}
    settings: dict[str, Any] = {keys[name]: value for name, value in numbers.items()}
    known = ", ".join(f"{name} = {numbers[name]:g}" for name in keys if name in numbers)
    read = make_subject(found.scheme, load_configuration(subject.configuration, **settings))
    return f"{found.scheme} with {known}, whose law one step has", read


def contraction_told(subject: Subject) -> str | None:
    """The certificate at the configured step in half a line, with its class: that of the target's Hessian.

    None where the target has one curvature or none are known, for torch code and composites, and without a certificate or a solver.
    """
    if subject.black_box or subject.composite is not None:
        return None
    try:
        bounds = of_target(subject.target)
        if bounds.m * (1 + 4 * exact(OUTWARD)) > bounds.L:
            return None
        at, last = largest_step(
            subject.scheme, subject.model_parameters, bounds, start=exact(subject.step), fine=ROUGH
        )
    except (Unreached, UserError):
        return None
    larger = f", and at every larger step up to h = {float(last.step):.3g}" * (last.step > at.step)
    return f"by {percent(float(1 - at.rate))} a step{larger}, full gradients, {bounds} [proof]"


def _answered(
    asked: CertifiedBound, subject: Subject, bounds: CurvatureBounds, hessian_lipschitz: Fraction | None
) -> CertifiedBound:
    """The answer about the scheme of `subject`, which has a definition."""
    scheme, given = subject.scheme, subject.model_parameters
    try:
        ends = [float(end.step) for end in largest_step(scheme, given, bounds)]
    except Unreached as error:
        asked = replace(asked, refused=str(error))
    else:
        best = fastest(lambda h: certified_contraction(scheme, h, given, bounds), *ends)
        if best is not None and ends[0] < ends[1]:
            asked = replace(asked, smallest_step=ends[0], largest_step=ends[1])
            asked = replace(asked, fastest_step=float(best[0]), fastest_decay=float(1 - best[1].rate))
        if "step" not in subject.configuration.schedule.model_fields_set:
            asked = replace(asked, step=max(ends[0], ends[1] / 2))
    step = exact(asked.step)
    if asked.friction and (best := fastest_friction(scheme, step, given, bounds)) is not None:
        asked = replace(asked, best_friction=float(best[0]), best_decay=float(1 - best[1].rate))
    try:
        contraction = certified_contraction(scheme, step, given, bounds)
    except Unreached as error:
        return replace(asked, refused=str(error))
    asked = replace(
        asked,
        refused=None,
        decay=float(1 - contraction.rate),
        slowest=1 - contraction.slow.rate,
        curvatures=contraction.slow.curvatures,
        published=published_bounds(
            subject.reference, asked.m, asked.L, asked.step, asked.temperature, asked.friction
        ),
    )
    measured = partial(distance_bound, variance=exact(asked.variance), hessian_lipschitz=hessian_lipschitz)
    try:
        away = measured(scheme, given, contraction, asked.dimension or 1)
    except Unreached as error:
        return replace(asked, no_distance=str(error))
    return replace(asked, distance=away.distance, start_factor=away.start_factor)


def of_target(target: Target) -> CurvatureBounds:
    """The bounds of a target's Hessian: the precision's eigenvalues of a Gaussian one, else those that its kind states.

    Raises `UserError` where none are known.
    """
    if target.quadratic:
        eigenvalues = eigenvalues_of(target.precision)
        least, largest = min(eigenvalues), max(eigenvalues)
    elif target.hessian_bounds is not None:
        least, largest = target.hessian_bounds
    else:
        raise UserError(
            f"target {target.name!r}: no bounds of its Hessian are known; expected --m and --L, the smallest and the largest "
            "curvature of U"
        )
    if not math.isfinite(largest):
        raise UserError(
            f"target {target.name!r}: its curvature grows without end; a certificate needs a largest curvature L. Give --m and --L "
            "for a smaller class"
        )
    return CurvatureBounds(exact(least) * (1 - exact(OUTWARD)), exact(largest) * (1 + exact(OUTWARD)))
