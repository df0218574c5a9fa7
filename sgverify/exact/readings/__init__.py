"""Interpreters of one definition that yield a text, a number or a property of the step.

`expression` and `formula`: the printed update, itself executable. `long_double`: the definition in long double, on many states.
`leading_terms`: the distance of a step from its expansion at step sizes in use; `step_switches`: the step sizes at which a
definition becomes another function of h, and the floats in it that are read as intervals; `memory_limit`: the limit law of
chains with memory; `escape`: starts from which a step carries chains to infinity.
"""
