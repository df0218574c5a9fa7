"""The committed reports and what writes them: `python -m reports` from the root of a checkout.

`parts` says of each part what it makes and from what, and calls one of `suites` (a paper's experiments and its page), `picture`
(the README's), `pools`, `false_alarms`, `posteriors`, or a command of sgverify. `comparison` is no part: it holds the answers of
two versions of the code against each other.
"""
