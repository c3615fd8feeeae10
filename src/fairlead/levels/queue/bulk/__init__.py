"""Many turns at once: how far every job gets before any job can be refused (docs/decisions/0061, 0160).

The result is that of the loop in `grants`, replica by replica; nothing here decides a tie.
"""
