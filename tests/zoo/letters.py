"""A file with an alphabet of one's own: a kick, and a wrong force-gradient kick that refines it."""

LETTERS = """
from sgverify import Alphabet, exp, sqrt
from sgverify.schemes import kinetic

def drift(theta, p, *, t): return theta + t*p, p
def kick(theta, p, *, t, grad): return theta, p - t*grad(theta)
def refined(theta, p, *, t, grad): return theta, p - t*grad(theta) + 5*t**3/32*grad.hessian(theta, grad(theta))
def bath(theta, p, *, t, noise, D, T): return theta, exp(-D*t)*p + sqrt(T*(1 - exp(-2*D*t)))*noise()

letters = Alphabet("mine", kinetic, A=drift, K=kick, G=refined, O=bath)
plain = letters.word("KAOAK", coefficients="1/4,1/2,1,1/2,3/4")
fourth = letters.word("OKAGAKO", order={"invariant": 4}, coefficients="1/2,1/6,1/2,2/3,1/2,1/6,1/2")
"""
