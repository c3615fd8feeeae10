"""What each view of the page shows, as plain JSON values made from a plan. The only part of `web` that reads `engine`.

A record has the same form in the page, in its `.json` address and in a saved file (docs/ui.md). Amounts are integers
in the unit of their resource: cpu in thousandths, everything else in whole units; `engine.record` writes quantities.
"""
