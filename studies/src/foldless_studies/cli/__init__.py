"""The commands that studies add to ``foldless``."""
