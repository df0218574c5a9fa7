"""How is an application run: its settings, its unfinished run of before, and the document of what it found?"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from reports.applications.application import Application, Job, Progress
from reports.applications.keeping import KeptParts
from reports.applications.registry import find_application
from reports.applications.result import ApplicationDocument
from reports.applications.writing import write_result
from sgverify.errors import ConfigurationError, UserError, shown
from sgverify.evidence import Provenance
from sgverify.keeping.files import opened
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
    started = time.perf_counter()
    application = find_application(name)
    settings = application.settings(
        {key.replace("_", "-"): value for key, value in given.items()}, quick=quick
    )
    count = (QUICK_SEEDS if quick else SEEDS) if seeds is None else seeds
    if count < 1:
        raise ConfigurationError(f"seeds={seeds!r}: expected at least 1")
    if not 0 <= seed < 2**63:
        raise ConfigurationError(f"seed={shown(seed)}: expected 0 to 2**63 - 1")
    folder = None if out is None else prepare_folder(out)
    identity = {
        "application": name,
        "seed": seed,
        "seeds": count,
        **_identified(application, settings),
    }
    kept = KeptParts(folder, identity, again=again)
    try:
        with one_thread():
            found = application.load()(Job(settings, seed, count, quick, kept, progress))
        seconds = round(time.perf_counter() - started, 3)
        document = ApplicationDocument(
            application=name,
            title=application.title,
            source=application.source,
            provenance=Provenance.gather(
                command=command or f"python -m reports.applications {name}", seconds=seconds
            ),
            seed=seed,
            seeds=count,
            settings={"quick": quick, **settings},
            seconds=seconds,
            found=found,
        )
        if folder is not None:
            write_result(document, folder)
        kept.clear()
    except (MemoryError, RuntimeError) as error:
        # torch tells of memory that it cannot have by a RuntimeError.
        if not isinstance(error, MemoryError) and "can't allocate memory" not in str(error):
            raise
        raise UserError(
            f"{name}: there was no more memory ({' '.join(str(error).split())}); expected a model and data that fit into it, "
            "with all settings of a grid side by side; give smaller ones"
        ) from None
    finally:
        kept.close()
    return document


def _identified(application: Application, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with the hash of each file that one names in the place of its name.

    What a run goes on with is what it began with, wherever the file lies.
    """
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found[name] = value
        # What cannot be read is told by the application, whose message says what it is for.
        if isinstance(value, str) and value:
            with contextlib.suppress(OSError), opened(value, None) as file:
                found[name] = (
                    f"sha256 {hashlib.file_digest(cast('BufferedReader', file), 'sha256').hexdigest()}"
                )
    return found
