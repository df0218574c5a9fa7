"""The expanded mean parametrisation of the simplex: w_k = theta_k / sum_j theta_j, each theta_k > 0 as of a gamma law.

With counts n_k and independent theta_k ~ Gamma(alpha_k, 1) a priori, w ~ Dirichlet(alpha): the target `expanded-mean`, whose U is
sum_k theta_k - (alpha_k + n_k - 1) log theta_k + n log sum_k theta_k, n = sum_k n_k. The metric is diag(theta)^-1, and a step that
leaves theta > 0 is mirrored. At T = 1 the drift of a step is h (alpha_k + n_k - theta_k - n w_k), as published with epsilon = 2 h.

The catalogue lists the scheme apart from those that run on every target: on all of R^d the square root of theta is none.
Stationarity and the local order are proved as of theta > 0, and the running code is judged on a target that lives there.
"""

from sgverify.schemes.definition.mathematics import magnitude, sqrt
from sgverify.schemes.dynamics import expanded_mean
from sgverify.schemes.scheme import scheme

SOURCE = "Patterson and Teh 2013, section 4"


@scheme(expanded_mean, order=1)
def sgrld_expanded_mean(theta, *, h, grad, noise, T):
    """Riemannian Langevin dynamics on theta > 0 in the metric diag(theta)^-1, Euler, mirrored at 0.

    The order is that of the step away from 0, where a step is mirrored with a chance that is small beyond all powers
    of h.
    """
    force = T - theta * grad(theta)
    return magnitude(theta + h * force + sqrt(2 * T * h * theta) * noise())


sgrld_expanded_mean = sgrld_expanded_mean.named("sgrld-expanded-mean", source=SOURCE)

SCHEMES = (sgrld_expanded_mean,)
