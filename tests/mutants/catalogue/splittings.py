"""Bugs in the splitting of Chen, Ding, Carin 2015: a drift A, a friction B, a noisy kick O."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ABOBA = "sghmc-aboba"
NOISE = "sqrt(2*D*T*h)*z1"
FIRST_A, SECOND_A = "theta1 = theta + h/2*p\n", "theta2 = theta1 + h/2*p3"
FIRST_B, SECOND_B = "p1 = exp(-D*(h/2))*p\n", "p3 = exp(-D*(h/2))*p2"


def aboba(name: str, was: str, now: str, **rest: object) -> Mutant:
    """A bug in the printed formula of ABOBA."""
    return Mutant(name=name, family="splittings", scheme=ABOBA, was=was, now=now, **rest)  # type: ignore[arg-type]


MUTANTS = (
    aboba(
        "aboba-noise-without-2",
        NOISE,
        "sqrt(D*T*h)*z1",
        reason="sqrt(D h) for sqrt(2 D h): a diffusion sigma sigma^T/2 taken for sigma sigma^T",
        cause="diffusion-scaled",
    ),
    aboba(
        "aboba-noise-by-h",
        NOISE,
        "h*sqrt(2*D*T)*z1",
        reason="noise scaled like a drift, by h and not by its root",
        source="blei-lab/edward issue 722 (there in SGLD)",
        cause="diffusion-power-of-h",
    ),
    aboba(
        "aboba-noise-by-friction",
        NOISE,
        "D*sqrt(2*T*h)*z1",
        reason="D for sqrt(D): nearly nothing at D = 1",
        source="jax-sgmc integrator.py",
        cause="diffusion-scaled",
    ),
    aboba(
        "aboba-temperature-outside-root",
        NOISE,
        "T*sqrt(2*D*h)*z1",
        reason="the temperature multiplies the noise and not its variance: nothing at T = 1",
        cause="temperature-misplaced",
    ),
    aboba(
        "aboba-temperature-missing",
        NOISE,
        "sqrt(2*D*h)*z1",
        reason="the temperature never reaches the noise: nothing at T = 1",
        cause="temperature-missing",
    ),
    aboba(
        "aboba-second-drift-missing",
        SECOND_A,
        "theta2 = theta1",
        reason="only the first half of the drift is there",
        cause="substep-wrong",
    ),
    aboba(
        "aboba-second-friction-missing",
        SECOND_B,
        "p3 = p2",
        reason="only the first half of the friction is there",
        cause="friction-wrong",
    ),
    aboba(
        "aboba-drifts-of-whole-step",
        FIRST_A,
        "theta1 = theta + h*p\n",
        also=((SECOND_A, "theta2 = theta1 + h*p3"),),
        reason="each half drift moves for the whole step, so that theta runs on twice the time",
        cause="substep-wrong",
    ),
    aboba(
        "aboba-friction-of-whole-step",
        FIRST_B,
        "p1 = exp(-D*h)*p\n",
        reason="a friction of the whole step where half of it is due",
        source="openmm/openmm issue 3790 (there at every substep)",
        cause="friction-wrong",
    ),
    aboba(
        "aboba-friction-without-step",
        FIRST_B,
        "p1 = exp(-D)*p\n",
        reason="the friction forgets the step size",
        source="automl/pybnn issue 4 (there in SGHMC of Euler's kind)",
        cause="friction-wrong",
    ),
    aboba(
        "aboba-friction-of-wrong-sign",
        FIRST_B,
        "p1 = exp(D*(h/2))*p\n",
        also=((SECOND_B, "p3 = exp(D*(h/2))*p2"),),
        reason="the friction drives the momentum",
        cause="friction-wrong",
    ),
    aboba(
        "aboba-theta-never-moves",
        FIRST_A,
        "theta1 = theta\n",
        also=((SECOND_A, "theta2 = theta1"),),
        reason="the drift is computed and never kept",
        source="SGMCMCJax, BAOAB",
        cause="substep-wrong",
    ),
    aboba(
        "aboba-drift-by-a-third",
        FIRST_A,
        "theta1 = theta + h/3*p\n",
        also=((SECOND_A, "theta2 = theta1 + 2*h/3*p3"),),
        reason="the shares of the drift sum to 1 and are not symmetric: still consistent, of order 1",
        cause="word-not-symmetric",
    ),
    aboba(
        "aba-friction-unsplit",
        "ABOBA",
        "ABOA",
        place="word",
        reason="the friction is not split in two, so that the word is no palindrome and the order is 1",
        cause="word-not-symmetric",
    ),
    aboba(
        "lie-splitting-claimed-symmetric",
        "ABOBA",
        "ABOB",
        place="word",
        reason="the drift once, at the start: the local order is 1, though the bias of theta may still fall as h^2",
        cause="word-not-symmetric",
    ),
    Mutant(
        name="euler-claimed-of-order-2",
        family="splittings",
        scheme="sghmc-euler",
        place="order",
        was="1",
        now="2",
        reason="symplectic Euler is called of second order, because the bias of theta falls as h^2",
        cause="claimed-order",
    ),
)
