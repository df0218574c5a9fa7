"""Does a scheme do what the theory promises (`verify`), and at which rate does its error fall (`rate`)?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal, Unpack

from sgverify.checks.applicable_claims import Progress, answer, judge, judge_pair, not_validated
from sgverify.checks.progress import listening, raised_on
from sgverify.checks.question import STATED, Question
from sgverify.checks.rates.exponent import with_regression
from sgverify.checks.rates.orbits import escape_of
from sgverify.checks.registry import CHECKS, find_check
from sgverify.checks.subject.composite import CompositeSubject
from sgverify.checks.subject.subject import Subject
from sgverify.checks.subject.torch import TorchSubject
from sgverify.checks.unused_settings import refuse_unused, tell_unsampled
from sgverify.claims import Claim, claim_for, claims_for, find_claim
from sgverify.configuration import Configuration, load_configuration, tree_of
from sgverify.configuration.loading import adapter_settings
from sgverify.configuration.model import ExchangeTable
from sgverify.configuration.overrides import Overrides
from sgverify.errors import ConfigurationError, UnknownNameError, UserError
from sgverify.evidence import Evidence
from sgverify.evidence.provenance import Command
from sgverify.named_code import named_in, refuse_unasked
from sgverify.schemes import Scheme, TorchStep
from sgverify.schemes.adapting import adapted
from sgverify.schemes.composites import COMPOSITES, AdaptivelyWeighted, Composite, ReplicaExchange
from sgverify.schemes.loading import load_step, refuse_adapter, scheme_reference
from sgverify.schemes.torch_step import OwnLoss
from sgverify.targets.catalogue.expanded_simplex import EXPANDED_MEAN
from sgverify.targets.own.log_density import is_plain
from sgverify.targets.registry import build_target
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
    subject = make_subject(scheme, load_configuration(config, **overrides))
    refuse_stray_tables(subject)
    refuse_unused(subject, "verify")
    return judge(subject, checks, progress)


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
    claim fails for every scheme that meets its hypotheses, the corrected claim judges, and the reason says so. The
    certificate's "regression" is the exponent fitted to the points, beside the exponent of the expansion or of the test.
    """
    if quantity not in QUANTITIES:
        raise UnknownNameError("quantity", str(quantity), QUANTITIES)
    if method is not None and method not in METHODS:
        raise UnknownNameError("method", str(method), METHODS)
    subject = make_subject(scheme, load_configuration(config, **overrides), method)
    refuse_stray_tables(subject)
    refuse_unused(subject, quantity)
    unmet = not_validated(subject)
    if unmet is not None:
        return unmet
    if subject.composite:
        raise ConfigurationError(
            f"quantity={quantity!r} with scheme={subject.reference!r}: a composite has no rate of its own; expected its scheme, "
            f"{scheme_reference(subject.composite)}"
        )
    why = subject.why_not_asked(CHECKS[quantity])
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
        subject, claim_of_rate(subject, quantity), quantity, kind="horizon" if horizon else "fixed"
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
        again = with_regression(answer(Question(subject, claim_of_rate(subject, quantity), quantity)))
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


def make_subject(
    scheme: Scheme | TorchStep | Composite | str | Any,
    configuration: Configuration,
    method: str | None = None,
) -> Subject:
    """The subject of a scheme, of an object that an adapter makes one of, or of a reference to either.

    `method` is "exact" or "monte-carlo"; None takes an exact method if one exists.
    """
    settings = adapter_settings(configuration)
    if isinstance(scheme, str):
        return _subject(load_step(scheme, settings), configuration, scheme, method)
    if isinstance(scheme, (Scheme, TorchStep, Composite)):
        refuse_adapter(scheme.reference or scheme.name, settings)
    else:
        scheme = adapted(scheme, settings)
    return _subject(scheme, configuration, scheme.reference or scheme.name, method)


