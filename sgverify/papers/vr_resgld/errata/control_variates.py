"""The variance-reduced energies of vr-resgld, over all minibatches that there are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sgverify.evidence.erratum import powers
from sgverify.exact.exchange.acceptance import (
    BATCH,
    DATA,
    PLACES,
    covariance_of,
    estimates,
    least_variance,
    mean_of,
    minibatch_energies,
    minibatches,
    reduced_energies,
)
from sgverify.papers.formula import Examination, formula
from sgverify.schemes.composites.composite import reduced_energy

STEP = Fraction(1, 10)
TAU = Fraction(1, 2)


def minimum_of_lemma_1() -> Examination:
    """Var L~ <= Var L(B | theta) + Var L(B | control), at c = -1."""
    broken, above = [], []
    for here in PLACES:
        for there in PLACES:
            at_here, at_there = minibatch_energies(here), minibatch_energies(there)
            reduced = covariance_of(*[reduced_energies(at_here, at_there, there)] * 2)
            sum_of_both = covariance_of(at_here, at_here) + covariance_of(at_there, at_there)
            if reduced > sum_of_both:
                broken.append((here, there, reduced, sum_of_both, covariance_of(at_here, at_there)))
            if reduced > 2 * sum_of_both:
                above.append((here, there))
    worst = max(broken, key=lambda row: row[2] / row[3], default=None)
    return Examination(
        printed=f"at theta = {worst[0]}, control {worst[1]}: Var L~ = {worst[2]} > {worst[3]}, covariance {worst[4]}"
        if worst
        else "",
        holds=f"false at {above}" if above else "",
        certificate={
            "pairs (theta, control) where it fails": f"{len(broken)} of {len(PLACES) ** 2}",
            "covariance is negative at each": all(row[4] < 0 for row in broken),
            "data": str(DATA),
            "minibatches": f"all {DATA.size**BATCH} of n = {BATCH}",
            "why": "Var L~ = Var + Var - 2 Cov, and -2 Cov <= 2 sqrt(Var Var) <= Var + Var",
        },
    )


def best_coefficient_of_3() -> Examination:
    """Var L~ at c* is (1 - rho^2) Var L(B | theta), and no other c leaves less."""
    found = least_variance()
    return Examination(printed="; ".join(found.defects), holds="", certificate=found.certificate)


def variance_when_refreshed() -> Examination:
    """Var(L~(1) - L~(2)) where k mod m = 0: the control is the present state."""
    first, second = (Fraction(1), Fraction(-1, 2)), (Fraction(3), Fraction(5, 2))
    refreshed = _difference_variance(first[0], first[0], second[0], second[0])
    before = _difference_variance(first[0], first[1], second[0], second[1])
    true = covariance_of(
        *[
            [
                a - b
                for a, b in zip(
                    reduced_energies(minibatch_energies(first[0]), minibatch_energies(first[1]), first[1]),
                    reduced_energies(minibatch_energies(second[0]), minibatch_energies(second[1]), second[1]),
                    strict=True,
                )
            ]
        ]
        * 2
    )
    return Examination(
        printed=f"it is {refreshed} for every theta; with the control of the past m steps it is {before}"
        if refreshed != before
        else "",
        holds=f"{before - true}" if before != true else "",
        certificate={
            "theta(1), its control": [str(value) for value in first],
            "theta(2), its control": [str(value) for value in second],
            "Var(L~(1) - L~(2)) with the control refreshed": str(refreshed),
            "before it is refreshed": str(before),
            "why": "with the control at theta L~ is the full energy, whatever the minibatch: the correction of the swap would be 0",
            "data": str(DATA),
        },
    )


def controls_after_a_swap() -> Examination:
    """After a swap of positions beta^(h) is the other replica's; its control is still its own."""
    first, second = Fraction(2), Fraction(-1)
    kept = _reduced_variance(second, first)
    moved = _reduced_variance(second, second)
    return Examination(
        printed=f"with eta -> 0 the variance of L~ after a swap tends to {kept}" if kept else "",
        holds=f"tends to {moved}" if moved else "",
        family=powers("eta", 0, 1, "m and n fixed, after a swap that comes with a chance that does not fall")
        if kept
        else None,
        certificate={
            "positions before the swap, eta = 0": [str(first), str(second)],
            "Var L~(1) after it, control kept": str(kept),
            "control swapped too": str(moved),
            "without control variates": str(covariance_of(*[minibatch_energies(second)] * 2)),
            "why": "(19) and (20) bound the way since the refresh by that of the steps: a swap is a jump",
            "chance of a swap": "with r (1 and S) eta, r fixed, it stays O(m^2 eta/n); with r = 1/eta it does not",
            "data": str(DATA),
        },
    )


