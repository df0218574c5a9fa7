"""Checks: a scheme and a configuration in, evidence out. The one place where exact meets sampled."""

from sgverify.checks.judging import judge
from sgverify.checks.questions import QUANTITIES, make_subject, rate, replay, verify
from sgverify.checks.registry import CHECKS, Check
from sgverify.checks.subject import Subject

__all__ = ["CHECKS", "QUANTITIES", "Check", "Subject", "judge", "make_subject", "rate", "replay", "verify"]
