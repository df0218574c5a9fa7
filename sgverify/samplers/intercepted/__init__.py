"""How does a user's torch code run with its random draws and its gradient prescribed, and what does it keep between calls?

`black_box` binds a step to a gradient and to numbers, `interception` records, replays and hands out draws, and
says which numbers drive them, `replacing` what each of torch's random operations returns, `numpy_draws` how numpy's become torch's,
`log_density` how a density follows
from gradients.
`equilibrated` runs a step with memory from where that comes to rest.
About the code: `repeated_step` (does it give equal bits when its draws come again), `other_sources` (what else it uses), `dtypes`.
"""
