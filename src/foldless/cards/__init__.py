"""What notebooks show for a result: escaped, self-contained HTML without scripts, for light and dark pages."""
