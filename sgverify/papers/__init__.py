"""Claims, formulas, figures and settings of papers: one folder a paper holds everything about it.

The folder of a paper may hold `cards/PREFIX/ID.toml` (its claims PREFIX/ID, printed and corrected), `suite.py` (the schemes and
configurations under which its claims are judged), `errata/` (its examined formulas, and `printed.toml`, their printed text),
`figures/` (its figures, recomputed) and `presets.toml` (its printed settings). The folder's `__init__`
declares these parts in one `PAPER`. `own/` holds the claims of this package itself.

In an order for reading: `paper` (the declaration of a folder), `suites` (those of a user's file, and studies), `formula` (a
printed formula under examination, and errata); then `chen2015`, `vr_resgld`, `awsgld`. No module below this room names a
paper: cards and presets are data.
"""
