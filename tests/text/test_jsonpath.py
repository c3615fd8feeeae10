"""Templates as kubectl's `-o jsonpath=` has them."""

import pytest

from fairlead.model.errors import InputError
from fairlead.text.jsonpath import rendered

RECORD = {
    "unplaced": 2,
    "rows": [{"name": "web", "waits": 0}, {"name": "api", "waits": 2, "held": True}, {"name": "db", "waits": {}}],
    "labels": {"app.io/name": "shop", "app.io/part": "front"},
}
FOUND = {
    "{.unplaced}": "2",
    "{$.unplaced}": "2",
    "{unplaced}": "2",
    "{.rows[*].name}": "web api db",
    "{.rows[0].name}": "web",
    "{.rows[-1].name}": "db",
    "{.rows[1:].name}": "api db",
    "{.rows[:-1].name}": "web api",
    "{.rows[0]}": '{"name":"web","waits":0}',
    "{.rows[1].held}": "true",
    "{.rows[?(@.waits > 0)].name}": "api",
    "{.rows[?(@.waits<=2)].name}": "web api",
    "{.rows[?(@.waits!=2)].name}": "web",
    "{.rows[?(@.name=='db')].waits}": "{}",
    '{.rows[?(@.name == "web")].waits}': "0",
    "{.rows[?(@.held==true)].name}": "api",
    "{.rows[?(@.held)].name}": "api",
    "{.labels['app.io/name']}": "shop",
    "{.labels.app\\.io/part}": "front",
    "{.labels.*}": "shop front",
    "{.nowhere.at.all}": "",
    "{.rows[7].name}{.unplaced[0]}": "",
    "{.unplaced} wait{'!'}": "2 wait!",
    '{range .rows[*]}{.name}{"\\t"}{.waits}{"\\n"}{end}': "web\t0\napi\t2\ndb\t{}\n",
    "{range .rows[*]}{.name}:{range .nowhere[*]}{@}{end};{end}": "web:;api:;db:;",
    "{@.unplaced}{'{}'}": "2{}",
}
REFUSED = {
    ".unplaced": "has no path; expected one in braces",
    "{..name}": ".. is not implemented",
    "{.rows": "a lone { at 1",
    "a}": "has no path",
    "{.a} }": "a lone } at 6",
    "{end}": "{end} at 1 ends no {range}",
    "{range .rows[*]}x": "a {range} has no {end}",
    "{.rows[x]}": "is not understood from '[x]' on",
    "{.rows[0,1]}": "is not understood from '[0,1]' on",
    "{.rows[?(@.waits > many)]}": "'many' in a condition",
    "{.a b}": "is not understood from ' b' on",
    "\udcff{.unplaced}": "'\\udcff{.unplaced}' is not UTF-8",
    "{.rows[" + "9" * 5000 + "]}": "a path of 5007 characters; expected at most 500",
    "{range .rows[*]}" * 21 + "{end}" * 21: "more than 20 {range} within each other",
}


def test_templates_at_the_ends_of_what_is_taken() -> None:
    """The longest path, and as many ranges within each other as there may be."""
    assert rendered("{" + "[0]" * 166 + ".a}", RECORD) == ""
    assert rendered("{range @}" * 20 + "x" + "{end}" * 20, RECORD) == "x"


@pytest.mark.parametrize("template", FOUND)
def test_template_finds(template: str) -> None:
    """What is not there is nothing; values of another kind hold no condition."""
    assert rendered(template, RECORD) == FOUND[template]


@pytest.mark.parametrize("template", REFUSED)
def test_template_that_is_not_understood_is_refused(template: str) -> None:
    """With the part that is wrong."""
    with pytest.raises(InputError) as caught:
        rendered(template, RECORD)
    assert REFUSED[template] in str(caught.value)
