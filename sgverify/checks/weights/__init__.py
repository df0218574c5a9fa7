"""Adaptively weighted samplers: the rules that run, where the weights settle, and what averages converge to.

`weighted_sampler` holds one sampler's rules, regions and masses. `rules` are held to what they are for, `adaptation`
goes over a short run again. `limit` finds where the weights rest and whether they stay, `mse` how fast they get there,
`laws` what the regions cost, `line_terms` each term of the bounds on a chain of the line.
"""
