"""Pictures, and the report: the numbers of the results, drawn."""
