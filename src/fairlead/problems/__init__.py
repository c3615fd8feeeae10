"""The JSON of the five verbs: a problem decoded into model types, a decision encoded as an answer.

One module a verb. Each exposes `Problem` (a strict msgspec Struct), `solve(problem)` and `answer(problem, decision)`;
a level that decides many at once also exposes `solve_many(problems)`. Here belongs no arithmetic and no printing.
"""
