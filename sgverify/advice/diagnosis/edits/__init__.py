"""The edits of a definition's text that are tried.

`expressions`: the terms and factors of a text. `rules`: an edit, its plainness, the ground that all rules share,
and the edits that a cause speaks for. `products`: the rules of factors. `candidates`: the rules of sums and of names, and all edits
of a text.
"""
