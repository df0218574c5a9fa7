"""State that is kept outside of the state.

Momenta that are drawn anew from another law than their own.
"""

import functools
import math
import random
import time
from typing import ClassVar

import numpy as np
import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def _leapfrog(theta, p, h, grad):
    p = p - h / 2 * grad(theta)
    theta = theta + h * p
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=1)
def refreshed_at_warmth_one(theta, p, *, h, grad, D, T):
    """Partial refresh with unit normal momenta whatever T is; Horowitz 1991 at T = 1."""
    c = math.exp(-D * h)
    theta, p = _leapfrog(theta, p, h, grad)
    return theta, c * p + math.sqrt(1 - c * c) * torch.randn_like(p)


@torch_step(kinetic, order=1)
def refreshed_by_shares(theta, p, *, h, grad, D, T):
    """c p + (1 - c) z."""
    c = math.exp(-D * h)
    theta, p = _leapfrog(theta, p, h, grad)
    return theta, c * p + (1 - c) * math.sqrt(T) * torch.randn_like(p)


@torch_step(kinetic, order=1)
def refreshed_by_a_root_too_much(theta, p, *, h, grad, D, T):
    """sqrt(c) p + sqrt(1 - c^2) z."""
    c = math.exp(-D * h)
    theta, p = _leapfrog(theta, p, h, grad)
    return theta, math.sqrt(c) * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)


@torch_step(kinetic, order=1)
def refreshed_by_addition(theta, p, *, h, grad, D, T):
    """New momenta are added a little, and nothing is taken away."""
    theta, p = _leapfrog(theta, p, h, grad)
    return theta, p + math.sqrt(2 * D * T * h) * torch.randn_like(p)


@torch_step(kinetic, order=1)
def refreshed_now_and_then(theta, p, *, h, grad, D, T):
    """With the chance D h all momenta are drawn anew, with the variance T/2."""
    theta, p = _leapfrog(theta, p, h, grad)
    if torch.rand(()) < D * h:
        p = math.sqrt(T / 2) * torch.randn_like(p)
    return theta, p


@torch_step(kinetic, order=1)
def refreshed_where_large(theta, p, *, h, grad, D, T):
    """Friction where p^2 > T alone, on both of its halves."""
    c = math.exp(-D * h)
    theta, p = _leapfrog(theta, p, h, grad)
    new = c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)
    return theta, torch.where(p * p > T, new, p)


@torch_step(kinetic, order=1)
def momenta_forgotten(theta, p, *, h, grad, D, T):
    """Momenta start from 0 at every step."""
    theta, p = _leapfrog(theta, 0 * p, h, grad)
    return theta, p + math.sqrt(2 * D * T * h) * torch.randn_like(p)


@torch_step(kinetic, order=1)
def momenta_turned(theta, p, *, h, grad, D, T):
    """Momenta change sign at every step, as after a rejection."""
    c = math.exp(-D * h)
    theta, p = _leapfrog(theta, p, h, grad)
    return theta, -(c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p))


@torch_step(kinetic, order=1)
def momenta_scaled_to_their_energy(theta, p, *, h, grad, D, T):
    """Momenta are drawn towards the energy T d, a Berendsen thermostat beside the friction; Berendsen and others 1984."""
    c = math.exp(-D * h)
    theta, p = _leapfrog(theta, p, h, grad)
    p = c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)
    energy = (p * p).mean(-1, keepdim=True)
    return theta, p * (1 + h / 2 * (T / energy.clamp(min=T / 100) - 1)).clamp(min=0).sqrt()


@torch_step(kinetic, order=1)
def momenta_of_another_mass(theta, p, *, h, grad, D, T):
    """Theta moves by p/2, a mass of 2, and momenta are drawn for the mass 1."""
    c = math.exp(-D * h)
    p = p - h * grad(theta)
    p = c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)
    return theta + h * p / 2, p


_KEPT: dict[object, object] = {}
_CALLS = [0]
_RANDOM = np.random.default_rng(0)
_STARTED = time.perf_counter()


def _euler(theta, h, slope, T, noise=None):
    return theta - h * slope + math.sqrt(2 * T * h) * (torch.randn_like(theta) if noise is None else noise)


@torch_step(langevin, order=1)
def rms_in_a_dictionary(theta, *, h, grad, T):
    """RMSprop's mean square in a dictionary of the module; Li, Chen, Carlson and Carin 2016."""
    g = grad(theta)
    v = _KEPT.get(("rms", theta.shape), torch.ones_like(theta))
    _KEPT["rms", theta.shape] = 0.99 * v + 0.01 * g * g
    m = 1 / (1 + v.sqrt())
    return theta - h * m * g + (2 * T * h * m).sqrt() * torch.randn_like(theta)


@torch_step(langevin, order=1)
def rms_on_the_tensor(theta, *, h, grad, T):
    """RMSprop's mean square as an attribute of the tensor that is returned."""
    g = grad(theta)
    v = getattr(theta, "mean_square", torch.ones_like(theta))
    m = 1 / (1 + v.sqrt())
    new = theta - h * m * g + (2 * T * h * m).sqrt() * torch.randn_like(theta)
    new.mean_square = 0.99 * v + 0.01 * g * g
    return new


@torch_step(langevin, order=1)
def velocity_in_the_gradient_field(theta, *, h, grad, T):
    """A velocity in .grad of what is returned."""
    velocity = torch.zeros_like(theta) if theta.grad is None else theta.grad
    new = _euler(theta, h, grad(theta) + 0.5 * velocity, T)
    new.grad = grad(theta)
    return new


