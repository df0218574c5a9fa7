"""The report on released samplers of other libraries: `reports/in-the-wild/`, made by `python -m reports in-the-wild`.

`libraries` lists what is judged: each library's samplers as steps, in `samplers`. `making` judges what is installed and writes the
JSON, `finds` holds the lines with their mends and formulas, `reading` what was read in sources and not run, `page` the page by
`page.html`, and `reproductions` ten lines for each find.
"""
