"""Does a scheme do what the theory promises (`verify`), and at which rate does its error fall (`rate`)?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np

from sgverify.checks.applicable_claims import Progress, answer, judge, judge_pair, not_validated
from sgverify.checks.progress import listening, raised_on
from sgverify.checks.question import STATED, Question, why_not_asked
from sgverify.checks.readings import escape_of
from sgverify.checks.registry import CHECKS, find_check
from sgverify.claims import Claim, claim_for, claims_for, find_claim
from sgverify.configuration import Configuration, load_configuration
from sgverify.configuration.overrides import Overrides
from sgverify.errors import ConfigurationError, UnknownNameError, UserError
from sgverify.evidence import Evidence, Point
from sgverify.evidence.published import Command
from sgverify.named_code import named_in, refuse_unasked
from sgverify.rates.fit import regress_exact
from sgverify.schemes import Scheme, TorchStep
from sgverify.schemes.composites import Composite
from sgverify.schemes.loading import scheme_reference
from sgverify.subject.binding import bind, make_subject, tell_unsampled
from sgverify.subject.subject import Subject
from sgverify.user_code import own_code

Quantity = Literal["stationary-bias", "covariance", "wasserstein-2", "bias", "mse", "local-order"]
QUANTITIES = ("stationary-bias", "covariance", "wasserstein-2", "bias", "mse", "local-order")
OF_THE_LAW = ("stationary-bias", "covariance", "wasserstein-2")
METHODS = ("exact", "monte-carlo")

QUASI_STATIONARY = "sgverify/quasi-stationary"
"""What a stationary bias is held against where chains escape, and theorem 4 does not speak of them."""

Source = Configuration | Mapping[str, Any] | str | Path | None


def verify(
    scheme: Scheme | TorchStep | Composite | str,
    config: Source = None,
    *,
    checks: Sequence[str] = (),
    progress: Progress | None = None,
    **overrides: Unpack[Overrides],
) -> list[Evidence]:
    """Judge a scheme: one piece of evidence for each applicable pair of check and claim.

    `scheme` is a scheme, torch code under `torch_step`, a composite, or a reference (`"sghmc-aboba"`, `"mine.py:heun"`,
    `"resgld"`). Of a composite its scheme is judged as well, under the scheme's own name. `config` is
    a file, mapping or `Configuration`; `overrides` are configuration keys (`friction=3.0`, `gradient={"kind": "iid"}`).
    Raises `UserError` where scheme, configuration or names are wrong.
    """
    return judge(bind(scheme, load_configuration(config, **overrides), "verify"), checks, progress)


@own_code()
def rate(
    scheme: Scheme | TorchStep | str,
    *,
    quantity: Quantity,
    config: Source = None,
    method: str | None = None,
    progress: Progress | None = None,
    **overrides: Unpack[Overrides],
) -> Evidence:
    """One rate against the printed claim: theorem-4 (stationary bias, covariance, Wasserstein-2), theorem-2
    (bias), theorem-3 (mse), theorem-5 for both on a power schedule, lemma-8 or lemma-12 (local order), else the
    scheme's own order. `method` is "exact" or "monte-carlo"; by default the exact method if one exists. If the printed
    claim fails by an error of its own, the corrected claim judges, and the reason says so. The
    certificate's "regression" is the exponent fitted to the points, beside the exponent of the expansion or of the test.
    """
    if quantity not in QUANTITIES:
        raise UnknownNameError("quantity", str(quantity), QUANTITIES)
    if method is not None and method not in METHODS:
        raise UnknownNameError("method", str(method), METHODS)
    subject = bind(scheme, load_configuration(config, **overrides), quantity, method)
    unmet = not_validated(subject)
    if unmet is not None:
        return unmet
    if subject.composite:
        raise ConfigurationError(
            f"quantity={quantity!r} with scheme={subject.reference!r}: a composite has no rate of its own; expected its scheme, "
            f"{scheme_reference(subject.composite)}"
        )
    why = why_not_asked(subject, CHECKS[quantity])
    if why:
        raise ConfigurationError(f"quantity={quantity!r}: {why}")
    sampled = [name for name in QUANTITIES if CHECKS[name].sampled]
    if method == "monte-carlo" and quantity not in sampled:
        raise ConfigurationError(
            f"method='monte-carlo': expected a quantity that is sampled, {', '.join(sampled)}, not quantity={quantity!r}; "
            "leave --method out"
        )
    _refuse_partial_averages(subject, quantity)
    # Bias and MSE tend to 0 with L only on a schedule that decreases with L. A step size that the user gave is kept.
    horizon = CHECKS[quantity].along_schedule and subject.configuration.schedule.step is None
    question = Question(
        subject,
        claim_of_rate(subject, quantity),
        quantity,
        kind="horizon" if horizon else "fixed",
        samples=True,
    )
    never = question.why_never_asked
    if never:
        # As in `verify`: a law that changes along the run has no rate.
        return question.unanswered(never, "not-applicable")
    with listening(progress and (lambda share: progress(question.claim.id, share, 1))):
        evidence = with_regression(answer(question))
    tell_unsampled(subject, evidence.method)
    asked = ("--quantity", quantity, *(("--method", method) if method else ()))
    return replace(evidence, replay=subject.command("rate", *asked, under=question.configuration))


def with_regression(evidence: Evidence) -> Evidence:
    """The evidence with the regression on its points in the certificate; sampled evidence already holds its own fit."""
    name = "length" if CHECKS[evidence.check].along_schedule else "step"
    points = sorted(
        (p for p in evidence.points if p.kind == "exact" and getattr(p, name) is not None and not p.diverged),
        key=lambda point: float(getattr(point, name)),
    )
    if "regression" in evidence.certificate or evidence.predicted.exponent is None or not points:
        return evidence
    places = np.array([float(getattr(point, name)) for point in points])
    line = regress_exact(places, *_values(points))
    certificate = line.certificate(places.tolist(), "L" if name == "length" else "h")
    return replace(evidence, certificate={**evidence.certificate, "regression": certificate})


def _values(points: list[Point]) -> tuple[np.ndarray, np.ndarray]:
    """The values of the points and the error bound of each; the bound of a point without a value is infinite."""
    values = np.array([0.0 if point.value is None else point.value for point in points])
    bounds = np.array([np.inf if p.value is None or p.error_bound is None else p.error_bound for p in points])
    return values, bounds


def _refuse_partial_averages(subject: Subject, quantity: str) -> None:
    """Raise `ConfigurationError` for burn-in or thinning: rates in L refer to the average over every l = 1..L."""
    c = subject.configuration
    if CHECKS[quantity].along_schedule and (c.burn_in or c.thinning > 1):
        raise ConfigurationError(
            f"burn_in={c.burn_in}, thinning={c.thinning}: expected 0 and 1 for quantity={quantity!r}, whose claims speak of the "
            "average over every l = 1..L; leave both out"
        )


def claim_of_rate(subject: Subject, quantity: str) -> Claim:
    """The printed claim that `rate` compares a quantity with; for a local order without one, the scheme's stated order."""
    if quantity == "stationary-bias" and escape_of(subject) is not None:
        return find_claim(QUASI_STATIONARY)
    if quantity in OF_THE_LAW:
        return claim_for(quantity, "fixed")
    if CHECKS[quantity].along_schedule:
        return claim_for(quantity, "power" if subject.configuration.schedule.kind == "power" else "horizon")
    for claim in claims_for(quantity):
        question = Question(subject, claim, quantity)
        try:
            applies = question.claim.applies(question.facts)[0]
        except UserError:
            raise
        except Exception:
            # The check meets the same exception and reports it as its evidence.
            if raised_on():
                raise
            applies = False
        if applies:
            return question.claim
    return find_claim(STATED)


