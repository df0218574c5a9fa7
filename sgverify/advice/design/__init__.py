"""Design: the words over an alphabet, and their shares, with the smallest leading error of averages, searched and then proved.

`target_class` has the leading errors of words on a class of targets, `searching` the words that take so many gradients a step, and
their shares with the smallest error; `designing` proves what was found (`design`), and `model` is the answer and its text.
"""
