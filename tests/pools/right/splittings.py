"""Splittings of the kinetic equation, in the letters of molecular dynamics and in those of stochastic gradients.

Molecular: A drifts, B kicks, O is the exact Ornstein-Uhlenbeck flow. Stochastic gradients: A drifts, B is friction, O the
kick with its noise. U is the exact flow of all but the kick.
"""

from sgverify.schemes.catalogue.kinetic import CHEN, MOLECULAR, UBU
from sgverify.schemes.definition.mathematics import exp, expm1, sqrt
from sgverify.schemes.dynamics import kinetic
from sgverify.schemes.splittings import Alphabet


def _molecular(text, order, reference, **given):
    return MOLECULAR.word(text, order=order, **given).named(
        f"molecular_{text.lower()}", summary=f"{text} with exact friction and noise; {reference}."
    )


def _noisy_kicks(text, order, reference):
    return CHEN.word(text, order=order).named(
        f"noisy_kicks_{text.lower()}", summary=f"{text}, whose O is a kick with its noise; {reference}."
    )


def _free(text, order, reference):
    return UBU.word(text, order=order).named(
        f"free_{text.lower()}", summary=f"{text}, all but the kick solved exactly; {reference}."
    )


molecular_aboba = _molecular("ABOBA", 2, "Leimkuhler and Matthews 2013")
molecular_baoab = _molecular("BAOAB", 2, "Leimkuhler and Matthews 2013")
molecular_obabo = _molecular("OBABO", 2, "Bussi and Parrinello 2007")
molecular_oabao = _molecular("OABAO", 2, "Leimkuhler, Matthews and Stoltz 2016")
molecular_boaob = _molecular("BOAOB", 2, "Leimkuhler, Matthews and Stoltz 2016")
molecular_aoboa = _molecular("AOBOA", 2, "Leimkuhler and Matthews 2015, section 7.3")
molecular_abo = _molecular("ABO", 1, "Leimkuhler and Matthews 2015, section 7.3")
molecular_bao = _molecular("BAO", 1, "Leimkuhler and Matthews 2015, section 7.3")
molecular_oab = _molecular("OAB", 1, "Leimkuhler, Matthews and Stoltz 2016")
molecular_oba = _molecular("OBA", 1, "Leimkuhler, Matthews and Stoltz 2016")
molecular_obab = _molecular(
    "OBAB", 1, "refresh in part, then one leapfrog step; Horowitz 1991 without its test"
)
molecular_babo = _molecular("BABO", 1, "one leapfrog step, then refresh in part; Bou-Rabee and Owhadi 2010")
molecular_obababo = _molecular(
    "OBABABO", 2, "two leapfrog steps in half the friction; Bou-Rabee and Vanden-Eijnden 2010"
)
molecular_obababao = _molecular(
    "OBABABAO", 1, "not symmetric; Sexton and Weingarten 1992 within half the friction"
)
molecular_minimum_norm = _molecular(
    "OBABABO",
    2,
    "McLachlan 1995, with the drift shared as 1/2 and the kicks of least error",
    coefficients="1/2, 0.1932, 1/2, 0.6136, 1/2, 0.1932, 1/2",
).named("molecular_minimum_norm")

noisy_kicks_aboba = _noisy_kicks("ABOBA", 2, "Chen, Ding and Carin 2015, section 4")
noisy_kicks_baoab = _noisy_kicks("BAOAB", 2, "Li, Chen, Carlson and Carin 2016, symmetric splitting")
noisy_kicks_obabo = _noisy_kicks("OBABO", 2, "Chen, Ding and Carin 2015, in another order of the letters")
noisy_kicks_oabao = _noisy_kicks("OABAO", 2, "Chen, Ding and Carin 2015, in another order of the letters")
noisy_kicks_boaob = _noisy_kicks("BOAOB", 2, "Chen, Ding and Carin 2015, in another order of the letters")
noisy_kicks_aoboa = _noisy_kicks("AOBOA", 2, "Chen, Ding and Carin 2015, in another order of the letters")
noisy_kicks_bao = _noisy_kicks("BAO", 1, "Shang, Zhu, Leimkuhler and Storkey 2015, not symmetric")
noisy_kicks_aob = _noisy_kicks("AOB", 1, "Shang, Zhu, Leimkuhler and Storkey 2015, not symmetric")

free_ubu = _free("UBU", 2, "Sanz-Serna and Zygalakis 2021; Skeel and Izaguirre 2002")
free_bub = _free("BUB", 2, "Skeel and Izaguirre 2002, the Langevin impulse method")
free_ub = _free("UB", 1, "Monmarche 2021, without the symmetry")
free_bu = _free("BU", 1, "Chada, Leimkuhler, Paulin and Whalley 2024, without the symmetry")
free_ububu = _free("UBUBU", 2, "two kicks a step; Paulin, Whalley, Chada and Leimkuhler 2025")


def _move(theta, p, *, t):
    return theta + t * p, p


def _prior_kick(theta, p, *, t, grad):
    return theta, p - t * grad.prior(theta)


def _likelihood_kick(theta, p, *, t, grad):
    return theta, p - t * grad.likelihood(theta)


def _bath(theta, p, *, t, noise, D, T):
    return theta, exp(-D * t) * p + sqrt(-T * expm1(-2 * D * t)) * noise()


_PARTS = Alphabet("prior and likelihood", kinetic, A=_move, P=_prior_kick, L=_likelihood_kick, O=_bath)

prior_in_short_steps = _PARTS.word("LPAPOPAPL", order=2).named(
    "prior_in_short_steps",
    summary="Reversible multiple time steps, the likelihood outside, the prior within; Tuckerman, Berne and Martyna 1992.",
)
