"""Samplers as torch optimizers, as people write them: right ones, and ones with the errors that such code has."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


class Sampler(Optimizer):
    """Each parameter is moved by `move`, with its state and its group's options."""

    def __init__(self, params: Any, **options: Any) -> None:
        super().__init__(params, options)

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for p in group["params"]:
                self.move(p, self.state[p], group)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError


class SGLD(Sampler):
    """Langevin dynamics."""

    noise = 2.0

    def __init__(
        self, params: Any, lr: float = 1e-3, temperature: float = 1.0, weight_decay: float = 0.0
    ) -> None:
        super().__init__(params, lr=lr, temperature=temperature, weight_decay=weight_decay)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, T = group["lr"], group["temperature"]
        p.add_(p.grad + group["weight_decay"] * p, alpha=-lr)
        p.add_(torch.randn_like(p), alpha=(self.noise * lr * T) ** 0.5)


class NoiseOfSqrtLr(SGLD):
    noise = 1.0


class TemperatureIgnored(SGLD):
    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        super().move(p, state, {**group, "temperature": 1.0})


class NoiseOfTheFirst(SGLD):
    """The noise of a group's first parameter is that of all which are shaped as it is."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            z = torch.randn_like(group["params"][0])
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"])
                drawn = z if z.shape == p.shape else torch.randn_like(p)
                p.add_(drawn, alpha=(2 * group["lr"] * group["temperature"]) ** 0.5)


class NoiseEveryOtherStep(SGLD):
    """It looks right at each step with an odd number."""

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = state.get("step", 0) + 1
        super().move(p, state, group if state["step"] % 2 == 1 else {**group, "temperature": 0.0})


class WithGenerator(SGLD):
    """Its draws are those of a generator of its own."""

    def __init__(self, params: Any, lr: float = 1e-3, temperature: float = 1.0) -> None:
        super().__init__(params, lr=lr, temperature=temperature)
        self.random = torch.Generator().manual_seed(0)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, T = group["lr"], group["temperature"]
        state["step"] = state.get("step", 0) + 1
        p.add_(p.grad, alpha=-lr)
        p.add_(torch.empty_like(p).normal_(generator=self.random), alpha=(2 * lr * T) ** 0.5)


class NeedlessClosure(SGLD):
    """It needs a closure, and does not call it."""

    @torch.no_grad()
    def step(self, closure: Any) -> Any:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.move(p, {}, group)


class WithoutTemperature(Sampler):
    """Welling and Teh's convention, lr/2 and lr; it samples exp(-U)."""

    def __init__(self, params: Any, lr: float = 1e-3) -> None:
        super().__init__(params, lr=lr)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        p.add_(p.grad, alpha=-group["lr"] / 2).add_(torch.randn_like(p), alpha=group["lr"] ** 0.5)


class WithClosure(SGLD):
    """It differentiates within."""

    def step(self, closure: Any) -> Any:  # type: ignore[override]
        with torch.enable_grad():
            closure()
        super().step()


class SGHMC(Sampler):
    """Chen, Fox, Guestrin 2014: v <- (1 - a) v - lr g + N(0, 2 a lr T), theta <- theta + v."""

    def __init__(
        self, params: Any, lr: float = 1e-3, momentum_decay: float = 0.1, temperature: float = 1.0
    ) -> None:
        super().__init__(params, lr=lr, momentum_decay=momentum_decay, temperature=temperature)

    def amplitude(self, lr: float, a: float, T: float) -> float:
        return (2 * a * lr * T) ** 0.5

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, a, T = group["lr"], group["momentum_decay"], group["temperature"]
        v = state.setdefault("momentum_buffer", torch.zeros_like(p))
        v.mul_(1 - a).add_(p.grad, alpha=-lr).add_(torch.randn_like(p), alpha=self.amplitude(lr, a, T))
        p.add_(v)


class NoiseOfDecay(SGHMC):
    """The decay a in the place of its square root."""

    def amplitude(self, lr: float, a: float, T: float) -> float:
        return a * (2 * lr * T) ** 0.5


