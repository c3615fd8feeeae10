"""A cluster in memory that obeys plans over time: scenarios, traces, policies side by side, a report."""
