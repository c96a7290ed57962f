"""The rule against torn comments finds them, and leaves short lines that belong."""

import importlib.util
from pathlib import Path

_SPEC = importlib.util.spec_from_file_location("torn", Path(__file__).with_name("torn.py"))
rule = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(rule)

FULL = "// " + "word " * 17 + "end"


def test_a_few_words_in_the_middle_of_a_paragraph_are_found():
    assert rule.torn([FULL, "// two words", "// and the rest of it", ""]) == [2]


def test_ends_of_sentences_and_of_paragraphs_belong():
    assert rule.torn([FULL, "// the end.", "// Another sentence", ""]) == []
    assert rule.torn([FULL, "// its last line", "", "// another"]) == []
    assert rule.torn([FULL, "// a list", "// - of something", ""]) == []
