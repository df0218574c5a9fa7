"""Which local order, and which order of the invariant law, has torch code?

The local order is measured at the nodes of a quadrature, never proved. The order of the invariant law, if the code states one,
is measured on Gaussian targets, at every setting that is tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, cast

from sgverify.checks.question import Question, whole
from sgverify.checks.readings import measured_order
from sgverify.checks.settings.other_settings import accepts_and_rejects, check_settings, message, try_states
from sgverify.errors import Unreached, UserError
from sgverify.evidence import EVERY, Evidence, Extent, Predicted, Scope, tried
from sgverify.law.measured_order import PARAMETERS, RESOLUTION, SEEN, MeasuredOrder
from sgverify.law.one_step_map import REACH
from sgverify.law.own_dynamics import OwnDynamics, find_own_dynamics, keeps_density_by_place
from sgverify.rates.verdict import Judgement
from sgverify.samplers.intercepted.black_box import NotFiniteError
from sgverify.subject.composite import TorchSubject, limits

ONE_STATE = tried("one generic state")
SEEN_STATES = tried(f"one generic state, and those out to {max(REACH):g} spreads of a Gaussian")


@dataclass(frozen=True)
class _Law(TorchSubject):
    """A torch step whose invariant law alone is examined, at the order that the step states for that law."""

    law_alone: ClassVar[bool] = True


def black_box_invariance(question: Question) -> Evidence:
    """Means and covariances of the chain's law, in all coordinates and pairs, are those of the density to O(h^r)."""
    subject = cast(TorchSubject, question.subject)
    law = _Law(subject.scheme, subject.configuration, subject.reference, subject.method)
    found = check_settings(replace(question, subject=law))
    prediction = question.predict({"K": subject.scheme.invariant_order})
    certificate = {
        **found.certificate,
        "kind": "invariant",
        "judged_by": "means and covariances on Gaussian targets",
    }
    return replace(
        found,
        predicted=Predicted(prediction.exponent, prediction.kind),
        replay=subject.command("verify", "--checks", question.quantity),
        certificate=certificate,
    )


def black_box_order(question: Question) -> Evidence:
    """P_h f = exp(hL) f + O(h^(K+1)) at one generic state of one generic potential, for every f of high enough degree.

    That is of this state: the step is also taken from states out to 6 spreads on a Gaussian target, and where it is not affine
    there, what it changes of the stationary law is integrated.
    """
    subject = cast(TorchSubject, question.subject)
    measured = measured_order(subject)
    if (isinstance(measured, str) or measured.order < 1 or not measured.resolved) and accepts_and_rejects(
        subject
    ):
        asked = "not-applicable" if subject.scheme.order is None else "inconclusive"
        return question.unanswered(message(subject), asked, method="quadrature")
    if isinstance(measured, str):
        return question.unanswered(f"no quadrature reads the step: {measured}", method="quadrature")
    prediction = question.prediction
    verdict = _judge(measured, float(prediction.exponent))
    own = None
    if verdict.verdict == "violates" and measured.order < 1:
        own = find_own_dynamics(subject.step_at_rest, measured.dim)
    if own is not None:
        measured = own.order
        verdict = _judge(measured, float(prediction.exponent))
        verdict = replace(verdict, reason=f"{_of_own(subject, own)}: {verdict.reason}")
    elif verdict.verdict == "violates" and keeps_density_by_place(subject.step_at_rest, measured.dim):
        verdict = Judgement("inconclusive", False, _by_place(subject, verdict))
    states = ONE_STATE
    if subject.scheme.memory:
        measured, verdict = _at_rest(subject, measured, verdict)
    elif verdict.verdict == "conforms" and own is None:
        verdict, states = _over_states(subject, verdict, int(prediction.exponent))
    return question.answered(
        method="quadrature",
        scope=_scope(measured.dim, states),
        judgement=verdict,
        found=measured.order if measured.resolved or verdict.verdict == "violates" else None,
        certificate={
            "given_minibatch": whole(measured.order),
            "at_least": measured.at_least,
            "differs_most_in": measured.where or "no difference was seen",
            "coefficient": measured.value,
            "error_bound": measured.bound,
            "resolution": measured.resolution,
            "seen_from": SEEN,
            "nodes": measured.nodes,
            "random_numbers_of_a_step": measured.draws,
            "two_rules_differ_by": measured.quadrature,
            "draws_on_panels": measured.irregular,
            "exact_for_polynomials_of_degree": measured.degree,
            "potential": f"a sextic without symmetry in dimension {measured.dim}, full gradients",
            "parameters": {name: float(value) for name, value in PARAMETERS.items()},
            "limits": limits(measured.dim),
            **({} if own is None else {"dynamics": own.text, "drift_is_minus_M_grad_H": own.matrix.tolist()}),
        },
    )


