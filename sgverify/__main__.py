"""`python -m sgverify` is the command `sgverify`."""

import sys

from sgverify.cli import main

if __name__ == "__main__":
    sys.exit(main())
