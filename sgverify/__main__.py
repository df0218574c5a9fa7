"""`python -m sgverify` is the command `sgverify`."""

from sgverify.cli import main

if __name__ == "__main__":
    main()
