"""Planted bugs: small changes to correct schemes and to the code that runs them, each of which a check must refute.

`mutant` says what a planted bug is, `registry` lists those of the `catalogue`, `planting` edits the source text for a
while, `matrix` runs every check on every bug and on the `correct` schemes and `torch_code` beside them. `schemes`
makes each a reference that `sgverify verify` takes. `true_causes` states what a diagnosis of each has to name.
"""
