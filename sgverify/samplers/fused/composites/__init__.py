"""How do the steps of a composite, and its actions between them, run in one C kernel?

All replicas of a chain move together: they are the variables of one larger state. `rule` is what a kernel asks of a composite,
which `swaps` answers for replica exchange and `weights` for adapted weights; `energies` are those over minibatches. `observing`
records the test functions, `program` writes the C text around `together.c`, `kernel` calls it, and `driver` proves it and moves a
run by it.
"""
