import torch
from devinterp.optim import SGMCMC

torch.manual_seed(0)
theta = torch.nn.Parameter(torch.zeros(100_000))
theta.grad = torch.zeros_like(theta)
SGMCMC.sgnht([theta], lr=0.01, nbeta=2.0).step()
found, expected = float(theta.var()) / 0.01, 1.0  # the noise of one step over lr: 1 samples exp(-nbeta U)
