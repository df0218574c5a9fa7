"""Public bug reports of samplers, each as a few lines of torch with the fault, and the text that mends it.

The code is written anew: each report keeps the kind of the fault and its address, and none of its lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class BugReport:
    """One report: where it was filed, what was wrong, and code in which `was` stands where `now` is right."""

    name: str
    address: str
    fault: str
    code: str
    was: str
    now: str
    settings: dict[str, object] = field(default_factory=dict)

    def text(self, *, mended: bool = False) -> str:
        """The file with the fault, or without it."""
        assert self.code.count(self.was) == 1, self.name
        return HEAD + (self.code.replace(self.was, self.now) if mended else self.code)


HEAD = """import math

import torch
from torch.optim import Optimizer

from sgverify import torch_step
from sgverify.schemes import kinetic, langevin


class Base(Optimizer):
    def __init__(self, params, lr=1e-3, temperature=1.0):
        super().__init__(params, dict(lr=lr, temperature=temperature))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                self.move(p, group["lr"], group["temperature"])


"""


REPORTS = (
    BugReport(
        "edward-sgld",
        "https://github.com/blei-lab/edward/issues/722",
        "the step size is handed over as the standard deviation of the noise, and is its variance",
        """class Sampler(Base):
    def move(self, p, lr, temperature):
        scale = lr * temperature
        p.add_(p.grad, alpha=-lr / 2).add_(torch.randn_like(p), alpha=scale)
""",
        "scale = lr * temperature",
        "scale = math.sqrt(lr * temperature)",
    ),
    BugReport(
        "csgmcmc-noise-in-loss",
        "https://github.com/ruqizhang/csgmcmc/issues/1",
        "noise enters as a term of the loss and is multiplied by the step size: its scale has a wrong power of it",
        """class Sampler(Base):
    def move(self, p, lr, temperature):
        noise_std = math.sqrt(2 * lr * temperature)
        d_p = p.grad + noise_std * torch.randn_like(p)
        p.add_(d_p, alpha=-lr)
""",
        "math.sqrt(2 * lr * temperature)",
        "math.sqrt(2 * temperature / lr)",
    ),
    BugReport(
        "ibc-langevin",
        "https://github.com/google-research/ibc/issues/6",
        "half of the gradient and the noise are multiplied by one step size",
        """class Sampler(Base):
    def move(self, p, lr, temperature):
        noise = math.sqrt(temperature) * torch.randn_like(p)
        p.sub_(0.5 * lr * p.grad + lr * noise)
""",
        "+ lr * noise",
        "+ math.sqrt(lr) * noise",
    ),
    BugReport(
        "bnn-langevin-noise",
        "https://github.com/JavierAntoran/Bayesian-Neural-Networks/issues/17",
        "the noise is multiplied by the learning rate where its root is due",
        """class Sampler(Base):
    def move(self, p, lr, temperature):
        noise = torch.randn(p.size(), dtype=p.dtype) * math.sqrt(2 * temperature) * lr
        p.add_(p.grad, alpha=-lr)
        p.add_(noise)
""",
        "math.sqrt(2 * temperature) * lr",
        "math.sqrt(2 * temperature * lr)",
    ),
    BugReport(
        "optax-noisy-sgd",
        "https://github.com/google-deepmind/optax/issues/337",
        "noise is added after the update was scaled by the learning rate, so that it does not follow it",
        """class Sampler(Base):
    def move(self, p, lr, temperature):
        update = lr * p.grad
        update = update + math.sqrt(2 * temperature) * torch.randn_like(p)
        p.sub_(update)
""",
        "math.sqrt(2 * temperature)",
        "math.sqrt(2 * lr * temperature)",
    ),
    BugReport(
        "understandingbdl-sgld",
        "https://github.com/izmailovpavel/understandingbdl/issues/24",
        "the noise has a size of its own, which does not follow the learning rate",
        """class Sampler(Base):
    def move(self, p, lr, temperature):
        noise_factor = 0.05 * math.sqrt(temperature)
        p.add_(-lr * p.grad)
        p.add_(noise_factor * torch.randn_like(p))
""",
        "0.05 * math.sqrt(temperature)",
        "math.sqrt(2 * lr * temperature)",
    ),
    BugReport(
        "bayesian-node-psgld",
        "https://github.com/SciML/DiffEqFlux.jl/issues/695",
        "the gradient is multiplied by the preconditioner, and the noise is not by its root",
        """@torch_step(langevin)
def sampler(theta, *, h, grad, T):
    g = torch.linspace(0.5, 2.0, theta.shape[-1], dtype=theta.dtype)
    return theta - h * g * grad(theta) + torch.sqrt(2 * h * T * torch.ones_like(g)) * torch.randn_like(theta)
""",
        "torch.ones_like(g)",
        "g",
    ),
    BugReport(
        "psgld-noise-over-n",
        "https://github.com/ChunyuanLI/pSGLD/issues/2",
        "the noise is divided by the number of data, of a gradient that belongs to the sum over them",
        """N = 1000


class Sampler(Base):
    def move(self, p, lr, temperature):
        std = math.sqrt(2 * lr * temperature) / N
        p.add_(p.grad, alpha=-lr).add_(torch.randn_like(p), alpha=std)
""",
        " / N",
        "",
    ),
    BugReport(
        "sa-ppo-sign",
        "https://github.com/huanzhang12/SA_PPO/issues/2",
        "the sign of the gradient is taken and not its value",
        """class Sampler(Base):
    def move(self, p, lr, temperature):
        p.sub_(lr * p.grad.sign())
        p.add_(torch.randn_like(p), alpha=math.sqrt(2 * lr * temperature))
