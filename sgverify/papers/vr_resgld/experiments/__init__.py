"""The simulations of vr-resgld on its mixture of tied means.

`settings` are what the paper prints, `runs` one run of SGLD or of replica exchange, `variances` how noisy energies are,
`figures` makes figures 2 and 6.
"""
