"""What does a kernel do between the steps of a composite?

All replicas of a chain move together: they are the variables of one larger state. `rule` is what a kernel asks of a composite,
which `swaps` answers for replica exchange and `weights` for adapted weights; `energies` are those over minibatches.
"""
