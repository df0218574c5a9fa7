"""Replica exchange: is the rule of its swaps right, and how much do swaps speed up convergence?

The rule: `balance` (the joint law is left invariant), `swap_rate` (how the chance of a swap falls with the noise),
`energy_variance` (of variance-reduced energies; `sampled_variance` where no exact law of the chain is known). The theorems:
`rate` of convergence, with the bound at a fixed time, and `noisy_gaps`. Somebody else's replica code: `torch_swap`.
"""
