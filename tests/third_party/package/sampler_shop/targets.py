"""A target of the shop's own."""

from sgverify.extending import POSITIVE, TargetKind, dot, number


def potential(*, depth, dim):
    """U(theta) = |theta|^2/2 + depth |theta|^4/4."""

    def prior(theta):
        square = dot(theta, theta)
        return square / 2 + number(theta, depth) * square * square / 4

    return prior, None


BOWL = TargetKind(
    name="shop-bowl",
    summary="U = |theta|^2/2 + depth |theta|^4/4",
    source="the shop's catalogue",
    constants={"depth": (POSITIVE, 1)},
    potential=potential,
    sized=True,
    smooth=True,
)
