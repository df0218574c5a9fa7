"""The edits of a definition's text that are tried.

`expressions`: the terms and factors of a text. `rules`: an edit, its plainness, and the ground that all rules share.
`products`: the rules of factors. `candidates`: the rules of sums and of names, and all edits of a text. `guidance`: the edits
that a cause speaks for.
"""
