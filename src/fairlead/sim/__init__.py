"""A cluster in memory that obeys plans over time: scenarios, traces, policies side by side, a report.

Here belong what happens when (scenario, generator, trace), the loop that lets it happen, and the measures of what came
of it. Deciding does not: who may start and where replicas go is asked of the same functions that `plan` asks.
"""
