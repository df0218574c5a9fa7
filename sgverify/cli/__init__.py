"""The command line: `sgverify verify | rate | bch | errata | list | report | replay | calibrate | sample |
schema | advise`.

`main` is the entry point and its exit codes, `commands` the commands, with `listing`, `sampling`, `splitting` (bch), `stored`
(replay), `reporting`, `planted` (mutants), `calibrating`, `schemas` and `advising` for the longer ones. `output` is what goes to
which stream, `workers` runs independent jobs on several processes.
"""

from sgverify.cli.main import main

__all__ = ["main"]
