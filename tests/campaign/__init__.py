"""The campaign: random inputs and random faults in large numbers, counted over many runs.

`python -m tests.campaign fuzz` feeds mangled inputs to everything that reads from outside, `… soak` drives all four
components on a real control plane through faults. Each run adds its counts to docs/proof/campaign.jsonl, from which
the page beside it is made. Small numbers of both run in `make test`. See docs/campaign.md.
"""
