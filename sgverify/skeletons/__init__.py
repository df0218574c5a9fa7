"""Distributions to start from: what does `sgverify new` write? `writing` makes the files, of the texts in `templates/`."""
