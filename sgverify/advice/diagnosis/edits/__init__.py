"""Which edits of a definition's text are tried?

`expressions`: the terms and factors of a text. `rules`: an edit, and what all rules that make edits share; `products`, `sums`
and `names`: the rules. `candidates`: all edits of a text. `guidance`: those that a cause speaks for. `plainness`: the plainest
of those that make one law.
"""
