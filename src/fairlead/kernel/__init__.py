"""Arithmetic on columns of numbers: dividing, levelling, filling, drawing, ranking, measuring.

Here belongs what can be said of units, targets, weights and amounts without knowing what they stand for. Every
function is pure, takes NumPy columns (one row a target), never changes them and returns new ones. Comparisons that
decide something are exact: integers, cross-multiplication, Python integers where 2**63 could be passed. A tie
falls to the lower `tie_rank`, then to the lower row; a caller that wants an answer independent of row order gives
a `tie_rank` without duplicates.

Domain words, names, units of measure, validation of user input, clocks and random state do not belong here: columns
are expected to be sound (no negative weights, caps, steps or units; magnitudes below 2**62).

Import the module you need (`from fairlead.kernel.level import level`); this package imports nothing by itself.
"""
