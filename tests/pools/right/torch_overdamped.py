"""Steps of the overdamped equation in torch, as libraries and users write them, with draws of many kinds."""

import math

import torch

from sgverify.schemes.dynamics import langevin
from sgverify.schemes.torch_step import torch_step


@torch_step(langevin, order=1)
def code_euler(theta, *, h, grad, T):
    """Euler on randn_like; Welling and Teh 2011."""
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1, chains=True)
def code_euler_of_chains(theta, *, h, grad, T):
    """Euler of all chains at once, the draws by torch.normal with its deviation; Nemeth and Fearnhead 2021."""
    return torch.normal(theta - h * grad(theta), math.sqrt(2 * T * h))


@torch_step(langevin, order=1)
def code_in_place(theta, *, h, grad, T):
    """Euler in place on a copy, as an optimizer has it, the draws by normal_; Li, Chen, Carlson and Carin 2016."""
    new = theta.clone()
    new.add_(grad(theta), alpha=-h)
    return new.add_(torch.empty_like(new).normal_(0, math.sqrt(2 * T * h)))


@torch_step(langevin, order=1)
def code_of_distributions(theta, *, h, grad, T):
    """Euler as a draw of torch.distributions.Normal; Girolami and Calderhead 2011, section 3 without its test."""
    mean = theta - h * grad(theta)
    return torch.distributions.Normal(mean, math.sqrt(2 * T * h)).sample()


@torch_step(langevin, order=1)
def code_two_point(theta, *, h, grad, T):
    """Euler with signs of normal draws; Milstein and Tretyakov 2004, section 2.1."""
    z = torch.randn_like(theta)
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.where(z > 0, 1.0, -1.0).to(theta.dtype)


@torch_step(langevin, order=1)
def code_rademacher(theta, *, h, grad, T):
    """Euler with signs from whole numbers; Kloeden and Platen 1992, section 14.1."""
    sign = 2 * torch.randint(0, 2, theta.shape).to(theta.dtype) - 1
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * sign


@torch_step(langevin, order=1)
def code_uniform(theta, *, h, grad, T):
    """Euler with uniform draws of variance 1; Duenweg and Paul 1991."""
    uniform = math.sqrt(12) * (torch.rand_like(theta) - 0.5)
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * uniform


@torch_step(langevin, order=1)
def code_box_muller(theta, *, h, grad, T):
    """Euler with normal draws made of uniform ones; Box and Muller 1958."""
    radius = torch.sqrt(-2 * torch.log1p(-torch.rand_like(theta)))
    z = radius * torch.cos(2 * math.pi * torch.rand_like(theta))
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * z


@torch_step(langevin, order=1)
def code_inverse_normal(theta, *, h, grad, T):
    """Euler with the normal quantile of a uniform draw; Devroye 1986, section 2.2."""
    z = torch.special.ndtri(torch.rand_like(theta))
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * z


@torch_step(langevin, order=1)
def code_three_point(theta, *, h, grad, T):
    """Euler with three-point draws from a uniform one; Kloeden and Platen 1992, section 14.2."""
    u = torch.rand_like(theta)
    # As a tensor of the state's dtype: between Python numbers torch.where makes float32.
    three = torch.full_like(theta, 3).sqrt()
    z = torch.where(u < 1 / 6, -three, torch.where(u < 1 / 3, three, 0 * three))
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * z


@torch_step(langevin, order=1)
def code_half_and_half(theta, *, h, grad, T):
    """Euler whose draw is a normalised sum of two; Ahn, Korattikara and Welling 2012, injected noise in parts."""
    z = (torch.randn_like(theta) + torch.randn_like(theta)) / math.sqrt(2)
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * z


@torch_step(langevin, order=1)
def code_coordinates_in_turn(theta, *, h, grad, T):
    """One coordinate after the other, each at the newest others; Ding and Li 2021, random coordinate Langevin in a sweep."""
    for i in range(theta.shape[-1]):
        move = -h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)
        only = torch.zeros_like(theta)
        only[..., i] = 1
        theta = theta + only * move
    return theta


