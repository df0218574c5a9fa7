"""Which random numbers does a run use, with bits that do not depend on the batching of chains and steps?

`philox` makes counter-based words, `variates` makes normal numbers and integers of them, `noise` assigns a stream to each row of
a sweep.
"""
