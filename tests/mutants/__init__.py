"""Planted bugs: small changes to correct schemes and to the code that runs them, each of which a check must refute.

`mutant` says what a planted bug is, `registry` lists those of the `catalogue`, `planting` plants one in a definition or in the
running code; the schemes of `correct` and the steps of `torch_code` are there for bugs to be planted in. `schemes` makes each a
reference that `sgverify verify` takes. Each states the cause that a diagnosis has to name. `reports.making.power`
runs every check on every bug.
"""
