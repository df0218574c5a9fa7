"""Affine chains with independent noise, and quadratic test functions.

`chain` is the chain, `lyapunov` solves its equations, `ergodic` has stationary law and bias and compares Gaussian laws, `mse`
the mean square error at any length and the long-run variance, `expansion` the bias at h = 0, with
memory from values at tiny steps. Changing steps: `varying_steps`, by `block_recursion` in float64 with bounds.

The central type is `AffineChain`, X' = M X + b + xi with independent xi: the chain that a scheme is on a quadratic potential,
read off its own definition by `exact/affine`. It answers "what do the repetitions of a step do, in numbers?" without a draw:
mean and covariance at every step, the invariant law, bias and mean square error of an average over any number of steps.

A `ChainProblem` joins a chain with a quadratic test function and the average that is due. Its parts that do not act on one
another are solved alone. Long averages are no long loops: the invariant covariance solves a discrete Lyapunov equation, and the
average of L steps is a Poisson equation with two boundary terms, so that L = 1e12 costs as much as L = 100.

Numbers are balls (`arb`): each answer carries a bound of its error, and is computed again with twice the bits until the bound
is below the accuracy that was asked for. Verdicts about h -> 0 do not rest on points: the same equations are solved in power
series in h over the rationals, and the leading power and its coefficient are exact. Points illustrate.

Minibatches that only move the mean of a gradient are noise of a chain; those that move its Hessian are not, and are taken by
the recursion of moments; permutations of an epoch by epoch maps. All of them answer the same protocol, `exact/answers`: a
question enters as a model with a step size and a length, and leaves as a number with its bound, or as a reason why no engine
reaches it.
"""
