"""Adaptively weighted samplers: where do the weights converge, and what do averages converge to?

`weighted_sampler` holds the rules, regions and masses of one sampler. `limit` finds the fixed point theta* of the weights, its
stability, and the rate of E|theta_k - limit|^2; `laws` the error caused by the regions, and `line_terms` each term of the bounds,
on a chain in one dimension.
"""
