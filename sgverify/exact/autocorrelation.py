"""The integrated autocorrelation time of a test function along an affine chain, at any step size.

In the invariant law at the step size h, with gamma_k = Cov(phi(X_0), phi(X_k)),

    sigma^2(h) = sum_{k in Z} gamma_k = lim L Var(phi_hat),        IAT(h) = sigma^2(h) / gamma_0 = 1 + 2 sum_{k>=1} rho_k,

both counted in steps: an average over L steps is worth L / IAT independent draws from the chain's own invariant
law. The sum is never formed: with psi - P psi = phi - phi_h it is E[Var(psi(X_1) | X_0)]. As h -> 0,
h sigma^2(h) tends to the diffusion's own sigma_0^2 (`expansion.asymptotic_variance`); at the step sizes that a
sampler takes the two differ.

Sokal 1997, Monte Carlo Methods in Statistical Mechanics, section 3 (whose tau_int is half of this IAT).
"""

from __future__ import annotations

from typing import Any

from flint import arb

from sgverify.exact.ball import Certified, refine
from sgverify.exact.chain import ChainProblem, ProblemAt, split
from sgverify.exact.ergodic import Centred
from sgverify.exact.mse import Fluctuation, StateCumulants


def long_run_variance(problem_at: ProblemAt, **options: Any) -> Certified:
    """sigma^2(h), the limit of L Var(phi_hat) at a fixed step; options are those of `refine`."""
    return refine(lambda bits: _long_run(problem_at(bits)), **options)


def stationary_variance(problem_at: ProblemAt, **options: Any) -> Certified:
    """gamma_0, the variance of phi in the chain's invariant law; options are those of `refine`."""
    return refine(lambda bits: _stationary(problem_at(bits)), **options)


def autocorrelation_time(problem_at: ProblemAt, **options: Any) -> Certified:
    """IAT(h) = sigma^2(h) / gamma_0, a number of steps; options are those of `refine`.

    For X' = a X + noise it is (1 + a)/(1 - a) for phi = x and, where the noise is Gaussian and the mean 0,
    (1 + a^2)/(1 - a^2) for phi = x^2. Raises `PrecisionLostError` for a constant phi.
    """

    def evaluate(bits: int) -> arb:
        problem = problem_at(bits)
        return _long_run(problem) / _stationary(problem)

    return refine(evaluate, **options)


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
