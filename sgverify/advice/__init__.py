"""What should a user do next?

`diagnosis`: why a scheme fails, and the edit of its source that mends it. `step_bias` estimates the bias of the draws'
widths at a step size before they are drawn, where no exact law is known from the Gaussian approximation of `gaussian_closure`.
"""
