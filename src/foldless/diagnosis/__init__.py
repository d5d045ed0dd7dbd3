"""May the answer be trusted? `run` makes all checks of `foldless.findings`, `result` sums them up in a verdict."""
