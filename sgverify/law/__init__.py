"""The law of one step of any code, as a function of the state, the gradient, h, T and D. Measured here, judged in `checks`.

A step is a function of its state and of draws with known laws, so that its law is a sum over the nodes of a quadrature for the
draws, and no estimate. `nodes` runs it there by the rules of `draw_rules`, at a `chosen_step`: states, minibatches and draws that
are given. `observed` runs a definition the same way, in long double, or code on chosen potentials.

On a `gaussian_setting`, a dynamics with its numbers on a Gaussian target, of a fixed design or as configured, `step_rows` runs a
step at many states and draws, and reads the gain of the noise of gradient estimates. `one_step_map` reads its affine map, the
gain of each draw and the covariance of its noise, each with a bound of its error. The map has the `Law` that its repetitions tend
to, mean and covariance with one bound, from which every bias, covariance and distance follows, and the units of a memory.
`torch_chain` puts them together to the chain of a subject at every step size, and to the law by which the innovations of a run
are computed. A step that is not affine has a `law_defect`, how far it moves the law it should leave, and beyond Gaussians
`galerkin` finds its invariant law.

For h -> 0, on any potential, `measured_order` holds E f(X_1) against the series of exp(hL), and `own_dynamics` recognises which
dynamics with the declared density a step follows.
"""
