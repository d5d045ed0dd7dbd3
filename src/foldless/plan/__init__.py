"""How many rows a study needs, and what more rows would bring."""
