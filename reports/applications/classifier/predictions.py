"""What do the networks of a chain predict: the average of their probabilities over test images and over images of unseen classes?

All states that count have the same weight, as in the code of vr-resgld.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from reports.applications.chains import ChainRecorder
from reports.applications.classifier.methods import ComparedMethod
from reports.applications.classifier.model import AT_ONCE, Posterior
from reports.applications.classifier.scores import probabilities
from reports.applications.keeping import Arrays


class Predictions(ChainRecorder):
    """Sums of predictive probabilities of the first row of each method, over the states that count, after every `thinning` steps.

    `sums` has the shape (scales, methods, C, images, classes), for outputs divided by each of `scales`; `counts` (methods) is the
    number of states. The images are the test images, then those of unseen classes. `last`, (methods, C, images, classes), are the
    probabilities of the last state alone, and `theta`, (methods, d), is that state of chain 0. A chain that has diverged, or whose
    other replica has, has NaN.
    """

    def __init__(
        self,
        methods: Sequence[ComparedMethod],
        posterior: Posterior,
        *,
        steps: int,
        thinning: int,
        scales: Sequence[float],
        chains: int,
    ) -> None:
        self._methods, self._posterior, self._scales = tuple(methods), posterior, tuple(scales)
        self._steps = steps
        starts = np.cumsum([0, *(len(method.rows) for method in methods)])
        self._rows = [range(int(first), int(last)) for first, last in pairwise(starts)]
        thinned = range(thinning, steps + 1, thinning)
        counted = {number for number in thinned if any(method.samples(number) for method in methods)}
        self.at = tuple(sorted({*counted, steps}))
        self._thinning = thinning
        images = posterior.images
        self._images = torch.cat([images.test, images.unseen])
        shape = (len(self._methods), chains, len(self._images), images.classes)
        self.sums = np.zeros((len(self._scales), *shape))
        self.last = np.full(shape, np.nan)
        self.counts = np.zeros(len(self._methods), dtype=np.int64)
        self.theta = np.zeros((len(self._methods), posterior.network.dim))

    def see(self, number: int, state: dict[str, Tensor], alive: np.ndarray) -> None:
        """See `ChainRecorder.see`."""
        for place, (method, rows) in enumerate(zip(self._methods, self._rows, strict=True)):
            counts = number % self._thinning == 0 and method.samples(number)
            if not counts and number != self._steps:
                continue
            outputs = self._outputs(state["theta"][rows[0]])
            outputs[~alive[list(rows)].all(0)] = np.nan
            if counts:
                self.counts[place] += 1
                for scale, temperature in enumerate(self._scales):
                    self.sums[scale, place] += probabilities(outputs, temperature)
            if number == self._steps:
                self.last[place] = probabilities(outputs)
                self.theta[place] = state["theta"][rows[0], 0].numpy()

    def average(self, scale: int, place: int) -> np.ndarray:
        """The model average of each chain, shape (C, images, classes); of the last state where no state counts."""
        if not self.counts[place]:
            return self.last[place]
        found: np.ndarray = self.sums[scale, place] / self.counts[place]
        return found

    def arrays(self) -> Arrays:
        """See `ChainRecorder.arrays`."""
        return {"sums": self.sums, "last": self.last, "counts": self.counts, "theta": self.theta}

    def resume(self, arrays: Arrays) -> None:
        """See `ChainRecorder.resume`."""
        self.sums, self.last = arrays["sums"].copy(), arrays["last"].copy()
        self.counts, self.theta = arrays["counts"].copy(), arrays["theta"].copy()

    def _outputs(self, theta: Tensor) -> np.ndarray:
        """The outputs at theta, shape (C, d), for all images: (C, images, classes)."""
        share = max(1, AT_ONCE // (len(theta) * self._posterior.network.inputs))
        with torch.no_grad():
            found = [
                self._posterior.network.outputs(theta, self._images[None, first : first + share])
                for first in range(0, len(self._images), share)
            ]
        return torch.cat(found, dim=1).numpy()
