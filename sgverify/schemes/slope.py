"""The gradient ingredient where every minibatch is all data."""

from __future__ import annotations

from typing import Any, Self


class FullSlope:
    """Another minibatch is the same one, and the likelihood's part is what the prior's leaves of the gradient.

    An interpreter says what the gradient is at a place (`__call__`), what the prior's part of it is, and what the Hessian does
    to a vector.
    """

    def __call__(self, place: Any) -> Any:
        """grad U at the place."""
        raise NotImplementedError

    def prior(self, place: Any) -> Any:
        """The prior's part of grad U."""
        raise NotImplementedError

    def hessian(self, place: Any, vector: Any) -> Any:
        """The Hessian of U there, times the vector."""
        raise NotImplementedError

    def likelihood(self, place: Any) -> Any:
        """The rest of grad U."""
        return self(place) - self.prior(place)

    def fresh(self) -> Self:
        """The same."""
        return self
