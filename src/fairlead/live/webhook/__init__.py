"""The webhook that gives new pods their tier, and what keeps its count exact.

Without I/O: `admit` (from a review to an answer; `fairlead split` runs it on files), `validate`, `ledger` (the counting
protocol), `census` (who runs where), `certificates`. Driven by the cluster: `service` and `counting` at admission,
`assigner` behind the gate, `janitor` and `repair` afterwards. `component` wires them, `server` and `tls` face the
API server. Which tier a replica belongs to is decided in `levels/tier`; patches are made in `kube/admission`.
"""