def _of_own(subject: TorchSubject, own: OwnDynamics) -> str:
    """The clause that the order refers to another dynamics than the declared one."""
    name = subject.scheme.dynamics.name
    return (
        f"the step discretises another dynamics than `{name}`, with the same invariant density: {own.text}; declare it by "
        "@dynamics to give it a name; against that dynamics"
    )


def _by_place(subject: TorchSubject, verdict: Judgement) -> str:
    """The sentence about a preconditioner that depends on theta."""
    return (
        f"the step discretises another dynamics than {subject.scheme.dynamics.name}: its preconditioner depends on theta, and "
        f"noise and drift belong to it where they were looked at; declared by @dynamics it is judged; {verdict.reason}"
    )


def _at_rest(
    subject: TorchSubject, measured: MeasuredOrder, verdict: Judgement
) -> tuple[MeasuredOrder, Judgement]:
    """The order and the verdict of a step with memory, measured with its memory at rest.

    The chain's memory lags behind by what a few steps move the state: of its order no more than 1 is known. A step that is
    preconditioned by its memory discretises another dynamics, and may leave the right law invariant.
    """
    rest = f"with the memory ({subject.kept}) at rest, as for h -> 0"
    if verdict.verdict != "violates":
        return replace(measured, order=min(measured.order, Fraction(1))), replace(
            verdict, reason=f"{verdict.reason}; {rest}"
        )
    text = (
        f"the step discretises another dynamics than {subject.scheme.dynamics.name}; whether its law is right beyond Gaussian "
        f"targets is not known; {rest}, {verdict.reason}"
    )
    return replace(measured, order=Fraction(0)), Judgement("inconclusive", False, text)


def _over_states(subject: TorchSubject, verdict: Judgement, order: int) -> tuple[Judgement, Extent]:
    """The verdict of an order that conforms at one state, with that over the states of a Gaussian setting, and these states."""
    try:
        found = try_states(subject, order)
    except NotFiniteError as error:
        return Judgement(
            "inconclusive", False, f"of one state, and not of every: {error}; {verdict.reason}"
        ), SEEN_STATES
    except (Unreached, UserError) as error:
        return replace(verdict, reason=f"{verdict.reason}; other states are not known: {error}"), ONE_STATE
    if found.verdict == "conforms":
        return verdict, SEEN_STATES
    reason = f"of order {order} at one state, and not at others: {found.finding}; {verdict.reason}"
    return Judgement(found.verdict, False, reason), SEEN_STATES


def _scope(dim: int, states: Extent) -> Scope:
    """That of an order that was measured as h -> 0: the numbers of the potential and of T and D are generic."""
    return Scope(
        steps=tried("h -> 0"),
        states=states,
        targets=tried(f"a sextic without symmetry in dimension {dim}"),
        gradients=EVERY,
        time=None,
    )


def _judge(measured: MeasuredOrder, predicted: float) -> Judgement:
    found, over = measured.order, measured.order + 1
    read = (
        f"read from one state at {measured.nodes} nodes for {measured.draws} draws{_taken_apart(measured)}, in dimension "
        f"{measured.dim}; coordinates beyond {measured.reach:.2g} were not seen"
    )
    differs = (
        f"P_h and exp(hL) differ at h^{over}, by {measured.value:.6g} +- {measured.bound:.2g} in the coefficient of "
        f"{measured.where}; {read}"
    )
    if not measured.at_least and found < predicted:
        return Judgement("violates", False, f"local order {found}, required >= {predicted:g}: {differs}")
    if not measured.resolved and measured.quadrature > measured.resolution / 4:
        return Judgement(
            "inconclusive",
            False,
            f"the order is undecided: two quadratures for the draws differ by {measured.quadrature:.2g} of a coefficient's size, "
            f"and at most {RESOLUTION:g} is allowed: neither is exact for this step; {read}",
        )
    if not measured.resolved:
        return Judgement(
            "inconclusive",
            False,
            f"rounding hides the order: coefficients are known to {measured.resolution:.2g} of their size, and {RESOLUTION:g} is "
            "needed; the code rounds more than float64 does (see the check dtype)",
        )
    if measured.at_least and found < predicted:
        return Judgement(
            "inconclusive", False, f"local order at least {found}; required >= {predicted:g} was not examined"
        )
    if measured.at_least:
        return Judgement("conforms", False, f"local order at least {found}: P_h and exp(hL) agree; {read}")
    return Judgement(
        "conforms", found == predicted, f"local order {found}, required >= {predicted:g}: {differs}"
    )


def _taken_apart(measured: MeasuredOrder) -> str:
    if not measured.irregular:
        return ""
    return f" ({measured.irregular} on panels that end where the step jumps or bends)"
