"""The command line: `sgverify verify | rate | bch | list | report | replay`."""

from sgverify.cli.main import main

__all__ = ["main"]
