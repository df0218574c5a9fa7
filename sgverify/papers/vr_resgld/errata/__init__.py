"""The formulas of vr-resgld under examination: as printed in `printed.toml`, and as computed here.

`control_variates` (the variance-reduced energies), `swaps` (the noisy swap rule) and `dissipativity` (the constants of
the appendices) each hold `FORMULAS`.
"""
