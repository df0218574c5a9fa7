"""Papers: one folder a paper, with all that is one paper's.

Of a paper a folder may hold `cards/PREFIX/ID.toml` (the claims PREFIX/ID, printed and corrected), `suite.py` (the
schemes and configurations in which its claims are settled), `errata/` (its formulas, examined, and `printed.toml`, what
it prints), `figures/` or `experiments/` (its figures, computed anew) and `presets.toml` (settings that it prints). Its
`__init__` says which of them it has, as one `PAPER`. `own/` holds the claims that are the toolkit's.

To read: `paper` (what a paper's folder declares), `suites`, `formula` (a printed formula under examination), `errata`,
`studies`; then `chen2015`, `vr_resgld`, `awsgld`. Nothing below this room knows of a paper: cards and presets are read as data.
"""
