"""Results: frozen objects that answer questions about one posterior."""
