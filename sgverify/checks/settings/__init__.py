"""Is torch code also right at other temperatures, frictions, dimensions and step sizes than the configured ones?

`other_settings` is the check: it tries `designs` of temperature, friction, dimension and step, each a
`gaussian_setting` at which `step_at_setting` compares the step with its dynamics, by its map (`one_step_map`) and as a
function of rows (`step_rows`). `switches` asks whether the code is one formula throughout, `law_defect` how far one
step moves the law it should leave, `black_box_bias` reads the invariant law off its affine map, `own_dynamics`
recognises another dynamics with the same law, `accept_reject` a step that accepts and rejects.
"""
