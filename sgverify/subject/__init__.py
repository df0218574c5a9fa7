"""A subject: one scheme, one target and one configuration, bound once, with all quantities derived from the three.

Whoever asks something of a scheme comes through one door, `binding`: it loads the reference, reads the adapter's settings,
finds the density that code with its own loss is held against, and refuses settings that contradict one another. From there on a
subject is handed on, and nobody loads a scheme or builds a target again. `subject` is a definition under a configuration,
`composite` a step in the user's torch code, and a rule around the steps of a scheme with its ladder of temperatures. What is
read of a subject is stored with it by `caching`, so that two questions share it: the target, the model of the exact engines,
the proved order, the `step_sizes` (the stability limit and a typical step), and the prior's gradient as an expression. `seeds` are
those of its runs, `momentum_unit` is that in which a step measures its momentum.

The room stands between the readings and the checks: a default step is half the stability limit, which `exact` computes.
"""
