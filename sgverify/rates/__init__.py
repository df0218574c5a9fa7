"""From expansions, from values or from sampled points, to an exponent and a verdict.

Exact: `powers` finds those of h from values at falling steps, `verdict` compares found and predicted rates. Sampled: `sample`
(points with errors), `fit` (least squares, and a regression that describes the points), `decision` (is a forbidden order part of
the error, and how many chains tell?), `length` (rates in L).
"""
