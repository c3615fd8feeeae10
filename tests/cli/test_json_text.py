"""Answers as JSON: the bytes are those of Python's own encoder, which is slow where it indents."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.cli.output import json_text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(JSON)
@example([1e-7, 1e22, float("inf"), "\ud800", "\x7f\u2028", {}, [], {"": [[]]}])
def test_json_is_that_of_pythons_encoder(record: Any) -> None:
    """Any record, on one line and indented."""
    assert json_text(record) == json.dumps(record, ensure_ascii=False, indent=2)
    assert json_text(record, one_line=True) == json.dumps(record, ensure_ascii=False)
