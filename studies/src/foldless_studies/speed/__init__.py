"""What does an answer cost? Every figure is a ratio of times, or of memory, measured side by side in one process.

A `Measurement` is a few calls that are timed in turns, so that whatever else the machine does meets all of them alike.
`subjects` and `rivals` say what is measured; `run` makes the measurements one after the other, keeps each in a folder
and judges the goals; `page` writes the tables.

Reading order: `measurement` -> `subjects`, `rivals` -> `run` -> `page`.
"""
