"""The kill matrix: every check on every planted bug of `tests.mutants`, and on the correct schemes.

`judging` asks the checks, `kill_matrix` is what comes of it, with its JSON, `page` shows it, and `command` is `python -m reports
power`.
"""
