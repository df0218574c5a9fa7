import posteriors
import torch

sgld = posteriors.sgmcmc.sgld.build(lambda theta, batch: (-(theta**2).sum() / 2, torch.empty(0)), lr=0.1)
first, second = sgld.init(torch.zeros(1)), sgld.init(torch.zeros(1))
before = int(second.step)
for _ in range(5):
    first, _ = sgld.update(first, None, inplace=True)
found, expected = int(second.step) - before, 0  # the second chain has taken no step
