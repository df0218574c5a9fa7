"""The committed reports and the code that writes them: `python -m reports` from the root of a checkout.

`making.parts` lists the parts with their files, sources and costs; the other files of `making` compute and write them.
`applications` are models of the papers, sampled: a part takes their results, and `python -m reports.applications` runs one.
`comparison` compares the answers of two versions of the code. The other folders hold what the parts made.
"""
