"""The report: everything foldless can say about one classifier and its data, on one self-contained page.

run          `report`: the parts in their order
result       `Report`
case         what is reported on, and what a part hands over
answer ...   one file per part: plain content first, pictures from the same results
headline     the answer in plain words
methods      the paragraph for a manuscript, with its references
pictures     drawings as inline SVG that follows the page's colours
page         the template, filled in
text         names that are safe to show, and plain values
"""
