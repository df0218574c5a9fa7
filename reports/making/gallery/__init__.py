"""Which scheme for what, computed: tables, work-precision, stability regions, and one picture for each idea of the theory.

`settings` names the comparisons and their schemes, each computed by `sgverify.compare`; `stability` has the largest steps,
`gaussian` and `ideas` what the pictures of the theory show; `numbers` joins them to gallery.json. From that JSON alone `tables`
writes Markdown and LaTeX, `curves` and `pictures` draw in a `frame`; `making` writes all files.
"""
