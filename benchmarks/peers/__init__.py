"""How fast are we beside the libraries that people use, and beside the loop that one writes by hand?

`problems` says what is sampled, `ours`, `torch_loops`, `numba_loops`, `jax_libraries`, `posteriors_library` and `floors` sample it,
`contenders` lists them, `cells` what is measured. `worker` runs one contender in a process of its own, `conversation` talks to it,
`comparison` takes the times in turns, `bars` says what is met, `earlier` has what was measured before, `page`
prints, `command` is `python -m benchmarks peers`.
"""
