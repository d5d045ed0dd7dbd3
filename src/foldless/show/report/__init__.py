"""The report: everything about one classifier and its data on one self-contained page."""
