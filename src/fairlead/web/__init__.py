"""The page: one read-only HTTP server that shows plans, live clusters and simulations.

Here belong the records that a view shows (`records`), where they come from (`source_*`), how they are kept up to date
(`stage`), and the routes (`server`). Deciding does not: every number comes from `engine`, `sim` or `kube`.
"""