""",
        "p.grad.sign()",
        "p.grad",
    ),
    BugReport(
        "pybnn-sghmc-friction",
        "https://github.com/automl/pybnn/issues/4",
        "the momentum decays by a number that is not multiplied by the step size",
        """@torch_step(kinetic)
def sampler(theta, p, *, h, grad, D, T):
    p = p - h * grad(theta) - D * p + math.sqrt(2 * h * D * T) * torch.randn_like(p)
    return theta + h * p, p
""",
        "- D * p",
        "- h * D * p",
    ),
    BugReport(
        "pybnn-sghmc-noise",
        "https://github.com/automl/pybnn/issues/4",
        "the noise of the momentum lacks the friction",
        """@torch_step(kinetic)
def sampler(theta, p, *, h, grad, D, T):
    p = p - h * grad(theta) - h * D * p + math.sqrt(2 * h * T) * torch.randn_like(p)
    return theta + h * p, p
""",
        "math.sqrt(2 * h * T)",
        "math.sqrt(2 * h * D * T)",
    ),
    BugReport(
        "sghmc-without-noise",
        "https://github.com/TurboFreeze/sghmc/issues/2",
        "the friction is there and its noise is not",
        """@torch_step(kinetic)
def sampler(theta, p, *, h, grad, D, T):
    noise = 0 * torch.randn_like(p)
    p = p - h * grad(theta) - h * D * p + noise
    return theta + h * p, p
""",
        "0 * torch.randn_like(p)",
        "math.sqrt(2 * h * D * T) * torch.randn_like(p)",
    ),
    BugReport(
        "openmm-friction",
        "https://github.com/openmm/openmm/issues/3790",
        "each of two substeps has the friction of a whole step",
        """@torch_step(kinetic, order=1)
def sampler(theta, p, *, h, grad, D, T):
    c = math.exp(-D * h)
    for _ in range(2):
        p = c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)
    p = p - h * grad(theta)
    return theta + h * p, p
""",
        "math.exp(-D * h)",
        "math.exp(-D * h / 2)",
    ),
    BugReport(
        "numpyro-key-twice",
        "https://github.com/pyro-ppl/numpyro/issues/1949",
        "one key serves two draws of a step, which are equal then",
        """@torch_step(kinetic, order=1)
def sampler(theta, p, *, h, grad, D, T):
    c = math.exp(-D * h / 2)
    z = torch.randn_like(p)
    p = c * p + math.sqrt(T * (1 - c * c)) * z
    p = p - h * grad(theta)
    theta = theta + h * p
    p = c * p + math.sqrt(T * (1 - c * c)) * z
    return theta, p
""",
        "z\n    return",
        "torch.randn_like(p)\n    return",
    ),
    BugReport(
        "advancedhmc-one-number",
        "https://github.com/TuringLang/AdvancedHMC.jl/pull/166",
        "one random number is drawn for all",
        """class Sampler(Base):
    def move(self, p, lr, temperature):
        z = torch.randn((), dtype=p.dtype).expand_as(p)
        p.add_(p.grad, alpha=-lr).add_(z, alpha=math.sqrt(2 * lr * temperature))
""",
        "torch.randn((), dtype=p.dtype).expand_as(p)",
        "torch.randn_like(p)",
    ),
    BugReport(
        "rwmetropolis-key-again",
        "https://github.com/rlouf/blog-benchmark-rwmetropolis/pull/1",
        "a key is used again in the step after",
        """class Sampler(Optimizer):
    def __init__(self, params, lr=1e-3, temperature=1.0):
        super().__init__(params, dict(lr=lr, temperature=temperature))
        self.key = 0

    @torch.no_grad()
    def step(self, closure=None):
        generator = torch.Generator().manual_seed(self.key // 2)
        self.key += 1
        for group in self.param_groups:
            for p in group["params"]:
                z = torch.randn(p.shape, generator=generator, dtype=p.dtype)
                p.add_(p.grad, alpha=-group["lr"]).add_(z, alpha=math.sqrt(2 * group["lr"] * group["temperature"]))
""",
        "self.key // 2",
        "self.key",
    ),
    BugReport(
        "henripal-sgld",
        "https://github.com/henripal/sgld/issues/1",
        "noise of a variance of 1 is added to the gradient, which is multiplied by the learning rate",
        """class Sampler(Base):
    def move(self, p, lr, temperature):
        langevin = math.sqrt(2 * temperature) * torch.randn_like(p)
        p.add_(p.grad + langevin, alpha=-lr)
""",
        "math.sqrt(2 * temperature)",
        "math.sqrt(2 * temperature / lr)",
    ),
    BugReport(
        "ebm-anatomy-step",
        "https://github.com/point0bar1/ebm-anatomy/issues/1",
        "the gradient enters without the step size that the noise has",
        """@torch_step(langevin)
def sampler(theta, *, h, grad, T):
    epsilon = math.sqrt(2 * h * T)
    return theta - grad(theta) + epsilon * torch.randn_like(theta)
""",
        "- grad(theta)",
        "- h * grad(theta)",
    ),
    BugReport(
        "normalized-autoencoders-annealing",
        "https://github.com/swyoon/normalized-autoencoders/issues/12",
        "the step size is annealed and the noise is not: it keeps the size of the first one",
        """class Sampler(Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, dict(lr=lr))
        self.noise_scale = math.sqrt(2 * lr)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for x in group["params"]:
                x.add_(x.grad, alpha=-group["lr"])
                x.add_(torch.randn_like(x), alpha=self.noise_scale)
""",
        "alpha=self.noise_scale",
        'alpha=math.sqrt(2 * group["lr"])',
    ),
)
