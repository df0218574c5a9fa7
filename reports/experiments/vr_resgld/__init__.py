"""The simulations of vr-resgld on its mixture of tied means.

`settings` are the numbers that the paper prints, one run of SGLD or of replica exchange, and the variances of its energies;
`figures` makes figures 2 and 6.
"""