def same_minibatch() -> Examination:
    """E L~(B | theta') - L(theta'), theta' moved by the same B: over all minibatches, and the normal number by its moments."""
    start, control = Fraction(1), Fraction(0)
    sequences = list(minibatches(DATA.size, BATCH))
    gradients = estimates(DATA.gradients(start), BATCH)
    same: list[Fraction] = []
    fresh: list[Fraction] = []
    # sqrt(2 eta tau) xi enters the energies up to its square: +- its deviation has the same mean.
    noise = [Fraction(-1), Fraction(1)]
    squared = 2 * STEP * TAU
    for chosen, gradient in zip(sequences, gradients, strict=True):
        moved = start - STEP * gradient
        for others, into in (([chosen], same), (sequences, fresh)):
            for other in others:
                into.append(_mean_error(other, moved, squared, control, noise))
    expected = -STEP * covariance_of(gradients, gradients)
    return Examination(
        printed=f"E L~(B | theta_k) - L(theta_k) = {mean_of(same)} at eta = {STEP}" if mean_of(same) else "",
        holds=str(mean_of(fresh)) if mean_of(fresh) else "",
        certificate={
            "with the minibatch that moved theta": str(mean_of(same)),
            "with a fresh one": str(mean_of(fresh)),
            "-eta Var(gradient estimate), its leading term": str(expected),
            "theta_(k-1), control, eta, tau": [str(value) for value in (start, control, STEP, TAU)],
            "data": str(DATA),
        },
    )


def square_of_a_step() -> Examination:
    """(20), first inequality: E |beta_(j+1) - beta_j|^2 <= (2 eta^2 N^2/n^2) sum_(i in B) E |grad L(x_i)|^2 + 4 eta tau d."""
    batch, at = 3, Fraction(-6)
    gradients = DATA.gradients(at)
    moves = [STEP * g for g in estimates(gradients, batch)]
    exact = mean_of([move**2 for move in moves]) + 2 * STEP * TAU
    squares = batch * mean_of([g**2 for g in gradients])
    printed = 2 * STEP**2 * Fraction(DATA.size, batch) ** 2 * squares + 4 * STEP * TAU
    mended = batch * 2 * STEP**2 * Fraction(DATA.size, batch) ** 2 * squares + 4 * STEP * TAU
    return Examination(
        printed=f"the mean square of a step is {exact}, above {printed}" if exact > printed else "",
        holds=f"{exact} > {mended}" if exact > mended else "",
        certificate={
            "E |step|^2": str(exact),
            "printed bound": str(printed),
            "with n times the sum": str(mended),
            "beta_j, eta, tau, n": [str(at), str(STEP), str(TAU), batch],
            "why": "the gradients of independent data have no mean 0: E |sum|^2 <= n sum E |.|^2",
            "(17) and (21)": "2 eta in place of 2 eta/n",
            "data": str(DATA),
        },
    )


def _reduced_variance(theta: Fraction, control: Fraction) -> Fraction:
    return covariance_of(
        *[reduced_energies(minibatch_energies(theta), minibatch_energies(control), control)] * 2
    )


def _difference_variance(
    first: Fraction, control_1: Fraction, second: Fraction, control_2: Fraction
) -> Fraction:
    """The closed form: N^2/n times the variance over the data of what a datum adds to L~(1) - L~(2)."""
    parts = zip(*map(DATA.energies, (first, control_1, second, control_2)), strict=True)
    values = [a - b - (c - d) for a, b, c, d in parts]
    return Fraction(DATA.size**2, BATCH) * covariance_of(values, values)


def _mean_error(
    chosen: tuple[int, ...], moved: Fraction, squared: Fraction, control: Fraction, noise: Sequence[Fraction]
) -> Fraction:
    """The mean of L~ - L at moved + xi for xi = +- sqrt(squared): even powers of xi alone are left of quadratic energies."""

    def mean_energy(i: int) -> Fraction:
        a, x = DATA.curvatures[i], DATA.centres[i]
        return a * sum(((moved - x) ** 2 + squared * sign**2 for sign in noise), Fraction(0)) / 2 / len(noise)

    scale = Fraction(DATA.size, BATCH)
    totals = DATA.energies(control)
    here = scale * sum((mean_energy(i) for i in chosen), Fraction(0))
    there = scale * sum((totals[i] for i in chosen), Fraction(0))
    value: Fraction = reduced_energy(here, there, sum(totals, Fraction(0)))
    return value - sum((mean_energy(i) for i in range(DATA.size)), Fraction(0))


FORMULAS = (
    formula("vr-resgld/equation-3-optimum", best_coefficient_of_3),
    formula("vr-resgld/lemma-1-minimum", minimum_of_lemma_1),
    formula("vr-resgld/equation-20", square_of_a_step),
    formula("vr-resgld/algorithm-1-variance", variance_when_refreshed),
    formula("vr-resgld/algorithm-1-controls", controls_after_a_swap),
    formula("vr-resgld/algorithm-1-minibatch", same_minibatch),
)
