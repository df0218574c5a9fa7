"""How do composites act around the steps of their scheme: swaps, adapted weights?

`hooks` is what a composite may do, and what annealing changes between epochs of any run, `exchange` swaps replicas by
`swap_energies`, `adapting` multiplies gradients and adapts weights.
"""
