"""The fairness of the live scheduler: whose turn it is among the pods that wait, and gangs that start as a whole.

`books` keeps jobs, queues and weights from watches; `fits` asks the node level on the snapshot of the cycle; `fair`
makes a turn of it; `turn` is what a turn tells the rest; `intents` records a gang before it is bound. `evictor` carries
out evictions and `marks` writes them on pods; `upkeep` looks after promises, status and metrics; `duties` puts these
together. Deciding itself is in `levels/queue`. Where pods go once it is their turn is no business of this package.
"""
