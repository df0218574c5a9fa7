"""Replica exchange without sampling.

`acceptance` (the chance of a noisy swap, control variates and variances of minibatch energies), `first_swap` (the joint law of
two replicas and its distance from the diffusion), `generator` (two replicas on a grid).
"""
