"""Somebody's own code: does it do, call by call, what a step of a chain must do?

Of torch code: `pure_step` (a step is a function of state, draws and minibatch alone, and a chain in a batch is what it is alone)
and `dtype_audit` (a float64 step is float64 throughout), both by one step with its draws given.
`real_run` looks at the law of code that cannot be called twice. Of a user's own density: `own_gradient`, autograd against
differences. Whether sgverify's own sampler does what a definition says is asked by its tests, and by `doctor`.
"""
