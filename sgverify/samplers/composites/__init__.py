"""How do composites act around the steps of their scheme: swaps, adapted weights, hitting times?

`hooks` is what a composite may do, `exchange` swaps replicas by `swap_energies`, `adapting` multiplies gradients and
adapts weights, `hitting` records how soon chains reach a level, `annealing` changes settings between epochs of any run.
"""
