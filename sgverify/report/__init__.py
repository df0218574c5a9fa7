"""Reports from evidence: JSON, HTML, Markdown and JUnit, the figures, and lines for a terminal.

`answer` comes before the evidence, `text` is the terminal's form, `page` and `markdown` the report's, `writing` its folder
with JUnit; `formulas` shows formulas to readers. `matrix`, `errata` and `wording` are parts of it; `campaign` has a page of its
own. Figures: `figures` chooses the data, `drawing` draws, `studies` has panels of its own, `rate_plot` is one rate, `svg` what
lives inside a page, `picture` a drawing for notebooks and files, `colours` their look. `forms` are those that every
answer has.
"""
