"""A step and a batch for a network: what one step does along the directions of the Hessian at a mode of its posterior.

`place` measures curvature and noise at a theta, `steps` has the law of a chain along one direction and the steps that it allows,
`advising` puts the answer together, `model` is the answer and its text.
"""
