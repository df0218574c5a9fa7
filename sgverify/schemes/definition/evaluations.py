"""The cost of a step: the gradient evaluations that no implementation can save."""

from __future__ import annotations

from typing import Any

from sgverify.schemes.definition.abstract import AbstractMetric
from sgverify.schemes.definition.abstract_value import NUMBER, VECTOR, Abstract
from sgverify.schemes.definition.binding import Carrier, bind
from sgverify.schemes.definition.gradient import GradientIngredient
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
        grad=_Gradient(asked, minibatches),
        draw=lambda law: Abstract(VECTOR, True, ("noise", next(draws), law.name), drawn=True),
    )
    place = scheme.state.index("theta")
    start, end = ({(0, values[place].mark)} for values in (state, after))
    carried = not minibatches and start != end and start | end <= asked
    return len(asked) - carried


class _Gradient(GradientIngredient):
    """Records the place and the minibatch of each evaluation; `minibatches`: whether `fresh` gives another minibatch."""

    def __init__(self, noted: set[tuple[Any, ...]], minibatches: bool) -> None:
        super().__init__()
        self._noted, self._minibatches = noted, minibatches

    def evaluate(self, place: Abstract, minibatch: int) -> Abstract:
        number = minibatch if self._minibatches else 0
        self._noted.add((number, place.mark))
        return Abstract(VECTOR, place.noisy, ("grad", number, place.mark))

    def hessian(self, place: Abstract, vector: Abstract) -> Abstract:
        formula = ("hessian", self.minibatch() if self._minibatches else 0, place.mark, vector.mark)
        self._noted.add(formula)
        return Abstract(VECTOR, place.noisy or vector.noisy, formula)

    def prior(self, place: Abstract) -> Abstract:
        # It costs nothing, so that the likelihood's part costs what the whole gradient does.
        return Abstract(VECTOR, place.noisy, ("prior", place.mark))
