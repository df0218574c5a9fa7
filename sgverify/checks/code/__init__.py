"""Does the running sampler do what its definition says?

Steps: `step_against_definition` compares every step with the definition in long double, `pure_step` asks whether a
step is a function of state, draws and minibatch alone, `dtype_audit` whether a float64 run is float64 throughout,
`white_noise` and `independent_chains` whether draws are fresh, of their law and independent, `torch_draws` the same of torch
code. Averages: `averaging`,
`moments`, and `sampled_average` against the exact `running_average_law`. Gradients: `gradient_mean` enumerates the
minibatches of `gradient_cases`, `index_stream` follows the running draws of data, `gradient_by_differences` holds
autograd against differences, `batches` holds batches of chains against single ones. Both use `transcripts` of short
runs and `injected_step`, one step with its draws given.
"""
