"""Steps of which it is known whether they are right; a family of them is a plain module in `right` or `wrong`.

A module holds schemes, splittings and torch steps at its top level. Each says in its docstring (a splitting in its
summary) what it is and, in `right`, where it was published. `entries` finds them, `running` asks `verify` about one
in a process of its own, `table` keeps what came out.
"""
