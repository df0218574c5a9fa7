"""Affine chains in the eigenvectors of the precision: a dense target of many coordinates as as many small chains.

Every block of a step is a polynomial in the precision, so that its eigenvectors decouple the coordinates, all but the
gradient's noise. `normal_modes` has the chain in these coordinates, the bound of what they leave coupled and the average under
the invariant law, `expansion` the bias at h = 0 by rational functions of the precision, in fractions.
"""
