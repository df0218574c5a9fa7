"""The planted bugs, one file for each family, each holding `MUTANTS`.

Steps: `splittings`, `euler`, `thermostats`, `underdamped`, `noisy_gradients`, `riemannian`, `black_boxes`. Gradients:
`estimators`, `gradients`, `elementary` (functions). Runs: `random_numbers`, `averages`, `runs` (start, precision, potential,
schedule). Composites: `swaps`, `replica_runs`, `adaptive`, `exchange_rules`.
"""
