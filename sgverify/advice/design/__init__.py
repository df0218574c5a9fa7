"""Design: the words over an alphabet, and their shares, with the smallest leading error of averages, searched and then proved.

`candidates` are the words that take so many gradients a step, `target_class` their leading errors on a class of targets,
`searching` the shares with the smallest one; `designing` proves what was found (`design`), and `model` is the answer and its text.
"""
