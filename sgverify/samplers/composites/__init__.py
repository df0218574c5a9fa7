"""What composites do around the steps of their scheme.

`hooks` is what a composite may do, `exchange` swaps replicas by `swap_energies`, `adapting` multiplies gradients and
adapts weights, `hitting` records how soon chains reach a level, `transcript` writes a composite's run down.
"""
