"""A residual network as a function of one vector of parameters, for many chains at once.

Two kinds. *Dense*: a linear layer, `blocks` residual blocks h + V relu(U relu(h) + u) + v of `width` units, and a linear layer on
relu(h). *Convolutional*, of depth 6k + 2 as ResNet-20, 32 and 56 of He et al. 2016, section 4.2: a 3 x 3 convolution, three stages
of k blocks of two 3 x 3 convolutions with `width`, 2 `width` and 4 `width` filters, the mean over pixels, and a linear layer; a
shortcut between stages takes every second pixel and adds channels of zeros.

He et al. and the code of vr-resgld normalise by the statistics of a minibatch. The energy of an image would then depend on the
other images of its minibatch, and no energy would be the sum over data of vr-resgld, equation (2): here each image is
normalised by its own mean and variance over channels and pixels (convolutional), or not at all (dense).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, conv2d, layer_norm, pad

from sgverify.errors import ConfigurationError

STAGES = 3
"""The stages of a convolutional network; the second and the third halve the pixels in both directions."""

MOST_LAYERS, MOST_PARAMETERS = 1000, 10**8
"""The largest network: ResNet-56 has 0.85 million parameters."""


@dataclass(frozen=True)
class ResidualNetwork:
    """A network on images of `channels` x `height` x `width_of_image` levels, with one output for each of `classes` classes.

    `depth` 0 is the dense network with `blocks` blocks; another depth, 6k + 2, is the convolutional one. Raises
    `ConfigurationError` for sizes that make no network.
    """

    height: int
    width_of_image: int
    classes: int
    channels: int = 1
    width: int = 32
    blocks: int = 2
    depth: int = 0

    def __post_init__(self) -> None:
        if self.depth and (not 8 <= self.depth <= MOST_LAYERS or self.depth % 6 != 2):
            raise ConfigurationError(
                f"depth={self.depth}: expected 0 for the dense network, or 6k + 2 from 8 to {MOST_LAYERS}: 8, 14, 20, 32, 56"
            )
        if min(self.height, self.width_of_image, self.channels, self.width, self.blocks) < 1:
            raise ConfigurationError(
                f"width={self.width}, blocks={self.blocks}: expected at least 1 of each, and images of at least one pixel"
            )
        if self.classes < 2:
            raise ConfigurationError(f"classes={self.classes}: expected at least 2")
        if self.blocks > MOST_LAYERS or self.dim > MOST_PARAMETERS:
            raise ConfigurationError(
                f"width={self.width}, blocks={self.blocks}, depth={self.depth}: expected at most {MOST_LAYERS} blocks and "
                f"{MOST_PARAMETERS} parameters; give a smaller network"
            )

    @property
    def inputs(self) -> int:
        """The levels of an image."""
        return self.channels * self.height * self.width_of_image

    @cached_property
    def layers(self) -> tuple[tuple[int, int, int], ...]:
        """Each layer in the order of theta: inputs, outputs, and the pixels of its filter (1 or 9)."""
        if not self.depth:
            inside = [(self.width, self.width, 1)] * (2 * self.blocks)
            return ((self.inputs, self.width, 1), *inside, (self.width, self.classes, 1))
        found, wide = [(self.channels, self.width, 9)], self.width
        for stage in range(STAGES):
            for _ in range((self.depth - 2) // 6):
                found += [(wide, self.width << stage, 9), (self.width << stage, self.width << stage, 9)]
                wide = self.width << stage
        return (*found, (wide, self.classes, 1))

    @cached_property
    def dim(self) -> int:
        """The length of theta: of each layer the weights and the biases."""
        return sum((before * pixels + 1) * after for before, after, pixels in self.layers)

    def start(self, normal: Tensor) -> Tensor:
        """theta_0 from standard normal numbers of shape (*batch, dim): weights N(0, 2/fan-in), He et al. 2015; biases 0.

        The last layer of each block is divided by the square root of the number of blocks, so that their sum is of size 1.
        """
        found, at = torch.zeros_like(normal), 0
        blocks = self.blocks if not self.depth else (self.depth - 2) // 2
        for number, (before, after, pixels) in enumerate(self.layers):
            count = before * pixels * after
            ends_block = 0 < number < len(self.layers) - 1 and number % 2 == 0
            scale = math.sqrt(2 / (before * pixels)) / (math.sqrt(blocks) if ends_block else 1)
            found[..., at : at + count] = scale * normal[..., at : at + count]
            at += count + after
        return found

    def outputs(self, theta: Tensor, images: Tensor) -> Tensor:
        """The outputs before softmax, shape (*batch, n, classes), at theta, shape (*batch, dim), for images (*batch, n, inputs).

        The batch axes of `images` may be 1, for images that several thetas share.
        """
        parts = self._parts(theta)
        return self._convolved(parts, theta, images) if self.depth else self._dense(parts, images)

    def _parts(self, theta: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Weights (*batch, inputs x pixels, outputs) and biases (*batch, outputs) of each layer."""
        at = 0
        for before, after, pixels in self.layers:
            count = before * pixels * after
            weights = theta[..., at : at + count].unflatten(-1, (before * pixels, after))
            yield weights, theta[..., at + count : at + count + after]
            at += count + after

    def _dense(self, parts: Iterator[tuple[Tensor, Tensor]], images: Tensor) -> Tensor:
        held = _linear(images, *next(parts))
        for _ in range(self.blocks):
            inner = _linear(_levelled(held), *next(parts))
            held = held + _linear(_levelled(inner), *next(parts))
        return _linear(_levelled(held), *next(parts))

    def _convolved(self, parts: Iterator[tuple[Tensor, Tensor]], theta: Tensor, images: Tensor) -> Tensor:
        batch, count = theta.shape[:-1], images.shape[-2]
        nets = math.prod(batch)
        wide = images.expand(*batch, *images.shape[-2:]).reshape(nets, count, self.channels, -1)
        held = wide.transpose(0, 1).reshape(count, -1, self.height, self.width_of_image)
        held = _convolution(held, *next(parts), nets)
        for stage in range(STAGES):
            for block in range((self.depth - 2) // 6):
                stride = 2 if stage and not block else 1
                inner = _convolution(_normalised(held, nets), *next(parts), nets, stride)
                inner = _convolution(_normalised(inner, nets), *next(parts), nets)
                held = (_shortcut(held, nets) if stride == 2 else held) + inner
        pooled = avg_pool2d(_normalised(held, nets), held.shape[-2:]).reshape(count, nets, -1)
        weights, biases = next(parts)
        found = pooled.transpose(0, 1) @ weights.reshape(nets, *weights.shape[-2:])
        return (found + biases.reshape(nets, 1, -1)).unflatten(0, batch)


def _linear(values: Tensor, weights: Tensor, biases: Tensor) -> Tensor:
    return values @ weights + biases[..., None, :]


def _levelled(values: Tensor) -> Tensor:
    """relu of the values of each image less their mean, over their standard deviation."""
    return torch.relu(layer_norm(values, values.shape[-1:]))


def _convolution(values: Tensor, weights: Tensor, biases: Tensor, nets: int, stride: int = 1) -> Tensor:
    """3 x 3 convolutions of every network's own images: (n, nets x inputs, ...) to (n, nets x outputs, ...)."""
    after = weights.shape[-1]
    kernels = weights.reshape(nets, -1, 3, 3, after).movedim(-1, 1).reshape(nets * after, -1, 3, 3)
    found: Tensor = conv2d(values, kernels, biases.reshape(-1), stride=stride, padding=1, groups=nets)
    return found


def _normalised(values: Tensor, nets: int) -> Tensor:
    """relu of each image less its mean, over its standard deviation, over all channels and pixels of its network."""
    parted = values.unflatten(1, (nets, -1))
    return torch.relu(layer_norm(parted, parted.shape[2:])).flatten(1, 2)


def _shortcut(values: Tensor, nets: int) -> Tensor:
    """Every second pixel, and as many channels of zeros."""
    parted = values[..., ::2, ::2].unflatten(1, (nets, -1))
    return pad(parted, (0, 0, 0, 0, 0, parted.shape[2])).flatten(1, 2)
