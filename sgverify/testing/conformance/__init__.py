"""The conformance suite of readings: inherit it, say how your carrier takes a step, and run it.

`suite` compares one step with everything injected (`case`) with the plain reading on balls (`reference`).
"""
