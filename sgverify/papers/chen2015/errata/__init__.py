"""The formulas of chen2015 under examination: as printed in `printed.toml`, and as computed here.

`definitions` writes the printed dynamics and updates as definitions; `generators` (with the densities of appendix A),
`products` of exponentials, `sums` over steps, `flows` of several minibatches and the `theorems` on rates
each hold `FORMULAS`.
"""
