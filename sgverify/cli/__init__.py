"""The command line: `sgverify verify | rate | bch | errata | list | report | replay | diff |
calibrate | campaign | sample | schema | advise | identify | doctor | new`.

`main` is the entry point and its exit codes. `verifying` is `verify`; `commands` are short ones; `listing`, `sampling`,
`splitting` (bch), `stored` (replay), `differing` (diff), `reporting`, `planted` (mutants), `calibrating`, `campaigning`,
`schemas`, `advising`, `identifying` and `starting` (new) are the longer ones. `shared` is what several of them
use: options, output, worker processes.
"""

from sgverify.cli.main import main

__all__ = ["main"]
