import torch
from devinterp.optim import SGMCMC

torch.manual_seed(0)
theta = torch.nn.Parameter(torch.zeros(100_000))
theta.grad = torch.zeros_like(theta)
sampler = SGMCMC.sgnht([theta])
sampler.step()
found, expected = float(theta.var()) / sampler.param_groups[0]["lr"], 1.0  # noise: 1 samples exp(-nbeta U)
