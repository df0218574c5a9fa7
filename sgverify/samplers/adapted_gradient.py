"""The gradient that an adaptively weighted run feels: an estimate of grad U times the multiplier of its energy's region."""

from __future__ import annotations

from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers.adapted import AdaptedWeights
from sgverify.samplers.gradients import Estimator


class AdaptedEstimator(Estimator):
    """(1 + zeta tau/du (log theta(J) - log theta((J-1) v 1))) times an estimate of grad U, J the region of U (awsgld (19)).

    J is that of the point where the gradient is asked for, a stage of a splitting say, at the weights of the step. Its
    energy is that of the gradient's minibatch, prior + N/n sum likelihood; N/n is in the estimate already and is not taken
    twice.
    """

    def __init__(self, inner: Estimator, weights: AdaptedWeights) -> None:
        super().__init__(inner.potential)
        self._inner, self._weights = inner, weights

    def prepare(self, first: int, count: int) -> None:
        """See `Estimator.prepare`."""
        self._inner.prepare(first, count)

    def begin(self, step: int, theta: Tensor) -> None:
        """See `Estimator.begin`."""
        self._inner.begin(step, theta)

    @property
    def carried(self) -> tuple[Tensor, ...]:
        """See `Estimator.carried`."""
        return self._inner.carried

    def resume(self, carried: tuple[Tensor, ...]) -> None:
        """See `Estimator.resume`."""
        self._inner.resume(carried)

    def energy(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        """See `Estimator.energy`: U itself, which no weight bends."""
        return self._inner.energy(theta, step, minibatch)

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        gradient = self._inner.evaluate(theta, step, minibatch, evaluation)
        energy = self._inner.energy(theta, step, minibatch)
        return gradient * self._weights.multiplier(energy).to(gradient.dtype)

    def prior(self, theta: Tensor) -> Tensor:
        """Refused: the multiplier is that of the whole energy."""
        raise _whole("the gradients of prior and likelihood apart")

    def hessian(self, theta: Tensor, vector: Tensor, step: int, minibatch: int) -> Tensor:
        """Refused: the multiplier jumps where the region changes."""
        raise _whole("Hessian-vector products")


def _whole(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"a step that asks for {what} under adapted weights: expected one of grad(theta), which the weights bend as a whole"
    )
