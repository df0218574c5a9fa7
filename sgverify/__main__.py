"""The program from its first moment: `python -m sgverify`, and the command `sgverify`.

What it needs takes most of a second to load. Until it is loaded, and once the command is over, Ctrl-C ends the process in one line:
an exception would end in the middle of somebody's module, as a traceback, or be caught there.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


def start() -> int:
    """Run the command line of this process and return its exit code."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heard:
        signal.signal(signal.SIGINT, _end)
    from sgverify.cli import main

    return main()


def _end(number: int, frame: Any) -> None:
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(start())
