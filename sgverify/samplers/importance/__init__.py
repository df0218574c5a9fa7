"""Averages under exp(-U/T) by importance sampling, where neither an exact law nor quadrature reaches.

`fitting` places the Student law that is drawn from on the target, and says where it does not fit; `averages` weighs the draws and
states the error of an average.
"""
