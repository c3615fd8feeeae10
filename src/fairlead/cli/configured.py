"""The option `--config`, the same on every command that decides."""

from typing import TYPE_CHECKING

import click

from fairlead.cli import verb

if TYPE_CHECKING:
    from fairlead.engine.plan_settings import PlanSettings
    from fairlead.settings import Configuration

config_option = click.option("--config", metavar="FILE", help="A configuration (see `fairlead config`).")


def configuration(config: str | None) -> "Configuration":
    """The configuration of the file, the defaults where none is named."""
    from fairlead.settings import DEFAULTS, read_configuration

    return read_configuration(verb.read(config), config) if config else DEFAULTS


def plan_settings(config: str | None) -> "PlanSettings":
    """What the configuration says to a plan."""
    if config is None:
        from fairlead.engine.plan_settings import DEFAULT_SETTINGS

        return DEFAULT_SETTINGS
    return configuration(config).plan_settings()
