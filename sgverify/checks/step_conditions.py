"""Check: decreasing steps sum to infinity, and their powers K + 1 are lost beside them."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from sgverify.checks.question import Question
from sgverify.evidence import Evidence, Point
from sgverify.exact.ball import number
from sgverify.rates import Judgement

LENGTHS = tuple(10**k for k in range(2, 11, 2))


def check_step_conditions(question: Question) -> Evidence:
    """0 < h_(l+1) < h_l, sum h_l = inf, sum h_l^(K+1)/sum h_l -> 0: chen2015 Assumption 2, by the sums of powers of l."""
    subject = question.subject
    kind = subject.configuration.schedule.kind
    if kind in ("fixed", "horizon"):
        why = f"{question.claim.id} speaks of steps that decrease, and schedule.kind={kind!r} keeps one step for a run"
        return question.unanswered(why, "not-applicable")
    order = subject.predicted_order
    if kind == "cyclical":
        # By the inequality of the power means, whatever the shape of a cycle.
        why = (
            f"the steps of a cycle jump back; and sum h^{order + 1}/sum h is at least the {order}-th power of the mean step, which "
            "is that of one cycle however long the run"
        )
        return question.evidence(method="proof", judgement=Judgement("violates", False, why))
    alpha = question.alpha
    return question.evidence(
        method="proof",
        judgement=judge_powers(alpha, order),
        points=[_ratio(subject.scale, alpha, order, length) for length in LENGTHS],
        certificate={
            "alpha": str(alpha),
            "K": order,
            "points": "sum h_l^(K+1)/sum h_l, the sums over l <= L",
        },
    )


def judge_powers(alpha: Fraction, order: int) -> Judgement:
    """The conditions for h_l = C l^-alpha: sums of l^-s grow like L^(1 - s) for s < 1, log L for s = 1, and stay finite beyond."""
    if alpha <= 0:
        return Judgement("violates", False, f"l^{-alpha} does not decrease")
    if alpha > 1:
        return Judgement("violates", False, f"sum l^-{alpha} is finite: the exponent is above 1")
    power = min(order * alpha, 1 - alpha)
    falls = f"like L^-{power}" if power else "like 1/log L"
    if (order + 1) * alpha == 1:
        falls += " log L"
    return Judgement(
        "conforms",
        False,
        f"l^-{alpha} decreases, its sum diverges, and sum h^{order + 1}/sum h falls {falls}",
    )


def _ratio(scale: float, alpha: Fraction, order: int, length: int) -> Point:
    def total(power: Fraction) -> arb:
        if power == 1:
            return arb(length + 1).digamma() + arb.const_euler()
        s = number(power)
        return s.zeta() - s.zeta(arb(length + 1))

    found = number(Fraction(repr(scale))) ** order * total((order + 1) * alpha) / total(alpha)
    return Point(step=None, length=length, value=float(found.mid()), error_bound=float(found.rad()))
