"""Displays and the report: the numbers of the results as pictures and pages."""
