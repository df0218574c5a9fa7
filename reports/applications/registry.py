"""Which applications are there? One line each; the folder of the name declares the rest."""

from __future__ import annotations

from importlib import import_module

from reports.applications.application import Application
from sgverify.errors import UnknownNameError

APPLICATIONS: tuple[str, ...] = ("lda", "sbn", "classifier")
"""The folders of the applications, in the order in which they are listed; the folder's `__init__` holds one `DECLARED`."""


def find_application(name: str) -> Application:
    """The application of that name. Raises `UnknownNameError` with the names that there are."""
    if name not in APPLICATIONS:
        raise UnknownNameError("application", name, APPLICATIONS)
    found: Application = import_module(f"reports.applications.{name}").DECLARED
    return found
