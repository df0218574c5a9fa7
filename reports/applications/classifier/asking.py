"""What does `advise` answer for the classifier, beside the best of the step sizes that were run?

The posterior of a network is no Gaussian: permuting the units of a layer leaves it unchanged. `advise` is therefore asked about a
stand-in, named in the answer: two uncoupled Gaussian coordinates with the curvatures of a weakly and of a strongly determined
parameter at the last state of SGHMC, and with their gradient noise. The curvature is the diagonal of the Gauss-Newton matrix,

    lambda + sum_i ( sum_c f_c J_c^2 - (sum_c f_c J_c)^2 ),        J_c = d f_c / d theta of the outputs at image i,

which for softmax is Fisher's information; the noise is N^2 (1/n - 1/N) times the variance over the images of J (f - o).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.func import jacrev, vmap
from torch.nn.functional import one_hot

from reports.applications.classifier.comparison import MethodsCompared
from reports.applications.classifier.methods import FACTORS, SCHEME, at_step
from reports.applications.classifier.model import Posterior
from reports.applications.classifier.outcomes import Outcome
from reports.applications.classifier.variances import variance_of_estimate
from reports.applications.optimum import Optimum, Point, locate, unlocated
from reports.applications.result import AdviceBeside
from reports.applications.statistics import mean_of
from sgverify.advice.plans import advise

IMAGES_USED = 256
"""Training images from which curvature and noise are taken, at most."""

AT_ONCE = 32
"""Images whose derivatives are held at once."""

QUANTILES = (0.05, 0.95)
"""The shares of parameters that are less determined than the weakly and the strongly determined one."""

ERROR = 0.2
"""The error that is asked for, in standard deviations."""


def ask(compared: MethodsCompared, posterior: Posterior) -> AdviceBeside:
    """The answer for SGHMC, beside the best of its step sizes."""
    base = compared.outcomes["SGHMC"]
    found = best_step(compared)
    if found is None:
        grid = "chains of every step size have diverged"
    else:
        best, optimum = found
        grid = (
            f"eta = {best.eta:.3g} (h = {math.sqrt(best.eta):.3g}), negative log-likelihood "
            f"{mean_of(best.negative_log_likelihood)}"
            + ("" if optimum.located else f"; {unlocated([('SGHMC', optimum)])}")
        )
    sampler = "SGHMC (sghmc-euler)"
    if not torch.from_numpy(base.theta).isfinite().all():
        return AdviceBeside(
            sampler=sampler, applies=False, approximation="none", answer="chain 0 has diverged", grid=grid
        )
    curvature, noise = stand_in(posterior, torch.from_numpy(base.theta), compared.scaled.batch)
    temperature = compared.scaled.cold(False).at(compared.scaled.steps)
    answer = advise(
        {"name": "gaussian", "dim": 2, "precision": list(curvature)},
        [SCHEME],
        error=ERROR,
        temperature=temperature,
        gradient={"kind": "additive", "covariance": [[noise[0], 0.0], [0.0, noise[1]]]},
    )
    plan = answer.plans[0] if answer.plans else None
    return AdviceBeside(
        sampler=sampler,
        applies=plan is not None and answer.trusted,
        approximation=(
            "no Gaussian stands for the posterior, whose units can be permuted; asked about two uncoupled Gaussian coordinates, a "
            f"diagonal approximation of rank two, of the curvatures {curvature[0]:.3g} and {curvature[1]:.3g} and the gradient "
            f"variances {noise[0]:.3g} and {noise[1]:.3g}, those of a weakly and a strongly determined parameter at SGHMC's last "
            f"state, at T = {temperature:.3g}"
        ),
        answer=(
            answer.distrust
            or "; ".join(answer.left_out)
            or f"no plan keeps an error of {ERROR:g} standard deviations"
            if plan is None
            else f"h = {plan.step:.2g}"
            + (f", D = {plan.friction:.2g}" if plan.friction else "")
            + f" (eta = h^2 = {plan.step**2:.2g}) for an error of {ERROR:g} standard deviations; no larger step than "
            f"{plan.largest_step:.2g}"
        ),
        grid=grid,
    )


def best_step(compared: MethodsCompared) -> tuple[Outcome, Optimum] | None:
    """The step size of SGHMC whose model averages have the largest test likelihood; None where every one has diverged."""
    among: dict[Point, Outcome] = {
        (factor,): compared.outcomes[at_step(factor)] for factor in (1.0, *FACTORS)
    }
    found = locate({point: row.negative_log_likelihood for point, row in among.items()}, ("step",))
    return None if found is None else (among[found.point], found)


def stand_in(
    posterior: Posterior, theta: Tensor, batch: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The curvatures and the gradient variances of a weakly and of a strongly determined parameter."""
    curvature, noise = coordinates(posterior, theta, batch)
    order = curvature.argsort()
    places = [int(order[round(share * (len(order) - 1))]) for share in QUANTILES]
    weak, strong = ((float(curvature[place]), max(float(noise[place]), 1e-12)) for place in places)
    return (weak[0], strong[0]), (weak[1], strong[1])


def coordinates(posterior: Posterior, theta: Tensor, batch: int) -> tuple[Tensor, Tensor]:
    """The curvature and the gradient variance of every parameter, each of shape (d,)."""
    network, images = posterior.network, posterior.images
    size, used = len(images.train), min(IMAGES_USED, len(images.train))

    def outputs(at: Tensor, image: Tensor) -> Tensor:
        return network.outputs(at, image[None])[0]

    slopes = vmap(jacrev(outputs), in_dims=(None, 0))
    information, noise = torch.zeros_like(theta), []
    for first in range(0, used, AT_ONCE):
        some = images.train[first : min(first + AT_ONCE, used)]
        labels = images.train_labels[first : first + len(some)]
        f = network.outputs(theta, some).softmax(-1)
        J = slopes(theta, some)
        expected = torch.einsum("nc,ncd->nd", f, J)
        information += (torch.einsum("nc,ncd->d", f, J * J) - (expected * expected).sum(0)) * size / used
        missing = f - one_hot(labels, images.classes)
        noise.append(torch.einsum("nc,ncd->nd", missing, J))
    each = torch.cat(noise).mT
    scale = variance_of_estimate(_standard(size), batch)
    return posterior.precision + information, float(scale) * each.var(-1)


def _standard(size: int) -> Tensor:
    """Terms of as many data whose variance is 1."""
    values = torch.arange(size, dtype=torch.float64)
    return values / values.std()
