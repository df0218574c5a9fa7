"""The report on released samplers of other libraries: `reports/in-the-wild/`, made by `python -m reports in-the-wild`.

`libraries` lists what is judged: each library's samplers as steps, in `samplers`. `making` judges what is installed and writes the
JSON, `finds` holds the lines with their mends and formulas, `reading` what was read in sources and not run. `reproductions` has a
script for each find, which `alone` runs with the library and nothing of ours, and which says what it passes. `issues` makes the
text that one could file, `page` the page by `page.html`.
"""
