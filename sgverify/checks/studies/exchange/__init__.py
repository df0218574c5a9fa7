"""The experiments of vr-resgld on its mixture of tied means: traces, swaps, and the variance of its energies."""
