"""What a doc comment's bullets say in words that a program understands: shapes, dtypes, ranges and
error codes. A bullet is a row of clauses; one that is not of these words stays prose, and nothing
is guessed from it. README.md lists the words.
"""

from __future__ import annotations

import re

_KINDS = {
    "floating point": ["floating"],
    "integral": ["integral"],
    "integer": ["integral"],
    "complex": ["complex"],
    "bool": ["bool"],
    "any dtype": ["floating", "integral", "bool"],
    "any dtype but bool": ["floating", "integral"],
    "any shape and dtype": ["floating", "integral", "bool"],
    "any tensor": ["floating", "integral", "bool"],
    "a number or any tensor": ["floating", "integral", "bool"],
    "any floating tensor": ["floating"],
    "integers": ["integral"],
    "numeric": ["floating", "integral"],
    "f32": ["f32"],
    "f64": ["f64"],
    "f16": ["f16"],
    "bf16": ["bf16"],
    "int64": ["i64"],
    "int32": ["i32"],
    "int16": ["i16"],
    "int8": ["i8"],
    "uint8": ["u8"],
}
_SAME = re.compile(r"(?:of )?(?:the )?dtype of `(\w+)`|`(\w+)`'s dtype")
_SHAPE = re.compile(
    r"\[.*|any shape.*|any tensor|shape of `.*|shape that broadcasts.*|broadcasts .*|.*\b\d-d\b.*|"
    r"\d+ elements?|the same shape.*|a number or any tensor",
    re.DOTALL,
)
_ANY = ("any shape and dtype", "any tensor")
_NUMBER = r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)"
_BOUNDS = {  # of one clause: lower bound, upper bound, as an interval writes them
    rf"at least {_NUMBER}": ("[{}", None),
    rf"from {_NUMBER}": ("[{}", None),
    rf"(?:above|greater than) {_NUMBER}": ("({}", None),
    rf"at most {_NUMBER}": (None, "{}]"),
    rf"(?:below|less than) {_NUMBER}": (None, "{})"),
    rf"(?:in \[|from ){_NUMBER}(?:, | to ){_NUMBER}\]?": ("[{}", "{}]"),
    rf"in \({_NUMBER}, {_NUMBER}\]": ("({}", "{}]"),
    rf"in \[{_NUMBER}, {_NUMBER}\)": ("[{}", "{})"),
    rf"(?:in \(|between ){_NUMBER}(?:, | and ){_NUMBER}\)?": ("({}", "{})"),
    "not negative": ("[0", None),
    "positive": ("(0", None),
}


def clauses(text: str) -> list[str]:
    """The parts between commas, semicolons and full stops, but not those inside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "[(") - (c in "])")
        if depth <= 0 and c in ",;." and (i + 1 == len(text) or text[i + 1] == " "):
            parts.append(text[start:i].strip())
            start = i + 1
    return [p for p in [*parts, text[start:].strip()] if p]


def dtypes(text: str) -> list[str] | None:
    """Kinds of dtypes, single ones, or `=x` for that of operand x."""
    for clause in clauses(text):
        if same := _SAME.fullmatch(clause):
            return ["=" + (same[1] or same[2])]
        words = [_KINDS.get(w) for w in re.split(r" or | and |, ", clause)]
        if whole := _KINDS.get(clause):
            return list(whole)
        if all(words):
            return [kind for word in words for kind in word]
    return None


def shape(text: str) -> str | None:
    """The clause about the shape, as it stands."""
    found = next((c for c in clauses(text) if _SHAPE.fullmatch(c)), None)
    return "any shape" if found in _ANY else found


def interval(text: str) -> str | None:
    """The numbers that are taken, as `[0, 1)`."""
    low, high = "(-inf", "inf)"
    for clause in clauses(text):
        for pattern, (left, right) in _BOUNDS.items():
            if m := re.fullmatch(pattern, clause):
                low = left.format(m[1] if m.groups() else "") if left else low
                high = right.format(m[len(m.groups())] if m.groups() else "") if right else high
    return None if (low, high) == ("(-inf", "inf)") else f"{low}, {high}"


def errors(text: str, of: dict[str, str]) -> list[str]:
    """Names of the codes, in order, with those of the functions that the text refers to."""
    found = re.findall(r"FLAM_ERROR_\w+", text)
    for name in re.findall(r"\b(?:as|those of) `(flam_\w+)`", text):
        found += errors(of[name], of)
    return list(dict.fromkeys(found))
