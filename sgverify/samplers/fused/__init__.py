"""How do steps run in one C kernel, generated from the recorded definition, with equal bits?

`choosing` times the first steps of a run, and `driver` moves it by a kernel where that pays. `recorded` records what a kernel runs.
`translation` turns the operations of a tape into `loops`, `gradients` says which gradients over data a step reads, `data_sums` sums
them, `elementary` makes C functions of exp, log, sin and the like. `program` writes the C text for a `shape`, `compiler` builds
and keeps it, `kernel` calls it. `composites` says what happens between the steps of a composite; a plain run has no actions.
`drawing` draws random numbers in C outside of a kernel.
"""
