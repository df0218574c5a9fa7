import posteriors
import torch

sgnht = posteriors.sgmcmc.sgnht.build(
    lambda theta, batch: (-(theta**2).sum() / 2, torch.empty(0)), lr=0.1, xi=0.0
)
found, expected = float(sgnht.init(torch.zeros(1)).xi), 0.0  # the thermostat starts where it was told to
