"""Whether a diffusion leaves a density invariant: the Fokker-Planck equation, decided for every smooth potential.

`fokker_planck` decides it.
"""
