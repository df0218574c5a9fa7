"""Is torch code also right at other temperatures, frictions, dimensions and step sizes than the configured ones?

`other_settings` is the check: it tries `designs` of temperature, friction, dimension and step, at each of which
`step_at_setting` compares the step with its dynamics, by its map (`sgverify.checks.one_step`). `switches` asks whether the
code is one formula throughout, `law_defect` how far one step moves the law it should leave, `own_dynamics` recognises
another dynamics with the same law, `accept_reject` a step that accepts and rejects, `memory_of_steps` whether a memory
moves the state.
"""
