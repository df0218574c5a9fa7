"""How far can this package be trusted?

`mutants`: planted bugs that a check must refute. `pools`: right and wrong steps from the literature and from
practice, and what `verify` says of them. `calibration`: how often the decision procedures err on simulated truths.
`false_alarms`: which checks err on correct schemes under generated configurations.
`screening`: how often screen-and-confirm passes examples whose sampled mean is off. `installation`: is what is
installed in order, and are planted bugs refuted with it? The last results are committed
under `reports/power/` and `reports/calibration/`.
"""
