"""The command line: `sgverify verify | rate | bch | errata | list | report | replay | calibrate | sample |
schema | advise | doctor`.

`main` is the entry point and its exit codes. `verifying` is `verify`; `commands` are short ones, `options` those that several
share; `listing`, `sampling`, `splitting` (bch), `stored` (replay), `reporting`, `planted` (mutants), `calibrating`, `schemas`
and `advising` are the longer ones. `baselines` excuses known violations, and `github` annotates the lines of a pull request.
`output` is what goes to which stream, `workers` runs jobs, or the questions of one
call, on several processes.
"""

from sgverify.cli.main import main

__all__ = ["main"]
