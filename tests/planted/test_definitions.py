"""Bugs in a scheme's definition: each is refuted by the rungs named for it, on which the right scheme passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from sgverify.checks import Subject
from sgverify.checks.judging import run_check
from sgverify.claims import find_claim
from sgverify.configuration import Configuration, load_configuration
from sgverify.errors import InstabilityError
from sgverify.evidence import Evidence
from sgverify.exact.bch import bch
from sgverify.exact.formula import define, formula, plant
from sgverify.schemes import Scheme, exp, find_scheme, kinetic, scheme, sqrt
from sgverify.schemes.catalogue import chen
from sgverify.schemes.scheme import make_scheme

ABOBA = find_scheme("sghmc-aboba")
BAOAB = find_scheme("sghmc-baoab")
EXPLICIT = find_scheme("sghmc-euler-explicit")
SGLD = find_scheme("sgld-euler")

RUNGS = {
    "local-order": ("sgverify/stated-order", "local-order"),
    "stationary-law": ("chen2015/theorem-4", "stationary-bias"),
}

# T and D are not 1, the data are asymmetric and the prior is strong: at other values some rows cannot be seen.
CONFIGURATION = load_configuration(
    {
        "temperature": 0.5,
        "friction": 3.0,
        "test_function": "theta[0]**2 + theta[0]*theta[1]",
        "target": {
            "data": [[0.0, 1.0], [1.0, 0.0], [4.0, 1.5], [0.5, -2.0]],
            "prior_precision": [[4.0, 1.0], [1.0, 2.0]],
            "prior_mean": [1.0, -0.5],
        },
    }
)


@dataclass(frozen=True)
class Row:
    """A bug, the scheme that it was planted in, and the rungs that must refute it."""

    name: str
    right: Scheme
    wrong: Callable[[], Scheme]
    refuted_by: tuple[str, ...] = ("local-order", "stationary-law")
    others: str = "conforms"
    configuration: Configuration = CONFIGURATION


def edited(right: Scheme, *edits: tuple[str, str]) -> Callable[[], Scheme]:
    """The scheme with every edit in its printed formula; an edit is refused unless its text occurs once."""

    def make() -> Scheme:
        if len(edits) == 1:
            return plant(right, *edits[0])
        text = formula(right)
        for was, now in edits:
            assert text.count(was) == 1 and was != now
            text = text.replace(was, now)
        function = define(text, text.split("(", 1)[0].removeprefix("def "))
        return make_scheme(function, right.dynamics, order=right.order, name="planted")

    return make


def start_of_gradient(theta, p, *, grad):
    return grad(theta)


@scheme(kinetic, order=2, memory={"g": start_of_gradient})
def gradient_at_hand(theta, p, g, *, h, grad, noise, D, T):
    theta = theta + h / 2 * p
    g = grad(theta)
    p = exp(-D * h / 2) * (exp(-D * h / 2) * p - h * g + sqrt(2 * D * T * h) * noise())
    return theta + h / 2 * p, p, g


@scheme(kinetic, order=2, memory={"g": start_of_gradient})
def stale_gradient(theta, p, g, *, h, grad, noise, D, T):
    theta = theta + h / 2 * p
    p = exp(-D * h / 2) * (exp(-D * h / 2) * p - h * g + sqrt(2 * D * T * h) * noise())
    return theta + h / 2 * p, p, grad(theta)


NOISE = "sqrt(2*D*T*h)*z1"
FIRST_B, SECOND_B = "p1 = exp(-D*(h/2))*p\n", "p3 = exp(-D*(h/2))*p2"
FIRST_A, SECOND_A = "theta1 = theta + h/2*p\n", "theta2 = theta1 + h/2*p3"
LOCAL, LAW = ("local-order",), ("stationary-law",)

ROWS = [
    Row("noise sqrt(D h) for sqrt(2 D h)", ABOBA, edited(ABOBA, (NOISE, "sqrt(D*T*h)*z1"))),
    Row("noise sqrt(D h), explicit Euler", EXPLICIT, edited(EXPLICIT, (NOISE, "sqrt(D*T*h)*z1"))),
    Row("noise sqrt(2D) h", ABOBA, edited(ABOBA, (NOISE, "h*sqrt(2*D*T)*z1"))),
    Row("noise D for sqrt(D)", ABOBA, edited(ABOBA, (NOISE, "D*sqrt(2*T*h)*z1"))),
    Row("a missing A half", ABOBA, edited(ABOBA, (SECOND_A, "theta2 = theta1"))),
    Row("a missing B half", ABOBA, edited(ABOBA, (SECOND_B, "p3 = p2"))),
    Row(
        "full h in the A halves",
        ABOBA,
        edited(ABOBA, (FIRST_A, "theta1 = theta + h*p\n"), (SECOND_A, "theta2 = theta1 + h*p3")),
    ),
    Row("full h in a B half", ABOBA, edited(ABOBA, (FIRST_B, "p1 = exp(-D*h)*p\n"))),
    Row("friction without the step size", ABOBA, edited(ABOBA, (FIRST_B, "p1 = exp(-D)*p\n"))),
    Row("word not palindromic: B unsplit", ABOBA, lambda: chen.ALPHABET.word("ABOA", order=2), LOCAL),
    Row("Lie splitting A.BOB", ABOBA, lambda: chen.ALPHABET.word("ABOB", order=2), LOCAL),
    Row(
        "symplectic Euler claimed as order 2",
        ABOBA,
        lambda: replace(find_scheme("sghmc-euler"), order=2),
        LOCAL,
    ),
    Row("gradient one step stale", gradient_at_hand, lambda: stale_gradient, LOCAL, "inconclusive"),
    Row("temperature outside the root", ABOBA, edited(ABOBA, (NOISE, "T*sqrt(2*D*h)*z1"))),
    Row("temperature missing", ABOBA, edited(ABOBA, (NOISE, "sqrt(2*D*h)*z1"))),
    Row("temperature outside the root, SGLD", SGLD, edited(SGLD, ("sqrt(2*T*h)", "T*sqrt(2*h)"))),
    Row("temperature missing, SGLD", SGLD, edited(SGLD, ("sqrt(2*T*h)", "sqrt(2*h)"))),
    Row(
        "temperature missing in the exact O",
        BAOAB,
        edited(BAOAB, ("sqrt(-T*expm1(-2*D*h))", "sqrt(-expm1(-2*D*h))")),
    ),
    Row(
        "friction of the exact O twice as strong as its noise",
        BAOAB,
        edited(BAOAB, ("exp(-D*h)", "exp(-2*D*h)")),
    ),
    Row(
        "only half a kick at the end",
        BAOAB,
        edited(BAOAB, ("p3 = p2 - h/2*grad(theta2)", "p3 = p2 - h/4*grad(theta2)")),
    ),
]


def evidence_of(scheme: Scheme, rung: str, configuration: Configuration = CONFIGURATION) -> Evidence:
    claim, quantity = RUNGS[rung]
    return run_check(Subject(scheme, configuration, scheme.name), find_claim(claim), quantity)


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_every_rung_says_what_it_must(row: Row, rung: str) -> None:
    right = evidence_of(row.right, rung, row.configuration)
    assert right.verdict == ("conforms" if rung in row.refuted_by else row.others), right.reason
    wrong = evidence_of(row.wrong(), rung, row.configuration)
    if rung in row.refuted_by:
        assert wrong.verdict == "violates", wrong.reason
    else:
        # The local order alone sees these: the invariant law is as good as that of a first-order scheme, or, where
        # a memory takes a new value at every step, has no expansion at h = 0.
        assert wrong.verdict == row.others, wrong.reason


@pytest.mark.parametrize(
    ("right", "edits"),
    [
        (ABOBA, ((FIRST_B, "p1 = exp(D*(h/2))*p\n"), (SECOND_B, "p3 = exp(D*(h/2))*p2"))),
        (ABOBA, ((FIRST_A, "theta1 = theta\n"), (SECOND_A, "theta2 = theta1"))),
        (EXPLICIT, (("h*D*p", "D*p"),)),
    ],
    ids=["friction with the wrong sign", "theta never moves", "friction without the step size, Euler"],
)
def test_what_has_no_invariant_law_is_refused_and_its_order_refuted(
    right: Scheme, edits: tuple[tuple[str, str], ...]
) -> None:
    broken = edited(right, *edits)()
    assert evidence_of(broken, "local-order").verdict == "violates"
    with pytest.raises(InstabilityError, match="spectral radius"):
        evidence_of(broken, "stationary-law")
    assert evidence_of(right, "stationary-law").verdict == "conforms"


@pytest.mark.parametrize(
    ("now", "hidden"),
    [
        ("D*sqrt(2*T*h)*z1", {"friction": 1.0}),
        ("T*sqrt(2*D*h)*z1", {"temperature": 1.0}),
        ("sqrt(2*D*h)*z1", {"temperature": 1.0}),
    ],
)
def test_the_law_cannot_see_them_at_one_but_the_symbolic_order_can(
    now: str, hidden: dict[str, float]
) -> None:
    broken = edited(ABOBA, (NOISE, now))()
    assert (
        evidence_of(broken, "stationary-law", load_configuration(CONFIGURATION, **hidden)).verdict
        == "conforms"
    )
    assert (
        evidence_of(broken, "local-order", load_configuration(CONFIGURATION, **hidden)).verdict == "violates"
    )


@pytest.mark.parametrize("text", ["ABOA", "ABOB", "AOB"])
def test_bch_sees_what_is_not_palindromic(text: str) -> None:
    assert bch(text, chen.ALPHABET.word(text).word.shares).order == 1
    assert bch("ABOBA").order == 2
