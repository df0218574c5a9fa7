"""What does a check examine? A subject: one scheme under one configuration, with all quantities derived from the two.

`subject` is a definition under a configuration, `torch` a step in the user's torch code, `composite` a rule around the
steps of a scheme, with its ladder of temperatures. `caching` stores derived quantities with their subject. The other
files derive one quantity each: `step_sizes` (the stability limit and a typical step), `schedule` (the configured steps, for
the sampler and in exact numbers), `biased_gradient` (E g - grad U) and `prior_part` (the prior's gradient as an
expression).
"""
