"""Subjects of the properties: schemes of a pool, so that each local order is proved once, under any configuration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.checks.applicable_claims import run_check
from sgverify.checks.question import Question
from sgverify.claims import find_claim
from sgverify.configuration import Configuration, load_configuration
from sgverify.evidence import Evidence
from sgverify.exact.series.letters import AlphabetProof, prove_alphabet
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.orders import LocalOrder
from sgverify.schemes import Alphabet, Scheme
from sgverify.schemes.loading import load_scheme
from sgverify.strategies import configurations
from sgverify.subject.subject import Subject
from sgverify.testing import note_replay

EULER = ("sgld-euler", "sghmc-euler", "sghmc-euler-explicit")
SYMMETRIC = (
    "sghmc-aboba",
    "sghmc-baoab",
    "sghmc-obabo",
    "sghmc-oabao",
    "sghmc-chen-boaob",
    "sghmc-chen-oabao",
    "sghmc-md-aboba",
    "sgverify.strategies.words:chen2015 ABOAOBA 1/3,1/2,1/2,1/3,1/2,1/2,1/3",
    "sgverify.strategies.words:molecular BAOAOAB 1/2,1/4,1/2,1/2,1/2,1/4,1/2",
    "sgverify.strategies.words:kinetic/drift|friction+kick|noise CBABC",
    "sgverify.strategies.words:kinetic/drift+friction|noise|kick CABAC",
    "sgverify.strategies.words:kinetic/drift+noise|friction|kick CBABC",
)
"""Second order by theory: palindromes over exact letters."""
FIRST = (
    "sghmc-chen-abo",
    "sghmc-md-bao",
    "sgverify.strategies.words:chen2015 ABOA 1/3,1,1,2/3",
    "sgverify.strategies.words:kinetic/drift|friction+noise+kick AB",
)
POOL = (*EULER, *SYMMETRIC, *FIRST)


@lru_cache(maxsize=256)
def scheme_of(reference: str) -> Scheme:
    return load_scheme(reference)


@lru_cache(maxsize=256)
def order_of(reference: str, dim: int) -> LocalOrder:
    return local_order(scheme_of(reference), dim)


@lru_cache(maxsize=64)
def proof_of(alphabet: Alphabet, dim: int) -> AlphabetProof:
    return prove_alphabet(alphabet, dim)


def subject_of(reference: str, configuration: Configuration, dim: int = 2) -> Subject:
    """A subject that takes what does not depend on its configuration from the pool; `dim` is that of its proofs."""
    scheme = scheme_of(reference)
    subject = Subject(scheme, configuration, reference)
    proof = None if scheme.word is None else proof_of(scheme.word.alphabet, dim)
    vars(subject).update(order=order_of(reference, dim), alphabet=proof)
    return subject


def with_sweep(subject: Subject, **sweep: list[float] | list[int]) -> Subject:
    """The subject with points at these steps or lengths only: verdicts come from expansions, points illustrate them."""
    return subject_of(subject.reference, load_configuration(subject.configuration, sweep=sweep))


def subjects(references: Sequence[str] = POOL, **options: Any) -> SearchStrategy[Subject]:
    """Subjects over `references`; the options are those of `configurations`."""
    return st.sampled_from(references).flatmap(
        lambda reference: configurations(scheme=scheme_of(reference), **options).map(
            lambda configuration: subject_of(reference, configuration)
        )
    )


def judged(subject: Subject, claim: str, quantity: str) -> Evidence:
    """The evidence of one check, with the command that replays it on show should the example fail."""
    note_replay(subject.reference, subject.configuration, claim)
    return run_check(Question(subject, find_claim(claim), quantity))
