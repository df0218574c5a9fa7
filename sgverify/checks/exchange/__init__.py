"""Replica exchange: is the rule of its swaps right, does the code apply it, and how much do swaps speed up convergence?

The rule: `balance` (the joint law is left invariant, in the rule and in `driven` runs), `swap_rate` (how the chance of
a swap falls with the noise), `energy_variance` (of variance-reduced energies; `sampled_variance` where no exact law of the
chain is known). The run: `run` compares a `transcript` with the same steps `recomputed` in plain numbers, the `motion` of
replicas between swaps too, by the `plan` of the configuration. The theorems: `rate` of
convergence, `noisy_gaps`, and the `bound` at a fixed time. Somebody else's replica code: `torch_swap`.
"""
