"""Checks of data and fit: each looks at one thing and returns a `Finding`, or None."""
