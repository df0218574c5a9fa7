"""The run of the classifier: the comparison, the paper's statements beside it, and what `advise` answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.applications.application import Job
from reports.applications.classifier.asking import ask
from reports.applications.classifier.cifar import from_cifar
from reports.applications.classifier.comparison import compare
from reports.applications.classifier.data import ClassImages, digits
from reports.applications.classifier.figures import studies
from reports.applications.classifier.findings import findings
from reports.applications.classifier.methods import SCHEME, Scaled
from reports.applications.classifier.model import Posterior
from reports.applications.classifier.network import ResidualNetwork
from reports.applications.judging import verdicts_told
from reports.applications.result import AppFindings
from reports.applications.samplers_checked import EXCHANGE, checked
from sgverify.errors import ConfigurationError
from sgverify.schemes import find_scheme
from sgverify.schemes.composites import COMPOSITES

DIGITS_LEARNT = 512
"""The digits that are learnt by default: fewer than half of them, so that test errors are many enough to be compared."""


def run(job: Job) -> AppFindings:
    """The comparison of vr-resgld on the images of the job; see `DECLARED` for its settings."""
    settings = job.settings
    images = _images(settings, job.seed)
    network = network_of(settings, images)
    scaled = Scaled(len(images.train), settings["batch"], settings["epochs"])
    posterior = Posterior(network, images, scaled.precision)
    compared = compare(job, posterior, scaled)
    job.tell("checks of the samplers", 0, 1)
    statements = findings(compared)
    return AppFindings(
        summary=(
            f"{len(compared.outcomes)} runs of SGHMC and replica exchange on {images.told['name']} "
            f"({images.told['training images']} training images, {network.dim} parameters), {scaled.steps} steps. "
            f"{verdicts_told(statements)}"
        ),
        data={**images.told, "parameters": network.dim, **_scaled(scaled)},
        samplers=(
            *checked([find_scheme(SCHEME)]),
            *checked([COMPOSITES[name] for name in ("resghmc", "vr-resghmc", "avr-resghmc")], EXCHANGE),
        ),
        rows=tuple(row.told(scaled.printed) for row in compared.outcomes.values()),
        findings=statements,
        advice=(ask(compared, posterior),),
        diverged=compared.diverged,
        not_tested=_not_tested(settings, scaled, images),
        studies=studies(compared),
    )


def network_of(settings: Mapping[str, Any], images: ClassImages) -> ResidualNetwork:
    """The network of the settings for these images. Raises `ConfigurationError` for sizes that make no network."""
    return ResidualNetwork(
        images.height,
        images.width,
        images.classes,
        images.channels,
        width=settings["width"],
        blocks=settings["blocks"],
        depth=settings["depth"],
    )


def _images(settings: Mapping[str, Any], seed: int) -> ClassImages:
    learnt = settings["train-images"]
    if settings["data"]:
        return from_cifar(settings["data"], settings["unseen"], learnt)
    if settings["unseen"]:
        raise ConfigurationError(
            f"--unseen {settings['unseen']!r} without --data: the unseen classes of the digits are 8 and 9; give --data, or leave "
            "--unseen out"
        )
    return digits(seed, DIGITS_LEARNT if learnt is None else learnt)


def _scaled(scaled: Scaled) -> dict[str, float | int]:
    """The printed settings as they are scaled."""
    return {
        "steps of an epoch": scaled.epoch,
        "m for the printed 50": scaled.refreshes[0],
        "m for the printed 392": scaled.refreshes[1],
        "F at the start": round(scaled.correction, 3),
        "factor of temperature and F in an epoch": round(scaled.cooling, 6),
        "eta at the start": float(f"{scaled.step(scaled.printed['step']) ** 2:.6g}"),
        "prior precision": scaled.precision,
    }


def _not_tested(settings: Mapping[str, Any], scaled: Scaled, images: ClassImages) -> tuple[str, ...]:
    told = [
        f"{scaled.epochs} epochs of {scaled.epoch} steps were taken, and the paper takes {scaled.printed['epochs']} of "
        f"{-(-scaled.printed['images'] // scaled.printed['batch'])}",
        "images are not cropped or mirrored at random, and no statistics of a minibatch enter the network, as in the published "
        "code: with either, no energy is a sum over the data",
        "a swap is tried after every step; the published code allows one in an epoch, and none in the first ones",
        "cyclical runs have the noise of their temperature throughout; the published code has none while a cycle explores",
    ]
    if not settings["data"]:
        told.append(
            f"CIFAR was not read: the images are {images.told['name']}; ResNet-20, 32 and 56 of 500 epochs take days on a GPU"
        )
    return tuple(told)
