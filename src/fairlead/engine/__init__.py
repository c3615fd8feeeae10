"""The levels composed: one snapshot in, one plan out, with its invariants checked and its explanation.

Here belongs what needs more than one level. Reading manifests does not (`kube`), nor printing (`cli`).
"""
