"""Is torch code also right at other temperatures, frictions, dimensions and step sizes than the configured ones?

`other_settings` is the check: it tries a design of temperature, friction, dimension and step, at each of which
`step_at_setting` compares the step with its dynamics, by its law (`sgverify.law`); a step that accepts and rejects is held to its
invariance. `switches` asks whether the code is one formula throughout.
"""
