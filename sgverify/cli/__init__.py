"""The command line: `sgverify verify | rate | bch | errata | list | report | replay | calibrate | sample`."""

from sgverify.cli.main import main

__all__ = ["main"]
