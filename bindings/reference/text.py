"""Text of doc comments as Markdown of the site: functions and types become links, and what would
pass for HTML does not.
"""

from __future__ import annotations

import re

Places = dict[str, str]  # a function's or type's name -> page.md#anchor, from the pages' root


def linked(text: str, places: Places, up: str) -> str:
    """`up`: from this page to the pages' root, "" or "../". Blocks of code stay as they are."""
    blocks = re.split(r"(^```.*?^```$|^    .*$)", text, flags=re.M | re.S)
    return "".join(b if i % 2 else _spans(b, places, up) for i, b in enumerate(blocks))


def _spans(text: str, places: Places, up: str) -> str:
    """Spans of code are linked where they are a name; `<` outside of them is no tag."""
    parts = re.split(r"(\[?`[^`]+`(?:\]\([^)]*\))?)", text)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = re.sub(r"<(?=[A-Za-z/!])", "&lt;", part)
        elif not part.startswith("["):
            name = re.match(r"`(flam_\w+|FLAM_\w+)(?:\(\))?`", part)
            if name and name[1] in places:
                parts[i] = f"[{part}]({up}{places[name[1]]})"
    return "".join(parts)


def cell(text: str) -> str:
    """In a table."""
    return " ".join(text.split()).replace("|", "\\|")
