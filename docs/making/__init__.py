"""The documentation site: `python -m mkdocs build --strict` from the root of a checkout, configured in `mkdocs.yml`.

The pages that are written by hand lie in `docs/`; the others are generated while the site is built. `hooks` is what mkdocs
calls. `pages` names the generated pages: `claims` with their status, `checks` with what they cannot see, `catalogues`
(schemes, targets, gradients, schedules, configuration keys, limits), `interfaces` (command line, Python, JSON schemas),
`citation`, `gallery` (which scheme for what). `notebooks` makes pages of notebooks, `words` holds
what readers type instead of the words of a page. `places` says where a file of the repository
stands on the site, `mathematics` turns formulas into MathML, `markdown` writes tables. `blocks` runs the code blocks of a
document, and `python -m docs.making` writes what they print into it.
"""
