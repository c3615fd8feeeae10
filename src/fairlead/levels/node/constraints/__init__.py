"""Which nodes a shape may use, and how many of its replicas each still holds: columns in, columns out.

One module a kind of constraint. A filter returns a reason code per node (0 passes); `feasible` runs them in order.
"""
