"""What should a user do next?

`diagnosis`: why a scheme fails, and the edit of its source that mends it. `size`: how large the error is at a step size, and the
steps that keep it small. `step_bias` warns of a step size before draws are made. Both take the law of a chain, where no
exact one is known, from `gaussian_closure`, the Gaussian approximation about a mode; `linear_chain` has its autocorrelations.
"""
