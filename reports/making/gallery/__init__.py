"""Which scheme for what, computed: a table, work-precision, stability regions, and one picture for each idea of the theory.

`settings` names targets and schemes. `gaussian` measures schemes on a Gaussian posterior with full gradients and minibatches,
`well` those on a double well, `stability` their largest steps, `ideas` what the pictures of the theory show; `numbers` joins them
to gallery.json. From that JSON alone `tables` writes Markdown and LaTeX, `curves` and `pictures` draw in a `frame`; `making`
writes all files.
"""
