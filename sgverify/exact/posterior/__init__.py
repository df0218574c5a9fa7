"""The true averages under exp(-U/T), with which every bias is compared.

`polynomials` derives Gaussian averages by sympy from the potential, `conjugate` recognises the other conjugate
posteriors, `tails` bounds averages on the line by ball arithmetic, by integrals on `panels` and bounds of the
tails; `reference` says which of them a target has.
"""
