"""`sgverify verify --minimise`: the simplest configuration under which a violation remains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sgverify.checks import Subject
    from sgverify.evidence import Evidence


def show_minimal(subject: Subject, evidence: Sequence[Evidence], *, quiet: bool) -> None:
    """Print the command of the simplest configuration for the first violation; to stderr where `quiet`."""
    from sgverify.configuration import tree_of
    from sgverify.testing.minimising import minimise_violation, violation

    first = violation(evidence)
    if first is None:
        click.echo("nothing to minimise: nothing violates", err=True)
        return
    found = minimise_violation(subject, first)
    if not found.judgements and not tree_of(found.configuration):
        click.echo(f"minimal: the defaults violate already: {found.evidence.replay}", err=quiet)
        return
    click.echo(f"minimal ({found.judgements} configurations judged): {found.evidence.replay}", err=quiet)