@torch_step(langevin, order=1)
def code_tamed(theta, *, h, grad, T):
    """Tamed Euler on the norm of the gradient; Brosse, Durmus, Moulines and Sabanis 2019, TULA."""
    g = grad(theta)
    return (
        theta - h * g / (1 + h * torch.linalg.vector_norm(g)) + math.sqrt(2 * T * h) * torch.randn_like(theta)
    )


@torch_step(langevin, order=2)
def code_heun(theta, *, h, grad, T):
    """The stochastic trapezoidal rule; Kloeden and Platen 1992, section 14.2."""
    kick, g = math.sqrt(2 * T * h) * torch.randn_like(theta), grad(theta)
    return theta - h / 2 * (g + grad(theta - h * g + kick)) + kick


@torch_step(langevin, order=2)
def code_srk(theta, *, h, grad, T):
    """SRK-LD; Li, Wu, Mackey and Erdogdu 2019, equation (11)."""
    size, x, e = math.sqrt(2 * T * h), torch.randn_like(theta), torch.randn_like(theta)
    one = theta + size * ((0.5 + 1 / math.sqrt(6)) * x + e / math.sqrt(12))
    two = theta - h * grad(theta) + size * ((0.5 - 1 / math.sqrt(6)) * x + e / math.sqrt(12))
    return theta - h / 2 * (grad(one) + grad(two)) + size * x


@torch_step(langevin, order=2)
def code_implicit_trapezoidal(theta, *, h, grad, T):
    """The trapezoidal rule iterated to a tolerance; Hodgkinson, Salomone and Roosta 2021."""
    start = theta - h / 2 * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)
    new = theta
    for _ in range(200):
        last, new = new, start - h / 2 * grad(new)
        if (new - last).abs().max() < 1e-14 * (1 + new.abs().max()):
            break
    return new


@torch_step(langevin, order=1)
def code_backward_euler(theta, *, h, grad, T):
    """Backward Euler iterated to a tolerance; Wibisono 2018; Hodgkinson, Salomone and Roosta 2021."""
    start = theta + math.sqrt(2 * T * h) * torch.randn_like(theta)
    new = theta
    for _ in range(400):
        last, new = new, start - h * grad(new)
        if (new - last).abs().max() < 1e-14 * (1 + new.abs().max()):
            break
    return new


@torch_step(langevin, order=2)
def code_randomised_midpoint(theta, *, h, grad, T):
    """Randomised midpoint, its time uniform; He, Balasubramanian and Erdogdu 2020."""
    share = torch.rand((), dtype=theta.dtype)
    inner = torch.sqrt(share) * torch.randn_like(theta)
    whole = inner + torch.sqrt(1 - share) * torch.randn_like(theta)
    middle = theta - share * h * grad(theta) + math.sqrt(2 * T * h) * inner
    return theta - h * grad(middle) + math.sqrt(2 * T * h) * whole


@torch_step(langevin, order={"invariant": 2}, memory=["z"])
def code_leimkuhler_matthews(theta, z, *, h, grad, T):
    """The mean of this draw and the last; Leimkuhler and Matthews 2013."""
    new = torch.randn_like(theta)
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * (z + new) / 2, new


@torch_step(langevin, order=1)
def code_move_clipped(theta, *, h, grad, T):
    """The drift of each coordinate moves it by 1 at most; the truncated drift of Roberts and Tweedie 1996, of coordinates."""
    return theta - (h * grad(theta)).clamp(-1, 1) + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def code_normal_by_its_mean(theta, *, h, grad, T):
    """Euler as one draw about the drifted state; Welling and Teh 2011, equation (4)."""
    return torch.normal(theta - h * grad(theta), math.sqrt(2 * T * h))


@torch_step(langevin, order=1)
def constant_of_the_default(theta, *, h, grad, T):
    """A scale in torch's default dtype, which moves the law by 1e-7 of it; Welling and Teh 2011."""
    return (
        theta - h * grad(theta) + torch.tensor([2 * T * h]).sqrt().to(theta.dtype) * torch.randn_like(theta)
    )
