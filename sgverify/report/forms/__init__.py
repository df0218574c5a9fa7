"""The forms of an answer, one definition for all of them.

`result` has the answer as a data frame, as Markdown, as a picture and in a notebook; `lines` are those of a terminal, `latex` those
of an article, and `bars` amounts that are drawn.
"""
