"""The catalogues as rows: name, summary, source."""

from __future__ import annotations

from sgverify.claims import Claim
from sgverify.errors import UnknownNameError

KINDS = ("schemes", "targets", "claims", "checks", "mutants", "face")


def items_of(kind: str) -> list[dict[str, str]]:
    """The rows of one catalogue; raises `UnknownNameError` for another kind."""
    if kind == "schemes":
        return _schemes()
    if kind == "targets":
        from sgverify.targets import TARGETS

        return [_row(target.name, target.summary, target.source) for target in TARGETS.values()]
    if kind == "claims":
        from sgverify.claims import claims

        return [_row(claim.id, _title(claim), str(claim.source)) for claim in claims().values()]
    if kind == "checks":
        from sgverify.checks import CHECKS

        return [_row(check.name, check.summary, check.source) for check in CHECKS.values()]
    if kind == "mutants":
        from sgverify.checks.mutants import mutants

        return [
            _row(mutant.name, f"{mutant.family}, {mutant.scheme}: {mutant.reason}.", mutant.source)
            for mutant in mutants().values()
        ]
    if kind == "face":
        from sgverify.schemes.limits import LIMITS

        return [
            _row(
                limit.name, f"No definition has {limit.what}. Instead: {limit.way_on}.", f"told: {limit.told}"
            )
            for limit in LIMITS.values()
        ]
    raise UnknownNameError("kind of list", kind, KINDS)


def _schemes() -> list[dict[str, str]]:
    from sgverify.schemes.catalogue import NAMED, PATTERNS
    from sgverify.schemes.composites import COMPOSITES

    named = [_row(item.name, item.summary, item.source) for item in NAMED.values()]
    named += [_row(name, summary, source) for name, (summary, source) in PATTERNS.items()]
    return named + [_row(item.name, item.summary, item.source) for item in COMPOSITES.values()]


def _title(claim: Claim) -> str:
    """The title, and why nothing of the claim is judged where that is so."""
    left_out = f" (left out: {claim.left_out})" if claim.left_out else ""
    return claim.title + left_out + (" (a bound that holds of everything)" if claim.vacuous else "")


def _row(name: str, summary: str, source: str) -> dict[str, str]:
    return {"name": name, "summary": summary, "source": source}
