"""The models of the papers, sampled by the papers' samplers: `python -m reports.applications lda|sbn|classifier` from a checkout.

`registry` lists the applications, each declared in a folder of its own with its options (`application` says how). `printed` reads
the settings that a paper prints, `chen2015.toml` and `vr_resgld.toml`. `running` calls an application, keeps what is done where a
killed run goes on (`keeping`), and writes the result (`result` is the document, `writing` its files, `pictures` images in it).
`chains` moves many chains of many settings by a scheme of the catalogue on a model's own stochastic gradient. `samplers_checked`
asks the checks about the schemes that move them. `statistics` is means over seeds with their standard errors, `optimum` the best
setting of a grid, which is refined around it, and `judging` decides the statements of a paper as one family. `__main__` is the
command line.

The models: `lda` (topics of documents), `sbn` (a belief network on binary images), `classifier` (a residual network on images of
classes, learnt by replica exchange).

An application takes schemes, checks and random streams from sgverify, which knows of none.
"""
