"""The five levels, one package each with one public verb. Levels are pure and do not import one another."""
