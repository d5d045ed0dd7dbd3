"""Honest scores from one fit, and the calibrated posterior on top of them."""