class DriftInTwoParts(Sampler):
    """Kick, half of a drift, friction with noise, half of a drift; the buffer is the momentum p itself."""

    noise = 2.0

    def __init__(
        self, params: Any, lr: float = 1e-3, friction: float = 1.0, temperature: float = 1.0
    ) -> None:
        super().__init__(params, lr=lr, friction=friction, temperature=temperature)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        h, D, T = group["lr"], group["friction"], group["temperature"]
        v = state.setdefault("velocity", torch.zeros_like(p))
        v.sub_(p.grad, alpha=h)
        p.add_(v, alpha=h / 2)
        v.mul_(math.exp(-D * h)).add_(
            torch.randn_like(p), alpha=(T * (1 - math.exp(-self.noise * D * h))) ** 0.5
        )
        p.add_(v, alpha=h / 2)


class NoiseOfHalfTheFriction(DriftInTwoParts):
    noise = 1.0


class SGDWithNoise(Sampler):
    """The momentum of torch.optim.SGD: buffer <- m buffer + g - noise, theta <- theta - lr buffer."""

    def __init__(self, params: Any, lr: float, momentum: float = 0.9, noise: float = 1.0) -> None:
        super().__init__(params, lr=lr, momentum=momentum, noise=noise)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        buf = state.setdefault("momentum_buffer", torch.zeros_like(p))
        buf.mul_(group["momentum"]).add_(p.grad).add_(torch.randn_like(p), alpha=group["noise"])
        p.add_(buf, alpha=-group["lr"])


class Preconditioned(Sampler):
    """theta <- theta - lr G g + sqrt(2 lr T G) z with G of a running mean of g^2."""

    def __init__(
        self, params: Any, lr: float = 1e-3, alpha: float = 0.99, eps: float = 1.0, temperature: float = 1.0
    ) -> None:
        super().__init__(params, lr=lr, alpha=alpha, eps=eps, temperature=temperature)

    def scale(self, v: Tensor, group: dict[str, Any]) -> Tensor:
        return 1 / (v.sqrt() + group["eps"])

    def noise_scale(self, G: Tensor) -> Tensor:
        return G

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=0, square_avg=torch.zeros_like(p))
        state["step"] += 1
        v = state["square_avg"]
        v.mul_(group["alpha"]).addcmul_(p.grad, p.grad, value=1 - group["alpha"])
        G = self.scale(v, group)
        noise = (2 * group["lr"] * group["temperature"] * self.noise_scale(G)).sqrt()
        p.add_(G * p.grad, alpha=-group["lr"]).add_(noise * torch.randn_like(p))


class PreconditionedAlone(Sampler):
    """RMSprop's preconditioner of gradients and noise, without the term by which it keeps the density (Li et al. 2016, Gamma)."""

    def __init__(self, params: Any, lr: float = 1e-3, alpha: float = 0.99) -> None:
        super().__init__(params, lr=lr, alpha=alpha)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        square = state.setdefault("sq", torch.ones_like(p))
        square.mul_(group["alpha"]).addcmul_(p.grad, p.grad, value=1 - group["alpha"])
        scale = group["lr"] / (square.sqrt() + 1e-5)
        p.add_(-scale * p.grad + (2 * scale).sqrt() * torch.randn_like(p))


class PreconditionedAtOne(Preconditioned):
    """The same at T = 1, without an option for T."""

    def __init__(self, params: Any, lr: float = 1e-3, alpha: float = 0.97, eps: float = 0.37) -> None:
        super().__init__(params, lr=lr, alpha=alpha, eps=eps)


class DriftAlone(Preconditioned):
    """The preconditioner is on the drift, not on the noise."""

    def noise_scale(self, G: Tensor) -> Tensor:
        return torch.ones_like(G)


class ConstantScale(Preconditioned):
    """The preconditioner is switched off, while its mean is kept: right."""

    def scale(self, v: Tensor, group: dict[str, Any]) -> Tensor:
        return torch.full_like(v, 0.5)


