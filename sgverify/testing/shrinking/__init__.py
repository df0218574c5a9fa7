"""A violation under the simplest configuration that shows it: `simpler` configurations, `counterexample`, which minimises."""
