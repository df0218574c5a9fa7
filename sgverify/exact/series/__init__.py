"""The power-series interpreter: local orders proved for every smooth potential.

`carrier` runs a definition on series and follows the signs under its roots, `operators` makes E f(X_1) a differential
operator, `averaging` averages it over minibatches. `local_order` compares it with exp(hL), or exp(c h L) by its `pace` c,
in several `dimensions`, and answers with the `orders`; `noise_terms` names the terms that minibatches add. `letters` proves
an alphabet, `equilibrated_memory` gives the step after the start of a memory is forgotten, `invariant_order` the order of
the invariant law, by the `stated_density` of a dynamics, `probe` a generic potential for black boxes.

The central type is the truncated power series in sqrt(h), whose coefficients are polynomials in the state, in the draws, and in
derivatives of U at the state, all as symbols. It answers "what is proved of a step, for every smooth potential?": an identity
between such series is an identity for all U, since the derivatives of U at a point are free numbers.

A definition is run on series by the carrier: a gradient at a shifted place is its Taylor expansion, a minibatch is a symbol
with moments. The increments of a step are then series, and the step's transition operator P_h f = E f(X_1) is a differential
operator whose coefficients follow from their moments. Two numbers are read off. The local order K compares P_h with exp(hL),
coefficient by coefficient: given the minibatch, as the papers do, and averaged over minibatches, as the posterior average feels
it. The order of the invariant law asks A_j^* rho = 0 of the operators A_j of P_h = I + h L + h^2 A_2 + ..., with rho the
density of the dynamics; by theorems of Talay and Tubaro and of Abdulle, Vilmart and Zygalakis it carries over to long averages.

Equality is equality of polynomials, decided exactly; where a difference is neither proved to be 0 nor told from it, the answer
is `NotExpandableError` and no order. Roots of the state branch by the sign of what stands under them, and every branch is
examined. What is proved in one dimension is not proved in all: `Proved` names the dimensions. A defect is kept as text, the
first operator by which the two sides differ, since a user mends by it.

A question enters as a `Scheme` with a dimension and the highest power to examine, and leaves as a `LocalOrder` or an
`InvariantOrder`, with no number drawn and no step size chosen.
"""

from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.orders import Defect, LocalOrder

__all__ = ["Defect", "LocalOrder", "local_order"]
