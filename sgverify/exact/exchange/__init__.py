"""Replica exchange without sampling: swap chances, energies of minibatches, and the law of two replicas."""
