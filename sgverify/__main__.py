"""The program from its first moment: `python -m sgverify`, and the command `sgverify`.

What it needs takes most of a second to load. Until it is loaded, and once the command is over, Ctrl-C and its like end the process
in one line: an exception would end in the middle of somebody's module, as a traceback, or be caught there.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


def start() -> int:
    """Run the command line of this process and return its exit code."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)
    from sgverify.cli import main

    return main()


def _end(number: int, frame: Any) -> None:
    said = "interrupted" if number == signal.SIGINT else f"stopped by {signal.Signals(number).name}"
    try:
        os.write(2, f"{said}\n".encode())
    finally:
        os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(start())
