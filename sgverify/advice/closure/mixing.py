"""Fixed points of a map in fewer rounds: the next iterate is mixed of the last ones (Anderson mixing).

Where x_j were mapped to G(x_j), with the residuals f_j = G(x_j) - x_j, the next iterate is sum_j a_j G(x_j) with the weights, of
sum 1, that make |sum_j a_j f_j| least. Source: Anderson 1965; Walker, Ni 2011, algorithm AA.
"""

from __future__ import annotations

import numpy as np

_KEPT = 5
"""The iterates that are mixed. The next one is hardly better for more."""


class Mixing:
    """The latest iterates of a fixed-point iteration, each with its image. Shape (n,) each."""

    def __init__(self) -> None:
        self._residuals: list[np.ndarray] = []
        self._images: list[np.ndarray] = []

    def next(self, iterate: np.ndarray, image: np.ndarray) -> np.ndarray | None:
        """The mixed iterate after these; None while there is nothing to mix, or where the residuals do not shrink.

        Of a map that does not contract nothing is mixed, so that its iteration goes where it goes.
        """
        residual = image - iterate
        if self._residuals and not np.linalg.norm(residual) < np.linalg.norm(self._residuals[-1]):
            self._residuals, self._images = [], []
        self._residuals = [*self._residuals[1 - _KEPT :], residual]
        self._images = [*self._images[1 - _KEPT :], image]
        if len(self._residuals) < 2:
            return None
        before = np.array(self._residuals[:-1])
        weights = np.linalg.lstsq((before - residual).T, -residual, rcond=1e-10)[0]
        return np.asarray(image + weights @ (np.array(self._images[:-1]) - image))


__all__ = ["Mixing"]