class RMSpropWithMomentum(Preconditioned):
    """Its drift is that of the buffer, which its noise does not follow."""

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(square_avg=torch.zeros_like(p), momentum_buffer=torch.zeros_like(p))
        v, buffer = state["square_avg"], state["momentum_buffer"]
        v.mul_(group["alpha"]).addcmul_(p.grad, p.grad, value=1 - group["alpha"])
        G = self.scale(v, group)
        buffer.mul_(0.9).add_(G * p.grad)
        noise = (2 * group["lr"] * group["temperature"] * G).sqrt()
        p.add_(buffer, alpha=-group["lr"]).add_(noise * torch.randn_like(p))


class AdamWithNoise(Sampler):
    """Adam's step and the noise of langevin."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        temperature: float = 1.0,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, temperature=temperature)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=torch.zeros(()), exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p))
        state["step"] += 1
        (b1, b2), k = group["betas"], float(state["step"])
        m, v = state["exp_avg"], state["exp_avg_sq"]
        m.mul_(b1).add_(p.grad, alpha=1 - b1)
        v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
        p.add_(m / (1 - b1**k) / ((v / (1 - b2**k)).sqrt() + 1e-2), alpha=-group["lr"])
        p.add_(torch.randn_like(p), alpha=(2 * group["lr"] * group["temperature"]) ** 0.5)


class Scheduled(SGLD):
    """Its step size falls with a counter, on and on."""

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = state.get("step", 0) + 1
        super().move(p, state, {**group, "lr": group["lr"] * state["step"] ** -0.55})


class Anneals(SGLD):
    """It changes its own options: the step size falls by a factor, the temperature by a number."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        super().step()
        for group in self.param_groups:
            group["lr"] *= 0.99
            group["temperature"] -= 1e-3


class BurnIn(SGLD):
    """It draws no noise in its first steps."""

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = state.get("step", 0) + 1
        super().move(p, state, {**group, "temperature": group["temperature"] * (state["step"] > 3000)})


class KeepsAList(SGLD):
    """The list of its gradients grows."""

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state.setdefault("gradients", []).append(p.grad.clone())
        super().move(p, state, group)


def cold(params: Any, h: float, T: float) -> SGLD:
    """An optimizer with its options chosen."""
    return SGLD(params, lr=h, temperature=T)


class Metropolis(SGLD):
    """The Metropolis-adjusted Langevin algorithm (Roberts and Tweedie 1996), by the values of its closure."""

    @torch.no_grad()
    def step(self, closure: Any) -> Any:  # type: ignore[override]
        before = closure()
        held = [
            (p, p.clone(), p.grad.clone(), g["lr"], g["temperature"])
            for g in self.param_groups
            for p in g["params"]
        ]
        for p, _, gradient, lr, T in held:
            p.add_(gradient, alpha=-lr).add_(torch.randn_like(p), alpha=(2 * lr * T) ** 0.5)
        after = closure()
        chance = torch.zeros((), dtype=held[0][1].dtype)
        for p, old, gradient, lr, T in held:
            chance += ((p - old + lr * gradient) ** 2).sum() / (4 * lr * T)
            chance -= ((old - p + lr * p.grad) ** 2).sum() / (4 * lr * T)
            share = 1 / (T * len(held))
            chance += share * (before - after)
        if not torch.rand((), dtype=chance.dtype).log() < chance:
            for p, old, *_ in held:
                p.copy_(old)
        return before


class NoiseByItsLoss(SGLD):
    """One call of a closure that may be left out; less noise where its value is large."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = 0.0 if closure is None else float(closure())
        for group in self.param_groups:
            for p in group["params"]:
                self.move(p, {}, {**group, "temperature": group["temperature"] / (1 + abs(loss))})


class NoiseOfAClosure(SGLD):
    """With a closure, whatever its value, it has twice the noise."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        if closure is not None:
            closure()
        for group in self.param_groups:
            for p in group["params"]:
                self.move(p, {}, {**group, "temperature": group["temperature"] * (4 if closure else 1)})


class OfMeanLoss(SGLD):
    """Its learning rate is for the mean loss of 50 data, while it is given the gradient of their sum."""

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        super().move(p, state, {**group, "lr": 50 * group["lr"]})


