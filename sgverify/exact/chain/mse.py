"""The mean square error of an ergodic average of an affine chain with any noise, as a ball, at any length.

Notation of `ergodic`: y is centred at the stationary mean, psi = e . y + y^T E y solves psi - P psi = phi -
phi_h and chi = P psi. Then S = sum_{l=1..L} (phi(X_l) - phi_h) = N_L + chi(y_0) - chi(y_L) with N_L a
martingale whose increments are e . xi + 2 u^T E xi + xi^T E xi - tr(E Q), u = M y_{k-1}, so that

    Var S = E N_L^2 + Var(chi(y_0) - chi(y_L)) - 2 sum_k E[dN_k (P^{L-k} chi)(y_k)].

P^j chi has the coefficients e'_j = M^jT e', E'_j = M^jT E' M^j, and given u two quadratics of u + xi have
covariance

    a^T Q a' + kappa_3(a; E') + kappa_3(a'; E) + 2 tr(E Q E' Q) + kappa_4(E, E'),     a = e + 2 E u.

With E u = M^k mu_0 and E u u^T = Sigma - Q + M^k Delta M^kT every sum over k is a Lyapunov equation, a
geometric sum or a convolution sum_k M^{L-k} X M^k, which is a block of the power of [[M, X], [0, M]].

The long-run variance and the integrated autocorrelation time of a test function along an affine chain, at any step size.

In the invariant law at the step size h, with gamma_k = Cov(phi(X_0), phi(X_k)),

    sigma^2(h) = sum_{k in Z} gamma_k = lim L Var(phi_hat),        IAT(h) = sigma^2(h) / gamma_0 = 1 + 2 sum_{k>=1} rho_k,

both counted in steps: an average over L steps is worth L / IAT independent draws from the chain's own invariant
law. The sum is never formed: with psi - P psi = phi - phi_h it is E[Var(psi(X_1) | X_0)]. As h -> 0,
h sigma^2(h) tends to the diffusion's own sigma_0^2 (`expansion.asymptotic_variance`); at the step sizes that a
sampler takes the two differ.

Sokal 1997, Monte Carlo Methods in Statistical Mechanics, section 3 (whose tau_int is half of this IAT).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from flint import arb, arb_mat

from sgverify.exact.chain.chain import AffineChain, ChainProblem, ProblemAt, checked_length, split
from sgverify.exact.chain.ergodic import Centred
from sgverify.exact.numbers.ball import Certified, identity, inner, refine
from sgverify.exact.numbers.entrywise import along, applied, over, over_fourth


def mean_square_error(problem_at: ProblemAt, length: int, **options: Any) -> Certified:
    """E[((1/L) sum_{l=1..L} phi(X_l) - target)^2] for a fixed step; options are those of `refine`."""
    (found,) = mean_square_errors(problem_at, [length], **options)
    return found


def mean_square_errors(problem_at: ProblemAt, lengths: Sequence[int], **options: Any) -> list[Certified]:
    """`mean_square_error` at several lengths, which share the invariant law and the Poisson equation."""
    parts_at = cache(lambda bits: [Centred(part) for part in split(problem_at(bits))])
    return [
        refine(partial(_mean_square_error, parts_at, checked_length(length)), **options) for length in lengths
    ]


@dataclass(frozen=True)
class StateCumulants:
    """Mean, covariance and higher cumulants of a centred state; None for a law without that part."""

    mean: arb_mat
    covariance: arb_mat | None
    third: arb_mat | None = None
    fourth: arb_mat | None = None

    def covariance_of(self, one: tuple[arb_mat, arb_mat], two: tuple[arb_mat, arb_mat]) -> arb:
        """Cov(a . y + y^T A y, b . y + y^T B y) for one = (a, A), two = (b, B)."""
        total = arb(0)
        if self.covariance is None:
            return total
        a, b = (linear + 2 * (form * self.mean) for linear, form in (one, two))
        total += inner(a, self.covariance * b)
        total += 2 * (one[1] * self.covariance * two[1] * self.covariance).trace()
        if self.third is not None:
            total += inner(a, over(self.third, two[1])) + inner(b, over(self.third, one[1]))
        if self.fourth is not None:
            total += inner(one[1], over_fourth(self.fourth, two[1]))
        return total


@dataclass(frozen=True)
class Fluctuation:
    """The variance of S = sum_{l=1..L} phi(X_l) for one centred problem and one length L."""

    centred: Centred
    length: int

    @property
    def chain(self) -> AffineChain:
        """The chain."""
        return self.centred.problem.chain

    @cached_property
    def _convolution(self) -> tuple[arb_mat, arb_mat]:
        """M^L and sum_{k=1..L} M^{L-k} Q E M^k, by doubling on the bits of L.

        X_L = sum_{k=1..L} M^{L-k} X M^{k-1} has X_{a+b} = M^a X_b + X_a M^b: the block above the diagonal of the L-th power
        of [[M, X], [0, M]].
        """
        m, first = self.chain.map, self.chain.covariance * self.centred.poisson.quadratic
        power, total = m, first
        for bit in bin(self.length)[3:]:
            total = power * total + total * power
            power = power * power
            if bit == "1":
                total = m * total + first * power
                power = power * m
        return power, total * m

    @property
    def power(self) -> arb_mat:
        """M^L."""
        return self._convolution[0]

    def variance(self) -> arb:
        """Var S."""
        poisson, power = self.centred.poisson, self.power
        chi = (poisson.next_linear, poisson.next_quadratic)
        back = power.transpose()
        later = (back * chi[0], back * chi[1] * power)
        start = StateCumulants(self.centred.offset, self.chain.start_covariance)
        ends = start.covariance_of(chi, chi) - 2 * start.covariance_of(chi, later)
        ends += self._law_at_end().covariance_of(chi, chi)
        return self._martingale() + ends - 2 * self._cross(later[1])

    @property
    def increment(self) -> arb:
        """E dN^2 in the invariant law: the limit of Var S / L, whatever the start."""
        poisson = self.centred.poisson
        return inner(self._gradient, poisson.linear) + inner(self._form, poisson.quadratic)

    @cached_property
    def _gradient(self) -> arb_mat:
        """g = Q e + kappa_3(.; E)."""
        poisson, chain = self.centred.poisson, self.chain
        value = chain.covariance * poisson.linear
        return value if chain.third is None else value + over(chain.third, poisson.quadratic)

    @cached_property
    def _form(self) -> arb_mat:
        """G: the part of the covariance that moves with neither mu_0 nor Delta is tr(G E'_j) + g . e'_j."""
        poisson, chain, law = self.centred.poisson, self.chain, self.centred.law
        q, e = chain.covariance, poisson.quadratic
        value = (4 * (law.covariance - q) + 2 * q) * e * q
        if chain.third is not None:
            value += along(chain.third, poisson.linear)
        if chain.fourth is not None:
            value += over_fourth(chain.fourth, e)
        return value

    def _martingale(self) -> arb:
        """E N_L^2."""
        poisson, chain, centred = self.centred.poisson, self.chain, self.centred
        m, e, start = chain.map, poisson.quadratic, centred.offset
        drifted = m * (identity(chain.size) - m).solve(start - self.power * start)
        bent = m.transpose() * centred.law.contraction.adjoint(e * chain.covariance * e) * m
        moved = centred.excess - self.power * centred.excess * self.power.transpose()
        return self.length * self.increment + 4 * inner(e * self._gradient, drifted) + 4 * inner(bent, moved)

    def _cross(self, last: arb_mat) -> arb:
        """sum_k E[dN_k (P^{L-k} chi)(y_k)]; last = E'_L."""
        poisson, chain, centred = self.centred.poisson, self.chain, self.centred
        m, power, start = chain.map, self.power, centred.offset
        chi_linear, chi_form = poisson.next_linear, poisson.next_quadratic
        convolved = self._convolution[1]
        endless = centred.law.contraction.adjoint(chi_form)
        forms = endless - power.transpose() * endless * power
        spread = (identity(chain.size) - m).solve(self._gradient - power * self._gradient)
        total = inner(self._form, forms) + inner(spread, chi_linear + 2 * (chi_form * (power * start)))
        total += 2 * inner(chi_linear, convolved * start)
        total += 4 * inner(convolved, chi_form * power * centred.excess)
        if chain.third is not None:
            skew = _skew_convolution(m, poisson.quadratic * chain.third, self.length)
            total += 2 * inner(start, over(skew, chi_form))
        return total

    def _law_at_end(self) -> StateCumulants:
        chain, law, power = self.chain, self.centred.law, self.power
        gap = law.covariance if chain.start_covariance is None else law.covariance - chain.start_covariance

        def stationary(limit: arb_mat | None, order: int) -> arb_mat | None:
            return None if limit is None else limit - applied(limit, [power] * order)

        return StateCumulants(
            mean=power * self.centred.offset,
            covariance=law.covariance - power * gap * power.transpose(),
            third=stationary(self.centred.third, 3),
            fourth=stationary(self.centred.fourth, 4),
        )


def _mean_square_error(parts_at: Callable[[int], list[Centred]], length: int, bits: int) -> arb:
    bias, variance = arb(0), arb(0)
    for centred in parts_at(bits):
        bias += centred.stationary_bias()
        if not centred.problem.constant:
            spread = Fluctuation(centred, length)
            bias += centred.transient(spread.power) / length
            variance += spread.variance() / length**2
    return bias * bias + variance


def _skew_convolution(map_: arb_mat, tensor: arb_mat, length: int) -> arb_mat:
    """T_L = sum_{k=1..L} (M^kT, M^{L-k}, M^{L-k}) K by doubling on the bits of L.

    T_{a+b} = (1, M^b, M^b) T_a + (M^aT, 1, 1) T_b.
    """
    first = map_.transpose() * tensor
    total, power = first, map_
    for bit in bin(length)[3:]:
        total = applied(total, [None, power, power]) + power.transpose() * total
        power = power * power
        if bit == "1":
            total = applied(total, [None, map_, map_]) + power.transpose() * first
            power = power * map_
    return total


def long_run_variance(problem_at: ProblemAt, **options: Any) -> Certified:
    """sigma^2(h), the limit of L Var(phi_hat) at a fixed step; options are those of `refine`."""
    return refine(lambda bits: _long_run(problem_at(bits)), **options)


def stationary_variance(problem_at: ProblemAt, **options: Any) -> Certified:
    """gamma_0, the variance of phi in the chain's invariant law; options are those of `refine`."""
    return refine(lambda bits: _stationary(problem_at(bits)), **options)


def _long_run(problem: ChainProblem) -> arb:
    parts = (part for part in split(problem) if not part.constant)
    return sum((Fluctuation(Centred(part), 1).increment for part in parts), arb(0))


def _stationary(problem: ChainProblem) -> arb:
    return sum((_variance(Centred(part)) for part in split(problem) if not part.constant), arb(0))


def _variance(centred: Centred) -> arb:
    law, phi = centred.law, centred.problem.observable
    steady = StateCumulants(law.mean * 0, law.covariance, centred.third, centred.fourth)
    gradient = phi.linear + 2 * (phi.quadratic * law.mean)
    return steady.covariance_of((gradient, phi.quadratic), (gradient, phi.quadratic))
