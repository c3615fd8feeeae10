"""`fairlead config check`: the configuration is read strictly, with the place of every mistake."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fairlead.cli.main import cli
from fairlead.model.errors import InputError
from fairlead.model.tiers import CAPACITY
from fairlead.settings import DEFAULTS, TierSettings, read_configuration, read_tier

HEAD = "apiVersion: fairlead.io/v1alpha1\nkind: Configuration\n"
CLOUD = """
tier:
  onDemandRequirement: {key: cloud/spot, operator: DoesNotExist}
  spotRequirement: {key: cloud/spot, values: ["true"]}
  spotTolerations:
  - {key: cloud/spot, value: "true", effect: NoSchedule}
  - {operator: Exists}
  spotWeight: 50
  singleReplica: false
"""


def _run(path: Path, *more: str) -> Result:
    return CliRunner().invoke(cli, ["config", "check", "-f", str(path), *more], standalone_mode=False)


def test_configuration_well_written_is_accepted(tmp_path: Path) -> None:
    """One line says that it is valid; with -o it is printed with its defaults."""
    path = tmp_path / "fairlead.yaml"
    path.write_text(HEAD)
    assert "a valid Configuration" in _run(path).stdout
    whole = json.loads(_run(path, "-o", "json").stdout)
    assert whole["tier"]["presets"] is None
    assert "singleReplica: true" in _run(path, "-o", "yaml").stdout


def test_tier_section_becomes_rules() -> None:
    """Requirements, tolerations, weight and switches arrive where they are used."""
    tier = read_configuration((HEAD + CLOUD).encode(), "c").tier
    tiers = tier.choice().tiers({CAPACITY})
    assert ([each.operator for each in tiers.on_demand], tiers.spot[0].values) == (["DoesNotExist"], ("true",))
    assert (tiers.weight, tiers.single_replica) == (50, False)
    assert [each.operator for each in tiers.tolerations] == ["Equal", "Exists"]
    assert read_tier((HEAD + CLOUD).encode(), "c") == tier
    assert read_tier(b"singleReplica: false", "c") == TierSettings(single_replica=False)
    assert DEFAULTS.tier == TierSettings()


MISTAKES = {
    "unknown section": (HEAD + "tyre: {}", "tyre"),
    "a field with spaces": (HEAD + "'ty re': {}", "ty re"),
    "unknown field": (HEAD + "tier: {spotWeigth: 3}", "$.tier"),
    "another version": ("apiVersion: fairlead.io/v9\nkind: Configuration", "apiVersion"),
    "no version": ("kind: Configuration", "apiVersion"),
    "weight out of range": (HEAD + "tier: {spotWeight: 101}", "$.tier.spotWeight"),
    "In without values": (HEAD + "tier: {spotRequirement: {key: a}}", "$.tier.spotRequirement"),
    "Exists with values": (HEAD + "tier: {spotRequirement: {key: a, operator: Exists, values: [b]}}", "$.tier"),
    "Exists with a value": (HEAD + "tier: {spotTolerations: [{operator: Exists, value: a}]}", "$.tier.spotTol"),
    "Equal without a key": (HEAD + "tier: {spotTolerations: [{value: a}]}", "$.tier.spotTolerations"),
    "two documents": (HEAD + "---\n" + HEAD, "2 documents"),
    "nothing": ("# only a comment", "empty"),
    "not YAML": ("a: [", "not valid YAML"),
}


@pytest.mark.parametrize(("text", "want"), MISTAKES.values(), ids=MISTAKES)
def test_mistake_in_a_configuration_is_told_with_its_place(text: str, want: str, tmp_path: Path) -> None:
    """The message names the file and the field."""
    path = tmp_path / "c.yaml"
    path.write_text(text)
    error = _run(path).exception
    assert isinstance(error, InputError)
    assert str(path) in str(error)
    assert want in str(error)


@pytest.mark.parametrize("words", [("fleet",), ("webhook",), ("plan", "-f", "-")], ids=["fleet", "webhook", "plan"])
def test_commands_name_the_line_that_config_check_names(words: tuple[str, ...], tmp_path: Path) -> None:
    """The first mistake of the text, whichever section is read first; a tier section alone is placed the same way."""
    path = tmp_path / "c.yaml"
    path.write_text(HEAD + "webhook:\n  listen: 3\ntier:\n  spotWeight: 101\n")
    told = CliRunner().invoke(cli, [*words, "--config", str(path)], standalone_mode=False).exception
    assert str(told) == f"{path}:4: $.webhook.listen: expected str, got int"
    with pytest.raises(InputError, match=r"^c:2: \$\.spotWeight: "):
        read_tier(b"singleReplica: false\nspotWeight: 101\n", "c")