@own_code()
def replay(evidence: Evidence, reference: str | None = None) -> Evidence:
    """Compute the evidence anew from its scheme, claim, check and configuration.

    Raises `UserError` where the evidence names code that was not asked for (`sgverify.named_code`).
    """
    named = {"scheme": reference or evidence.scheme, **named_in(evidence.configuration)}
    refuse_unasked(f"evidence {evidence.id!r}", named)
    asked = Command.read(evidence.replay)
    subject = make_subject(
        reference or evidence.scheme, _stored(evidence.configuration), asked.option("--method")
    )
    quantity = find_check(evidence.check).name
    claim = find_claim(evidence.claim)
    unmet = not_validated(subject)
    if unmet is not None:
        again = unmet
    elif asked.verb == "rate":
        asked_again = Question(subject, claim_of_rate(subject, quantity), quantity, samples=True)
        again = with_regression(answer(asked_again))
    else:
        again = judge_pair(subject, claim, quantity, corrected=False)[0]
    return replace(again, replay=evidence.replay, id=evidence.id)


def _stored(configuration: Mapping[str, Any]) -> Configuration:
    """The configuration that evidence was made under; stored evidence writes out its defaults too.

    The default test function is dropped again: on vectors it is refused if written out, so that a stored default there
    cannot have been set by the user.
    """
    default = Configuration.model_fields["test_function"].default
    return load_configuration(
        {key: value for key, value in configuration.items() if (key, value) != ("test_function", default)}
    )


def differing(stored: Evidence, again: Evidence) -> list[str]:
    """The names of the fields, other than `seconds`, in which evidence and its replay differ.

    Sampled points beside an exact answer only illustrate a report: the verdict does not use them, and they are not compared.
    """
    if stored.method != "monte-carlo":
        stored = replace(stored, points=tuple(point for point in stored.points if point.kind != "sampled"))
    names = [field.name for field in fields(stored) if field.name != "seconds"]
    return [name for name in names if getattr(stored, name) != getattr(again, name)]
