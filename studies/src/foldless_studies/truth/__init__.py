"""A fuzzer for truth: situations whose truth is known by construction, and where the library's answers miss it."""
