"""How does code with its own loss, data and minibatches become a step?

`adapter` says which functions are taken, `reach` what such a function reaches (modules, optimizers, numbers), and `loop` runs it
once from a given position.
"""
