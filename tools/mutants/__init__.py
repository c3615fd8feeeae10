"""Mutants: one operator of the source is changed, and the tests must notice (docs/decisions/0225).

`changes` finds what can be changed in a module and `sample` draws from all modules by a seed. `coverage_map` and
`importers` know which tests could notice. `tree` copies the files, `trial` runs tests on a copy, `campaign` does so for
a whole sample, `report` prints and writes the results.
"""
