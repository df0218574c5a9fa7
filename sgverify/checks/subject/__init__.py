"""What a check is about: one scheme under one configuration, with everything that is derived from the two.

`subject` is a definition under a configuration, `torch` a step in somebody else's torch code, `composite` a rule around
a scheme's steps with its ladder of temperatures. `caching` keeps what is derived once. Of a subject: `step_sizes`
(where it contracts, and a typical one), `schedule` (the configured steps, for the sampler and exactly),
`biased_gradient` (what the mean of its gradient misses) and `prior_part` (the prior's gradient as an expression).
"""
