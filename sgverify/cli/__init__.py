"""The command line: `sgverify verify | rate | bch | errata | list | report | replay | diff |
campaign | sample | schema | advise | bound | identify | compare | design | doctor | new`.

`main` is the entry point and its exit codes. `verifying` is `verify`; `commands` are short ones; `listing` (list, schema),
`sampling`, `splitting` (bch), `stored` (replay, diff), `reporting`, `campaigning`, `advising` (advise, width, identify, design),
`comparing` and `bounding` are the longer ones; `installation` is examined by `doctor`. `shared` is what several of them use:
options, output, worker processes.
"""

from sgverify.cli.main import main

__all__ = ["main"]
