"""How do steps run in one C kernel, generated from the recorded definition, with equal bits?

`choosing` times the first steps of a run, and `driver` moves it by a kernel where that pays. `translation` turns the operations of
a tape into `loops`, `gradients` says which gradients over data a step reads, `data_sums` sums them, `minibatches` draws those that
are not independent, `elementary` makes C functions of exp, log, sin and the like, `program` writes the C text and keeps what it has
written, `compiler` builds it, `built` keeps what is built, `kernel` calls it. `drawing` draws the random numbers of runs whose
steps are taken on torch. `composites` has all of it for runs with actions between the steps.
"""
