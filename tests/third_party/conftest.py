"""The package's own tests run where it is installed."""

collect_ignore = ["package"]