def refuse_stray_tables(subject: Subject) -> None:
    """Raise `ConfigurationError` for a table, or starts of replicas, of another kind of composite than the subject.

    Only a user's call is refused. Stored evidence about a composite's scheme holds the whole configuration of the
    composite, and its replay does not come here.
    """
    kind = subject.composite.kind if subject.composite else None
    for table, (whose, lacks) in _TABLES.items():
        if getattr(subject.configuration, table) is None or kind == whose:
            continue
        able = ", ".join(name for name, composite in COMPOSITES.items() if composite.kind == whose)
        raise ConfigurationError(
            f"{table} with scheme={subject.reference!r}: {subject.reference} has no {lacks}; expected a composite that has "
            f"({able}, or one of your own by `from sgverify import {_MADE[whose]}`); use one, or leave {table} out"
        )
    _refuse_starts(subject, kind == ReplicaExchange.kind)


def _refuse_starts(subject: Subject, replicated: bool) -> None:
    c = subject.configuration
    if not isinstance(c.start, list):
        return
    ladder = (c.exchange or ExchangeTable()).ladder
    if not replicated:
        expected = f"one number, for {subject.reference} has no replicas"
    elif len(c.start) != len(ladder):
        expected = (
            f"{len(ladder)} numbers, one for each of exchange.ladder={ladder}, or one number for all of them"
        )
    else:
        return
    raise ConfigurationError(
        f"start={c.start} with scheme={subject.reference!r}: expected {expected}; mend start"
    )


_TABLES = {
    "exchange": (ReplicaExchange.kind, "replicas"),
    "partition": (AdaptivelyWeighted.kind, "regions with weights"),
}
"""The tables of composites: the kind that reads each, and what others lack."""

_MADE = {kind.kind: kind.__name__ for kind in (ReplicaExchange, AdaptivelyWeighted)}


def _subject(
    scheme: Scheme | TorchStep | Composite, configuration: Configuration, reference: str, method: str | None
) -> Subject:
    if isinstance(scheme, Composite):
        return CompositeSubject(scheme.scheme, configuration, reference, method=method, composite=scheme)
    if isinstance(scheme, TorchStep):
        configuration = _of_own_loss(scheme.own_loss, configuration, reference)
        return TorchSubject(scheme, configuration, reference, method=method)
    return Subject(scheme, _at_home(scheme, configuration), reference, method=method)


def _at_home(scheme: Scheme, configuration: Configuration) -> Configuration:
    """The configuration with a target on theta > 0 where the scheme lives there and no target is named."""
    if not scheme.dynamics.positive or "target" in configuration.model_fields_set:
        return configuration
    return load_configuration({**tree_of(configuration), "target": {"name": EXPANDED_MEAN.name}})


def _of_own_loss(own: OwnLoss | None, configuration: Configuration, reference: str) -> Configuration:
    """The configuration with the density that code with its own loss is held against as its target.

    Without a density, a Gaussian of the code's dimension only says from where it is called. Raises `ConfigurationError` for
    another target beside it, or a density of another dimension.
    """
    if own is None:
        return configuration
    tree = tree_of(configuration)
    given = tree.get("target", {})
    dim = own.dim or given.get("dim", 1)
    target: dict[str, Any] = {"name": own.density} if own.density else {"name": "gaussian", "dim": dim}
    if own.density and is_plain(own.density):
        target["dim"] = dim
    if any(given.get(key, value) != value for key, value in target.items()):
        raise ConfigurationError(
            f"target.name={given.get('name')!r} with scheme={reference!r}: the code brings its own loss; expected its density as "
            "adapter.density; leave target out"
        )
    found = load_configuration({**tree, "target": {**given, **target}})
    size = build_target(found.target).dim
    if own.dim and size != own.dim:
        raise ConfigurationError(
            f"adapter.density={own.density!r}: has dimension {size}, and scheme={reference!r} trains {own.dim} parameters; "
            f"expected a density of dimension {own.dim}, in the order of the parameters"
        )
    return found


__all__ = [
    "METHODS",
    "QUANTITIES",
    "claim_of_rate",
    "differing",
    "make_subject",
    "rate",
    "refuse_stray_tables",
    "replay",
    "verify",
]
