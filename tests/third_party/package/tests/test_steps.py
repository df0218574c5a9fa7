"""Every check of each scheme that is named here is a test of its own."""

from sgverify.extending import parametrize_with_checks


@parametrize_with_checks(["shop-heun", "shop-momentum"], checks=["local-order"])
def test_conforms(scheme, check):
    check(scheme)


@parametrize_with_checks(["shop-heun"], checks=["shop-centre"])
def test_stays_at_the_centre(scheme, check):
    check(scheme)
