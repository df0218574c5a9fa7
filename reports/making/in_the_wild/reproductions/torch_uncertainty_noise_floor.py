import torch

from reports.making.in_the_wild.samplers.torch_uncertainty import (
    SGHMC,  # that of torch_uncertainty.optim, loaded without torchvision
)

torch.manual_seed(0)
theta = torch.nn.Parameter(torch.zeros(100_000))
theta.grad = torch.zeros_like(theta)
SGHMC([theta], lr=1e-2, friction=0.05, noise_factor=1e-2, burn_in_steps=0).step()  # its defaults
formula = (2 * 1e-2**2 * 0.05 - 1e-2**4) * 1e-2**2
found, expected = float(theta.var()) / formula, 1.0  # the momentum's noise, over its formula
