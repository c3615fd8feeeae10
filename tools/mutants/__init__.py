"""Mutants: one operator of the source is changed, and the tests must notice (docs/decisions/0225).

`changes` finds what can be changed in a module and `sample` draws from all modules by a seed. `recording` finds out by
`probes` which tests could notice; `neighbours` guesses it by imports. `tree` copies the files, `trial` and `warm` run
tests on a copy, `campaign` does so for a whole sample, `report` prints and writes the results.
"""
