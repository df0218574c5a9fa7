"""How is an application run: its settings, its unfinished run of before, and the document of what it found?"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sgverify.applications.application import Application, Job, Progress
from sgverify.applications.keeping import KeptParts
from sgverify.applications.registry import find_application
from sgverify.applications.result import ApplicationDocument
from sgverify.applications.writing import write_result
from sgverify.errors import ConfigurationError
from sgverify.evidence import Provenance
from sgverify.report.writing import prepare_folder
from sgverify.samplers.run.settings import one_thread

SEEDS, QUICK_SEEDS = 2, 1
"""The chains of each setting in a default and in a reduced run."""


def run_application(
    name: str,
    *,
    out: str | Path | None = None,
    seed: int = 0,
    seeds: int | None = None,
    quick: bool = False,
    again: bool = False,
    progress: Progress | None = None,
    command: str = "",
    **given: Any,
) -> ApplicationDocument:
    """Run an application, and write its result to the folder `out`, if one is given.

    A run that was killed goes on when it is called again with the same arguments, to the same bits; `again` discards it. `given`
    are values of the application's options, with `-` as `_`. Raises `UnknownNameError` for an unknown application or option,
    `ConfigurationError` for a value that makes no sense or a folder that holds an unfinished run with other settings.
    """
    from importlib.metadata import version

    started = time.perf_counter()
    application = find_application(name)
    settings = application.settings(
        {key.replace("_", "-"): value for key, value in given.items()}, quick=quick
    )
    count = (QUICK_SEEDS if quick else SEEDS) if seeds is None else seeds
    if count < 1:
        raise ConfigurationError(f"seeds={seeds!r}: expected at least 1")
    folder = None if out is None else prepare_folder(out)
    identity = {
        "application": name,
        "torch": version("torch"),
        "seed": seed,
        "seeds": count,
        **_identified(application, settings),
    }
    kept = KeptParts(folder, identity, again=again)
    with one_thread():
        found = application.load()(Job(settings, seed, count, quick, kept, progress))
    seconds = round(time.perf_counter() - started, 3)
    document = ApplicationDocument(
        application=name,
        title=application.title,
        source=application.source,
        provenance=Provenance.gather(command=command or f"sgverify app {name}", seconds=seconds),
        seed=seed,
        seeds=count,
        settings={"quick": quick, **settings},
        seconds=seconds,
        found=found,
    )
    if folder is not None:
        write_result(document, folder)
    kept.clear()
    return document


def _identified(application: Application, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with the hash of each file that one names: what a run goes on with is what it began with."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found[name] = value
        if isinstance(value, str) and value and Path(value).is_file():
            found[f"sha256 of {name}"] = hashlib.sha256(Path(value).read_bytes()).hexdigest()
    return found
