"""Edits of the lines that a step of somebody's torch code runs through, and the simplest one under which the code is right.

`text`: what the names of the code stand for. `candidates`: the edits of a file's lines that are tried. `search`: the file is
edited in memory, loaded again and judged again.
"""
