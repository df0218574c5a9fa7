"""Correct schemes from the literature, each stating the true order of a step; none of them may violate.

Definitions: `euler`, `second_order`, `splittings`, `molecular_dynamics`, `thermostats`, `stabilised`, `coordinates`,
`remembering`, `other_dynamics`. Torch steps: `torch_overdamped`, `torch_underdamped`.
"""
