"""The conformance suites of readings: inherit one, say how your carrier takes a step, and run it.

`suite` compares one step with everything injected (`case`) with the plain reading on balls (`reference`), and
expectations in powers of h with the affine series.
"""
