"""The figures of chen2015, computed to be shown beside the evidence of its suite.

`settings` are what the paper prints, and words that studies share; `effort` how much is computed, `experiment` one scheme under
these settings. `invariant_bias` makes figure 1, `traces` figures 2, 5 and 7, `comparison` figures 3, 6 and 8 with constants found
by `tuning`. `experiment` also judges statements over draws of the data.
"""
