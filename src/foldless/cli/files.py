"""Writing files whole or not at all, under the name that the commands use."""

from foldless._files import refuse_unwritable, write_atomically

__all__ = ["refuse_unwritable", "write_atomically"]
