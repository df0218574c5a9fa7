"""Self-checks of sgverify's own sampler against the definition: plain functions of a subject, which our tests call.

Steps: `step_against_definition` compares every step with the definition in long double, `pure_runs` asks whether a step is a
function of state, draws and minibatch alone and runs leave one another alone, `float64_runs` whether a float64 run is float64
throughout, `white_noise` and `independent_chains` whether draws are fresh, of their law and independent (`whiteness`).
Averages: `averaging`, `moments`, and `sampled_average` against the exact `running_average_law`. Gradients: `gradient_mean`
enumerates the minibatches of `gradient_cases`, `index_stream` follows the running draws of data. Composites: `running_swaps` on
`driven` runs, `exchange_run` against a transcript `recomputed`, `adaptation` with the rules of `weight_rules`. `registry` lists
them, each gives a `finding`. Values at a point are judged by the sequential `point_null`, whose p-values are those of `nulls`.
"""
