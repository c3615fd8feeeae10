"""`python -m fairlead`."""

from fairlead.cli.main import process

process()
