"""The command line: `sgverify verify | rate | bch | errata | list | report | replay | calibrate`."""

from sgverify.cli.main import main

__all__ = ["main"]
