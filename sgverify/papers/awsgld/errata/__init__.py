"""The formulas of awsgld under examination: as printed in `printed.toml`, and as computed here.

`weights` (mean field and theta*), `laws` (invariant laws), `noise` (of minibatch energies) and `rates` (of the proofs)
each hold `FORMULAS`.
"""
