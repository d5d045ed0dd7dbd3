"""What notebooks show for a result: escaped, self-contained HTML that needs no script and suits light and dark pages.

`results` knows each kind of result, `card` the layout, `svg` the small pictures, `numbers` how a rate is
written, and `density` turns a law into a curve. Nothing here computes a figure that the result does not give.
"""
