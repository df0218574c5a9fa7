"""A check of the shop's own; its claim is `cards/shop/centre.toml`."""

from sgverify.extending import Carrier, Check, GradientIngredient, Judgement, bind, parameters_of


class _Slope(GradientIngredient):
    """grad U = theta."""

    def evaluate(self, place, minibatch):
        """The gradient at a place."""
        return place


def check_centre(question):
    """A step from the minimum of U = theta^2/2, with momentum and draws at 0, stays there.

    Cannot see: a wrong factor of what is 0 there.
    """
    scheme = question.subject.scheme
    start = (0.0, 0.0)[: len(scheme.state)]
    bound = bind(scheme, Carrier(), parameters_of(question.configuration), dim=1)
    state = bound.step(start, h=0.125, grad=_Slope(), draw=lambda law: 0.0)
    verdict = "conforms" if state == start else "violates"
    reason = f"a step from the centre leads to {tuple(map(float, state))}"
    return question.evidence(judgement=Judgement(verdict, False, reason))


CENTRE = Check("shop-centre", "sampler_shop.checks:check_centre", "the shop's catalogue", room="")
