"""Granting: which jobs may take part, their order, the loop of grants, the ledger of room, the reservation.

Room taken from running replicas belongs in `preemption`, many turns at once in `bulk`.
"""
