"""The committed reports and the code that writes them: `python -m reports` from the root of a checkout.

`parts` lists the parts with their files, sources and costs. A part calls a command of sgverify or one of `suites` (a paper's
experiments and its page), `picture` (the README's), `pools`, `false_alarms`,
`slow_tests` and `posteriors`. `comparison` is no part: it
compares the answers of two versions of the code.
"""
