import posteriors
import torch

baoa = posteriors.sgmcmc.baoa.build(lambda theta, batch: (0 * theta.sum(), torch.empty(0)), lr=1e-5)
zero = torch.zeros(2, dtype=torch.float64)
momenta = []
for start in (zero, zero + 1):
    torch.manual_seed(0)
    momenta.append(baoa.update(posteriors.sgmcmc.baoa.init(zero, start), None)[0].momenta)
torch.manual_seed(0)
noise, decay = momenta[0] / torch.randn_like(zero), momenta[1] - momenta[0]
found, expected = float((noise**2 / (1 - decay**2))[0]), 1.0  # the stationary variance of the momentum