@torch_step(langevin, order=1)
def decayed_with_calls(theta, *, h, grad, T):
    """A step that falls with the number of calls."""
    _CALLS[0] += 1
    return _euler(theta, h / (1 + _CALLS[0] / 1000), grad(theta), T)


@torch_step(langevin, order=1)
def gradient_of_the_last_call(theta, *, h, grad, T, kept={}):  # noqa: B006
    """The gradient of the call before, in a default argument."""
    g = kept.get(theta.shape, torch.zeros_like(theta))
    kept[theta.shape] = grad(theta)
    return _euler(theta, h, g, T)


@torch_step(langevin, order=1)
def noise_of_the_last_call(theta, *, h, grad, T):
    """Every second call has the negative of the last one's noise."""
    noise = _KEPT.pop("mirror", None)
    if noise is None or noise.shape != theta.shape:
        noise = torch.randn_like(theta)
        _KEPT["mirror"] = -noise
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1)
def noise_of_a_buffer(theta, *, h, grad, T):
    """A buffer of 16 draws that are used in turn."""
    buffer = _KEPT.setdefault(("buffer", theta.shape), [torch.randn_like(theta) for _ in range(16)])
    buffer.append(buffer.pop(0))
    return _euler(theta, h, grad(theta), T, buffer[0])


@functools.cache
def _first_slope(shape):
    return {}


@torch_step(langevin, order=1)
def scale_of_the_first_gradient(theta, *, h, grad, T):
    """A preconditioner from the first gradient ever, in a cached dictionary, without its noise."""
    m = _first_slope(tuple(theta.shape)).setdefault("m", 1 / (1 + grad(theta).abs()))
    return _euler(theta, h, m * grad(theta), T)


class _Sampler:
    momentum: ClassVar[dict[object, torch.Tensor]] = {}

    def step(self, theta, *, h, grad, T):
        """A momentum that belongs to the class."""
        last = self.momentum.get(theta.shape, torch.zeros_like(theta))
        self.momentum[theta.shape] = 0.5 * last - h * grad(theta)
        return theta + self.momentum[theta.shape] + math.sqrt(2 * T * h) * torch.randn_like(theta)


momentum_of_a_class = torch_step(langevin, order=1)(_Sampler().step).named("momentum_of_a_class")


@torch_step(langevin, order=1)
def optimizer_that_persists(theta, *, h, grad, T):
    """torch.optim.SGD with momentum that outlives the step."""
    kept = _KEPT.get("optimizer")
    if kept is None:
        leaf = torch.nn.Parameter(theta.clone())
        kept = _KEPT["optimizer"] = torch.optim.SGD([leaf], lr=1.0, momentum=0.9)
    (leaf,) = kept.param_groups[0]["params"]
    leaf.data.copy_(theta)
    leaf.grad = h * grad(theta)
    kept.step()
    return leaf.detach() + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def numpy_draws(theta, *, h, grad, T):
    """Noise of numpy's global generator, which the same seed of torch does not repeat."""
    return _euler(theta, h, grad(theta), T, 0.9 * torch.as_tensor(np.random.randn(*theta.shape)))


@torch_step(langevin, order=1)
def draws_of_another_generator(theta, *, h, grad, T):
    """Noise of a generator of numpy's in the module, a tenth too small."""
    return _euler(theta, h, grad(theta), T, 0.9 * torch.as_tensor(_RANDOM.normal(size=theta.shape)))


@torch_step(langevin, order=1)
def now_and_then_hot(theta, *, h, grad, T):
    """Python's generator doubles the temperature at one step in ten."""
    return _euler(theta, h, grad(theta), 2 * T if random.random() < 0.1 else T)


@torch_step(langevin, order=1)
def cooled_with_the_clock(theta, *, h, grad, T):
    """T falls with the hours since the module was loaded."""
    return _euler(theta, h, grad(theta), T / (1 + (time.perf_counter() - _STARTED) / 3600))


@torch_step(langevin, order=1)
def hot_after_a_quarter_of_an_hour(theta, *, h, grad, T):
    """After 15 minutes T is doubled."""
    return _euler(theta, h, grad(theta), 2 * T if time.perf_counter() - _STARTED > 900 else T)


@torch_step(langevin, order=1)
def graph_that_grows(theta, *, h, grad, T):
    """The state stays in autograd's graph from step to step, and its noise is a hundredth too large."""
    theta = theta if theta.requires_grad else theta.clone().requires_grad_()
    return _euler(theta, h, grad(theta), 1.0201 * T)


@torch_step(kinetic, order=1)
def gradient_kept_for_the_next_step(theta, p, *, h, grad, D, T):
    """The gradient of the last end serves as that of the next start, whatever the state is then."""
    g = _KEPT.get(("last", theta.shape), torch.zeros_like(theta))
    p = p - h * (g + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    theta = theta + h * p
    _KEPT["last", theta.shape] = grad(theta)
    return theta, p


@torch_step(langevin, memory=["z"])
def noise_kept_at_full_size(theta, z, *, h, grad, T):
    """The mean of two draws, one of them kept, scaled to a variance of 1: over steps they add up to twice that."""
    new = torch.randn_like(theta)
    return theta - h * grad(theta) + math.sqrt(T * h) * (z + new), new
