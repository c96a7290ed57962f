"""Doc comments: Markdown with one bullet per fact, and the lint that holds them to it."""

from __future__ import annotations

import re

from model import Function

_BULLET = re.compile(r"^- (?:`(?P<param>\w+)`|(?P<word>returns|errors|source)):\s*(?P<text>.*)$")


def parse(comment: str | None) -> dict:
    """A comment's brief (first sentence), text, and bullets by name."""
    doc = {"brief": "", "text": "", "params": {}, "returns": "", "errors": "", "source": ""}
    if not comment:
        return doc
    lines = [re.sub(r"^\s*\*? ?", "", line) for line in comment.strip().removeprefix("/**").removesuffix("*/").split("\n")]
    prose, target = [], None
    for line in lines:
        m = _BULLET.match(line)
        if m:
            target = m["param"] or m["word"]
            where = doc["params"] if m["param"] else doc
            where[target] = m["text"].strip()
            current = where
        elif target and line.startswith(" ") and line.strip():
            current[target] += " " + line.strip()
        elif target and not line.strip():
            target = None
        else:
            target = None
            prose.append(line.rstrip())
    doc["text"] = "\n".join(prose).strip()
    first = re.split(r"(?<=[.:])\s", " ".join(doc["text"].split("\n\n")[0].split()), maxsplit=1)[0]
    doc["brief"] = first
    return doc


def lint(f: Function) -> list[str]:
    """What is missing or irregular in a hand-written declaration."""
    faults = []
    doc = f.doc
    if not doc["text"]:
        return [f"{f.name}: no doc comment"]
    visible = [p for p in f.params if not p.count_of]
    for p in visible:
        text = doc["params"].get(p.name)
        if text is None:
            faults.append(f"parameter `{p.name}` is not documented (add \"- `{p.name}`: ...\")")
        elif not text:
            faults.append(f"the bullet of `{p.name}` is empty")
        elif p.default not in (None, "0", "NULL") and p.kind != "out" and "efault" not in text:
            faults.append(f"the bullet of `{p.name}` does not name its default ({p.default})")
    for name in doc["params"]:
        if name not in {p.name for p in visible}:
            faults.append(f"`{name}` is documented but is no parameter")
    if f.result["kind"] != "void" and not doc["returns"]:
        faults.append("no \"- returns:\" bullet")
    if f.raises and not doc["errors"]:
        faults.append("no \"- errors:\" bullet")
    if not f.since:
        faults.append("no FLAM_SINCE")
    return [f"{f.name}: {fault}" for fault in faults]
