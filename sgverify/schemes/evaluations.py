"""What a step costs: the gradient evaluations that no implementation can save."""

from __future__ import annotations

from typing import Any

from sgverify.schemes.abstract import AbstractMetric
from sgverify.schemes.abstract_value import NUMBER, VECTOR, Abstract
from sgverify.schemes.binding import Carrier, bind
from sgverify.schemes.scheme import Scheme


def evaluations(scheme: Scheme, *, minibatches: bool) -> int:
    """The number of gradients that one step of a long run has to evaluate.

    An evaluation of the same gradient at the same place is made once. Full gradients are the same at every step,
    so that one at the place where a step ends serves the next step too, where that begins with it: BAOAB needs
    one evaluation a step, not two. With `minibatches` every step has minibatches of its own, and nothing is
    carried over. Heun's scheme needs two of either. A Hessian-vector product counts as one, the prior's gradient as none: it
    visits no data.

    >>> from sgverify.schemes import find_scheme
    >>> [evaluations(find_scheme("sghmc-baoab"), minibatches=m) for m in (False, True)]
    [1, 2]
    """
    asked: set[tuple[Any, ...]] = set()
    state = tuple(Abstract(shape, formula=(name,)) for name, shape in scheme.shapes.items())
    numbers = {name: Abstract(NUMBER, formula=(name,)) for name in ("h", "dim", *scheme.parameters)}
    h, dim = numbers.pop("h"), numbers.pop("dim")
    draws = iter(range(scheme.draws))
    after = bind(scheme, Carrier(), numbers, dim=dim, metric=AbstractMetric()).step(
        state,
        h=h,
        grad=_Gradient(asked, [0] if minibatches else None),
        draw=lambda law: Abstract(VECTOR, True, ("noise", next(draws), law.name), drawn=True),
    )
    place = scheme.state.index("theta")
    start, end = ({(0, values[place].mark)} for values in (state, after))
    carried = not minibatches and start != end and start | end <= asked
    return len(asked) - carried


class _Gradient:
    """Notes where which gradient is asked for; `opened` counts further minibatches, None where all data are used."""

    def __init__(self, asked: set[tuple[Any, ...]], opened: list[int] | None, minibatch: int = 0) -> None:
        self._asked, self._opened, self._minibatch = asked, opened, minibatch

    def __call__(self, place: Abstract) -> Abstract:
        self._asked.add((self._minibatch, place.mark))
        return Abstract(VECTOR, place.noisy, ("grad", self._minibatch, place.mark))

    def hessian(self, place: Abstract, vector: Abstract) -> Abstract:
        formula = ("hessian", self._minibatch, place.mark, vector.mark)
        self._asked.add(formula)
        return Abstract(VECTOR, place.noisy or vector.noisy, formula)

    def prior(self, place: Abstract) -> Abstract:
        return Abstract(VECTOR, place.noisy, ("prior", place.mark))

    def likelihood(self, place: Abstract) -> Abstract:
        # With the prior's, which costs nothing, it is the whole gradient there.
        return self(place) - self.prior(place)

    def fresh(self) -> _Gradient:
        if self._opened is None:
            return self
        self._opened[0] += 1
        return _Gradient(self._asked, self._opened, self._opened[0])
