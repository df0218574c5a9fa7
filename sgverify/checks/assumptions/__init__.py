"""Do the assumptions of theorems hold for a subject? Decided if drift and gradients are polynomials.

`diffusion`: bounded derivatives, the backward equation, a bounded solution of the Poisson equation. `target`: steps that
sum to infinity, Lipschitz gradients, dissipativity, noise that grows no faster than the gradient.
"""
