"""The conformance suite of carriers: inherit it, say how your carrier takes a step, and run it.

`suite` compares one step, its draws and minibatches prescribed, with the plain reading on balls (`reference`).
"""
