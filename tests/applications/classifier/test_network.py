"""A network of one vector is the network of its layers, and many at once are each alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import conv2d, layer_norm

from reports.applications.classifier.network import ResidualNetwork
from sgverify.errors import ConfigurationError
from tests.applications.classifier.small import CONVOLUTIONAL, DENSE, drawn, images

ROUNDING = 1e-12
"""Sums of a hundred terms of size 1 round off less."""


def layers(network: ResidualNetwork, theta: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Weights, shape (inputs x pixels, outputs), and biases."""
    found, at = [], 0
    for before, after, pixels in network.layers:
        count = before * pixels * after
        weights = theta[at : at + count].reshape(-1, after)
        found.append((weights, theta[at + count : at + count + after]))
        at += count + after
    assert at == len(theta)
    return found


def dense(theta: Tensor, x: Tensor) -> Tensor:
    first, *inside, last = layers(DENSE, theta)
    h = x @ first[0] + first[1]
    for one, two in zip(inside[::2], inside[1::2], strict=True):
        inner = torch.relu(layer_norm(h, h.shape[-1:])) @ one[0] + one[1]
        h = h + torch.relu(layer_norm(inner, inner.shape[-1:])) @ two[0] + two[1]
    return torch.relu(layer_norm(h, h.shape[-1:])) @ last[0] + last[1]


def convolutional(theta: Tensor, x: Tensor) -> Tensor:
    """Depth 8: one block in each of three stages, each image alone."""
    parts = layers(CONVOLUTIONAL, theta)

    def convolution(values: Tensor, part: tuple[Tensor, Tensor], stride: int) -> Tensor:
        weights, biases = part
        kernel = weights.T.reshape(weights.shape[1], -1, 3, 3)
        return conv2d(values[None], kernel, biases, stride=stride, padding=1)[0]

    def normal(values: Tensor) -> Tensor:
        return torch.relu((values - values.mean()) / (values.var(unbiased=False) + 1e-5).sqrt())

    found = []
    for image in x:
        h = convolution(image.reshape(2, 4, 4), parts[0], 1)
        for stage in range(3):
            stride = 2 if stage else 1
            inner = convolution(normal(h), parts[1 + 2 * stage], stride)
            inner = convolution(normal(inner), parts[2 + 2 * stage], 1)
            short = torch.cat([h[:, ::2, ::2], torch.zeros_like(h[:, ::2, ::2])]) if stage else h
            h = short + inner
        weights, biases = parts[-1]
        found.append(normal(h).mean((1, 2)) @ weights + biases)
    return torch.stack(found)


@pytest.mark.parametrize(
    ("network", "alone"), [(DENSE, dense), (CONVOLUTIONAL, convolutional)], ids=["dense", "convolutional"]
)
def test_many_networks_at_once_are_each_alone(network: ResidualNetwork, alone) -> None:
    theta, x = drawn(network, 2, 3), images(network).train
    own = torch.stack([x.roll(k, 0) for k in range(3)])[None]
    found = network.outputs(theta, own)
    assert found.shape == (2, 3, len(x), network.classes)
    for row in range(2):
        for chain in range(3):
            expected = alone(theta[row, chain], own[0, chain])
            assert torch.allclose(found[row, chain], expected, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize(("depth", "convolutions"), [(20, 19), (32, 31), (56, 55)])
def test_the_printed_depths(depth: int, convolutions: int) -> None:
    found = ResidualNetwork(32, 32, 10, channels=3, width=16, depth=depth)
    assert [pixels for *_, pixels in found.layers].count(9) == convolutions
    assert found.layers[-1] == (64, 10, 1)
    if depth == 20:
        # He et al. 2016, table 6: 0.27 million, where two numbers of each normalisation stand for a bias.
        assert round(found.dim / 1e6, 2) == 0.27


def test_the_start_has_outputs_of_size_one() -> None:
    network = ResidualNetwork(8, 8, 8, width=24)
    theta = network.start(torch.from_numpy(drawn(network, 20).numpy() * 2))
    x = torch.rand((1, 50, 64), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    # relu of a normalised value has the second moment 1/2, so that each output has the variance 1.
    assert 0.3 < float(network.outputs(theta, x).var(0).mean()) < 3
    assert not theta[..., -8:].any()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"depth": 21}, "6k"),
        ({"depth": 2}, "6k"),
        ({"width": 0}, "at least 1"),
        ({"blocks": 0}, "at least 1"),
    ],
)
def test_what_is_no_network_is_refused(given: dict[str, int], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        ResidualNetwork(8, 8, 10, **given)
    with pytest.raises(ConfigurationError, match="classes=1"):
        ResidualNetwork(8, 8, 1)
