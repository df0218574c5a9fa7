"""Which models of the papers can be sampled, and what does a run of one find?

`registry` lists the applications, each declared in a folder of its own with its options (`application` says how). `printed` reads
the settings that a paper prints from its folder. `running` calls an application, keeps what is done where a killed run goes on
(`keeping`), and writes the result (`result` is the document, `writing` its files, `pictures` images in it). `chains` moves many
chains of many settings by a scheme of the catalogue on a model's own stochastic gradient. `samplers_checked` asks the checks about
the schemes that move them. `statistics` is means over seeds with their standard errors, `prediction` scores the
predictions of classifiers.

The models: `lda` (topics of documents), `sbn` (a belief network on binary images), `classifier` (a residual network on images of
classes, learnt by replica exchange).

An application takes schemes, checks and random streams from the floors below and names a paper; the command `sgverify app` asks for
it, and nothing below knows of it.
"""
