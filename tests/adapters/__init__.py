"""Each foreign kind on its own."""
