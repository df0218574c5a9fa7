"""How many schemes does `sgverify identify` recover, and does it ever take a wrong one for a scheme of the catalogue?

`spelled` writes the catalogue's schemes as torch code in random conventions, `slightly_wrong` edits one factor of a formula by 1 %,
`making` asks of all and writes recovery.json and recovery.md.
"""
