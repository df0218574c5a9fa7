"""Readings of one definition that yield a text, a number or a behaviour.

`expression` and `formula`: the update as it is printed, itself executable. `long_double`: the definition run as it is
written, on many states; `gradient_parts`: its gradient datum by datum. `interval_floats`: the floats that are read as
intervals. `leading_terms`: how far a step is from its expansion at steps somebody may run; `step_switches`: where it
turns into another function of h; `memory_limit`: the law that chains with memory tend to; `escape`: whether
chains that strayed are carried off to infinity.
"""
