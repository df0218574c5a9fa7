"""The answer of `bound`: what holds for every potential of a class at a step size, in numbers and words.

`model` is the answer, `asking` finds it, `published` has the bounds of the literature for the same schemes.
"""
