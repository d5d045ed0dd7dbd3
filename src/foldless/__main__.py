"""``python -m foldless``: the command line, where the ``foldless`` command is not on the path."""

from foldless.cli import main

if __name__ == "__main__":
    main()