class SGHMCOfParameters(Sampler):
    """Its momentum is an attribute of the parameter."""

    def __init__(self, params: Any, lr: float = 1e-2, alpha: float = 0.1) -> None:
        super().__init__(params, lr=lr, alpha=alpha)

    def move(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not hasattr(p, "buf"):
            p.buf = torch.zeros_like(p)
        lr, a = group["lr"], group["alpha"]
        p.buf = (1 - a) * p.buf - lr * p.grad + (2 * a * lr) ** 0.5 * torch.randn_like(p)
        p.add_(p.buf)


class HalfOfTheForce(Sampler):
    """lr/2 is h^2."""

    def __init__(self, params: Any, lr: float = 1e-2, mdecay: float = 0.05) -> None:
        super().__init__(params, lr=lr, mdecay=mdecay)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, a, v = group["lr"], group["mdecay"], state.setdefault("v", torch.zeros_like(p))
        v.mul_(1 - a).add_(p.grad, alpha=-lr / 2).add_(torch.randn_like(p), alpha=(a * lr) ** 0.5)
        p.add_(v)


MOMENTA: dict[Any, Tensor] = {}


class MomentumOfAGlobal(Sampler):
    """Its momentum is in a global of the module."""

    def __init__(self, params: Any, lr: float = 1e-2, friction: float = 1.0) -> None:
        super().__init__(params, lr=lr, friction=friction)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        h, D, v = group["lr"], group["friction"], MOMENTA.setdefault(self.key(p), torch.zeros_like(p))
        v.mul_(1 - h * D).add_(p.grad, alpha=-h).add_(torch.randn_like(p), alpha=(2 * D * h) ** 0.5)
        p.add_(v, alpha=h)

    def key(self, p: Tensor) -> Any:
        return id(p)


class MomentumOfAShape(MomentumOfAGlobal):
    """Parameters of one shape have one momentum."""

    def key(self, p: Tensor) -> Any:
        return tuple(p.shape)


class Thermostat(Sampler):
    """The friction of each parameter is a number of its own."""

    def __init__(self, params: Any, lr: float = 1e-2, A: float = 1.0) -> None:
        super().__init__(params, lr=lr, A=A)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        h, A = group["lr"], group["A"]
        if not state:
            state.update(v=torch.randn_like(p), xi=torch.tensor(A, dtype=p.dtype))
        v = state["v"]
        v.add_(-h * state["xi"] * v - h * p.grad + (2 * A * h) ** 0.5 * torch.randn_like(p))
        p.add_(v, alpha=h)
        state["xi"].add_(h * (v.pow(2).mean() - 1))


class Obabo(Optimizer):
    """A splitting with two gradients a step, whose momentum moves theta between two draws."""

    spread = 1.0

    def __init__(
        self, params: Any, lr: float = 0.05, friction: float = 1.9, temperature: float = 1.0
    ) -> None:
        super().__init__(params, {"lr": lr, "friction": friction, "temperature": temperature})

    @torch.no_grad()
    def step(self, closure: Any) -> Any:
        with torch.enable_grad():
            closure()
        self._half(first=True)
        with torch.enable_grad():
            loss = closure()
        self._half(first=False)
        return loss

    def _half(self, *, first: bool) -> None:
        for group in self.param_groups:
            h, decay = group["lr"], math.exp(-group["friction"] * group["lr"] / 2)
            noise = self.spread * math.sqrt(group["temperature"] * (1 - decay**2))
            for p in group["params"]:
                momentum = self.state[p].setdefault("momentum", torch.zeros_like(p))
                if first:
                    momentum.mul_(decay).add_(torch.randn_like(p), alpha=noise).add_(p.grad, alpha=-h / 2)
                    p.add_(momentum, alpha=h)
                else:
                    momentum.add_(p.grad, alpha=-h / 2).mul_(decay).add_(torch.randn_like(p), alpha=noise)


class ObaboHot(Obabo):
    spread = 1.1


class Baoab(Obabo):
    """Kick, drift, noise, drift, kick, with a second gradient: theta moves by the momentum before and after the noise."""

    def __init__(self, params: Any, lr: float = 0.01, gamma: float = 1.0) -> None:
        Optimizer.__init__(self, params, {"lr": lr, "gamma": gamma})

    @torch.no_grad()
    def step(self, closure: Any) -> Any:
        for kicked in (True, False):
            with torch.enable_grad():
                loss = closure()
            for group in self.param_groups:
                lr, left = group["lr"], math.exp(-group["gamma"] * group["lr"])
                for p in group["params"]:
                    m = self.state[p].setdefault("m", torch.zeros_like(p))
                    m.sub_(p.grad, alpha=lr / 2)
                    if kicked:
                        p.add_(m, alpha=lr / 2)
                        m.mul_(left).add_(torch.randn_like(p), alpha=math.sqrt(1 - left**2))
                        p.add_(m, alpha=lr / 2)
        return loss


class RaisesLater(SGLD):
    """A schedule whose step size is below 0 after a while."""

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["t"] = state.get("t", 0) + 1
        p.add_(torch.randn_like(p), alpha=math.sqrt(group["lr"] * (1 - state["t"] / 50)))


class NoiseThatCarries(Sampler):
    """Noise that lasts carries theta, between its two draws, and the gradient moves theta and not the noise."""

    def __init__(self, params: Any, lr: float = 0.05, decay: float = 0.9) -> None:
        super().__init__(params, lr=lr, decay=decay)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        noise = state.setdefault("noise", torch.zeros_like(p))
        noise.mul_(group["decay"]).add_(torch.randn_like(p), alpha=0.3)
        p.add_(noise, alpha=group["lr"]).add_(p.grad, alpha=-group["lr"])
        noise.mul_(group["decay"]).add_(torch.randn_like(p), alpha=0.3)


class OfTheMean(Sampler):
    """Half steps of the mean loss's gradient."""

    noise = 1.0

    def __init__(self, params: Any, lr: float, train_size: float) -> None:
        super().__init__(params, lr=lr, train_size=train_size)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, size = group["lr"], group["train_size"]
        p.add_(p.grad, alpha=-lr / 2).add_(torch.randn_like(p), alpha=(self.noise * lr / size) ** 0.5)


class OfTheMeanOfOne(OfTheMean):
    def __init__(self, params: Any, lr: float = 0.01, train_size: float = 1.0) -> None:
        super().__init__(params, lr, train_size)


class OfTheMeanHot(OfTheMean):
    noise = 2.0


class SizeUnused(OfTheMean):
    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        super().move(p, state, {**group, "train_size": 1.0})


class TimesN(Sampler):
    """It multiplies the gradient of the mean loss by N, and its step size has a name of its own."""

    def __init__(self, params: Any, eta: float = 1e-3, num_data: int = 100) -> None:
        super().__init__(params, eta=eta, num_data=num_data)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        eta = group["eta"]
        p.add_(group["num_data"] * p.grad, alpha=-eta).add_(torch.randn_like(p), alpha=(2 * eta) ** 0.5)


class DecayOutside(SGLD):
    """Its weight decay is not scaled by the step size, so that it is the precision of no prior."""

    def __init__(self, params: Any, lr: float = 1e-3, weight_decay: float = 0.31) -> None:
        super().__init__(params, lr=lr, weight_decay=weight_decay)

    def move(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        p.mul_(1 - group["weight_decay"] / 100)
        super().move(p, state, {**group, "weight_decay": 0.0, "temperature": 1.0})


class Flattened(Optimizer):
    """All parameters in one vector, which torch's vmap cannot put back in place."""

    def __init__(self, params: Any, lr: float = 0.01) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            parameters = group["params"]
            flat, force = (
                torch.cat([value.reshape(-1) for value in values])
                for values in (parameters, [p.grad for p in parameters])
            )
            flat = flat - group["lr"] * force + (2 * group["lr"]) ** 0.5 * torch.randn_like(flat)
            for p, part in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
                p.copy_(part.view_as(p))
