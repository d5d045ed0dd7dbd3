"""What does an answer cost? Every figure is a ratio of times, or of memory, measured side by side in one process.

A `Measurement` is a few calls that are timed in turns (`clock`), so that whatever else the machine does meets all of
them alike. Each subject has a file: `one_pass`, `many`, `rivals`, `growth`, `memory`, `imports`, `datasets`. `run`
makes the measurements one after the other and keeps each in a folder; `goals` says what the library promises itself;
`page` writes the tables.

Reading order: `clock` -> `measurement` -> `one_pass`, `many`, ... -> `run` -> `goals`, `page`.
"""

from foldless_studies.speed.run import Settings, run

__all__ = ["Settings", "run"]
