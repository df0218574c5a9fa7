"""Code with its own loss, data and minibatches as a step.

`adapter` says which functions are taken and what such a function reaches (modules, optimizers, numbers), and runs it once from a
given position.
"""
