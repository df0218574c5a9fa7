"""How does a JAX function of a key become a function of the random numbers themselves?

The function is traced, and its jaxpr is evaluated with every random number put in: `evaluation` walks the jaxpr and knows
the numbers by their keys, so that a key that is used twice gives the same numbers twice, as in JAX, and which random
functions of JAX are replaced as a whole; `step` makes a step on tensors of it, compiled for many chains.
`leaves` tries the step with JAX's own draws on pytrees and in float32.
"""
