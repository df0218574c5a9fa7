import torch
from devinterp.optim import SGMCMC

theta = torch.nn.Parameter(torch.zeros(1000, dtype=torch.float64))
theta.grad = torch.zeros_like(theta)
SGMCMC.sgld([theta], lr=0.25).step()  # sqrt(lr) is a power of 2, and rounds nothing
found, expected = float((theta == theta.float()).double().mean()), 0.0  # the share of float32 numbers
