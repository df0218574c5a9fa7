"""Identification of a step with a published scheme, from the exact law of one step.

`identifying` is the answer, `model` its form in JSON and on a terminal, with the numbers recovered. Steps are
observed on chosen potentials (`sgverify.law`); `candidates` are the schemes compared, `starts` and `fitting` recover their
numbers, `comparing` confirms the law at other states, draws and potentials and names the terms by which the nearest scheme differs,
`matching` compares at all settings, up to the parameters that the law leaves open. `conventions` names the recovered numbers.
"""
