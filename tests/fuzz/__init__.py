"""Thousands of broken, extreme and hostile inputs, drawn from a seed: none may end in a traceback, a hang or a silent acceptance.

`case` is one input and what must become of it; `literals` has the values, valid and hostile; `keys` draws configurations
from the model itself, `documents` (with `arrays`) breaks files of every format that is read, `draws` those of a
run that goes on, whose draws must then be those of an undisturbed one, `commands` draws command lines
from the tree of the commands themselves, `numbers` any number for any key, and computes: a new key, option or command is tried
without a word here. `running` runs the cases
in child processes with limits of time and memory, `seams` keeps most of them from computing, and `judging` says what is
wrong with an outcome. `python -m tests.fuzz` runs many and writes what came out to `reports/fuzz`.
"""
