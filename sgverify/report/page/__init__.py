"""The report as two HTML pages that open offline: `index.html` with the story, and `evidence.html` with all evidence.

In an order for reading: `environment` (templates, filters and colours that all pages share), `story` (the first screen),
`pages` (what stands below it, both pages, rendered, and figures as files for Markdown).
"""
