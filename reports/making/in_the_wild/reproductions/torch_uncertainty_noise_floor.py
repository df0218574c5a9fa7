import sys
from importlib.util import find_spec, module_from_spec

import torch

sys.modules["torch_uncertainty"] = module_from_spec(
    find_spec("torch_uncertainty")
)  # __init__ wants lightning
from torch_uncertainty.optim import SGHMC

torch.manual_seed(0)
theta = torch.nn.Parameter(torch.zeros(4, 100_000))
theta.grad = torch.tensor([[1.0], [0.0], [0.09], [0.2]]).repeat(1, 100_000)
sampler = SGHMC([theta])
sampler.step()  # V is the squared gradient now
of, V = sampler.param_groups[0], sampler.state[theta]["v_hat"][:, 0]
formula = (2 * of["lr"] ** 2 * of["friction"] / V.sqrt() - of["lr"] ** 4) * of["noise_factor"] ** 2
found, *others = (theta.var(dim=1) / formula).tolist()  # the variance of the noise over that of the formula
expected, beside = 1.0, dict(zip(("at a gradient of 0", "at 0.09", "at 0.2"), others, strict=True))
