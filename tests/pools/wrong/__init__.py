"""Steps with a bug, each stating what it is said to be and is not; none of them may pass.

Scales and units: `noise_scale`, `temperature`, `friction`, `dimension`, `thermostats`, `preconditioners`. Randomness:
`draws_of_another_law`, `randomness_reused`, `chains_coupled`. Gradients and state: `gradients_misused`, `state_kept`,
`optimizer_like`. Arithmetic and thresholds: `precision`, `clips_and_resets`, `integrators`.
"""
