"""Faults that were reported in public of code for stochastic gradient Markov chain Monte Carlo, each in a few lines of its own."""
