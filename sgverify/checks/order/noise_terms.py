"""Which terms does gradient noise add to the averaged step, and how large are they on the configured data?

The terms appear in the certificate of a local order, each by its name and its value.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sgverify.checks.question import whole
from sgverify.checks.subject.subject import Subject
from sgverify.errors import NotExpandableError
from sgverify.exact.minibatch.law import Moments, estimator_moments, polynomial_text
from sgverify.exact.series.noise_terms import NoiseTerm, noise_terms
from sgverify.exact.series.orders import LocalOrder


def noise_certificate(subject: Subject) -> dict[str, Any]:
    """The certificate's part about gradient noise: its terms in a proved local order, or the fact that there is no noise."""
    order, noise = subject.order, subject.noise
    said = {}
    cancelled = subject.configuration.gradient.estimator.cancelled
    if cancelled and subject.target.common_curvature and noise.minibatch is None:
        said["gradient_noise"] = (
            f"none: every datum has the same Hessian, so the minibatch cancels from {cancelled} are full gradients here"
        )
    if isinstance(order, NotExpandableError):
        return said
    return {
        **said,
        "local_order_given_minibatch": whole(order.order),
        "local_order_averaged": whole(order.averaged_order),
    }


NAMES = {
    "g": "the minibatch's gradient less the full one, its derivatives g', g'', ...",
    "V": "E g^2",
}
LONGEST = 60
"""The most characters of an exact number; a longer number is shown as a float."""


def averaged_noise(subject: Subject, order: LocalOrder) -> dict[str, Any]:
    """The certificate's part about the average over minibatches, in one dimension.

    `leading`: the terms of the lowest power of h that contain moments of the noise. `first`: the powers of h at which E g^3
    and E g^4 first enter. `here`: V, E g^3 and E g^4 of the configured gradients, the leading terms with these values, and the
    resulting averaged order.
    """
    table = subject.configuration.gradient
    shared = noise_terms(subject.scheme)
    own = shared
    if subject.noise.each_evaluation:
        own = noise_terms(subject.scheme, each_evaluation=True)
    found: dict[str, Any] = {"names": NAMES, "leading": [term.text for term in _leading(shared)]}
    first = {}
    for k in (3, 4):
        entering = [term for term in shared if term.orders == (k,)]
        if entering:
            first[f"E g^{k}"] = entering[0].text
    found["first"] = first
    moments = estimator_moments(table, subject.effective_target)
    if isinstance(moments, str):
        found["here"] = {"kind": table.kind, "reason": f"no numbers: {moments}"}
        covariance = subject.noise.covariance
        if covariance is not None and not subject.noise.multiplicative:
            found["here"]["V"] = [[float(v) for v in row] for row in covariance.tolist()]
        return found
    here: dict[str, Any] = {"kind": table.kind, **{_name(k): _shown(value) for k, value in moments.items()}}
    if table.estimator.exchangeable:
        here["note"] = "of one minibatch; those of an epoch depend on one another, which no local order sees"
    here["leading"] = [
        term.with_moment(f"({_brief(value)})")
        for term in _leading(own)
        if (value := _value(term, moments)) is not None
    ]
    if all(value == [0] for value in moments.values()):
        here["averaged"] = whole(order.order)
        here["leading"] = []
    elif own and _value(_leading(own)[0], moments) not in (None, [0]):
        here["averaged"] = whole(min(order.order, _leading(own)[0].power - 1))
    found["here"] = here
    return found


def averaged_noise_or_why(subject: Subject, order: LocalOrder) -> dict[str, Any]:
    """`averaged_noise`, or the reason why the step cannot be read in one dimension."""
    try:
        return averaged_noise(subject, order)
    except NotExpandableError as error:
        return {"reason": f"the step has no power series in one dimension: it uses {error}"}


def _leading(terms: list[NoiseTerm]) -> list[NoiseTerm]:
    lowest = min((term.power for term in terms), default=None)
    return [term for term in terms if term.power == lowest]


def _value(term: NoiseTerm, moments: Moments) -> list[Fraction] | None:
    """The moments in a term as a polynomial in theta; None if derivatives of g enter."""
    if term.orders is None or any(k not in moments for k in term.orders):
        return None
    total = [Fraction(1)]
    for k in term.orders:
        total = _times(total, moments[k])
    return total


def _times(left: list[Fraction], right: list[Fraction]) -> list[Fraction]:
    total = [Fraction(0)] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            total[i + j] += a * b
    return total


def _name(k: int) -> str:
    return "V" if k == 2 else f"E g^{k}"


def _shown(value: list[Fraction]) -> dict[str, Any]:
    return {"exact": polynomial_text(value), "coefficients": [float(c) for c in value]}


def _brief(value: list[Fraction]) -> str:
    text = polynomial_text(value)
    if len(text) <= LONGEST:
        return text
    return " + ".join(f"{float(c):.12g}{'' if k == 0 else f' theta^{k}'}" for k, c in enumerate(value))
