"""Doc comments: Markdown with one bullet per fact, and the lint that holds them to it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from model import Function

_BULLET = re.compile(r"^- (?:`(?P<param>\w+)`|(?P<word>returns|errors|source)):\s*(?P<text>.*)$")
_ALMOST = re.compile(
    r"^\s*[-*] +(?:`\w+`\s*(?:-|,|\(|$)|(?:`\w+`|returns?|errors?|sources?)\s*:)", re.IGNORECASE
)


def parse(comment: str | None) -> dict:
    """A comment's brief (first sentence), text, and bullets by name."""
    doc = {"brief": "", "text": "", "params": {}, "returns": "", "errors": "", "source": ""}
    doc["faults"] = faults = []
    if not comment:
        return doc
    text = comment.strip().removeprefix("/**").removeprefix("<").removesuffix("*/")
    lines = [re.sub(r"^\s*\*? ?", "", line) for line in text.split("\n")]
    prose, target = [], None
    for line in lines:
        m = _BULLET.match(line)
        if m:
            target = m["param"] or m["word"]
            where = doc["params"] if m["param"] else doc
            if where.get(target):
                faults.append(f"two bullets for `{target}`")
            where[target] = m["text"].strip()
            current = where
        elif target and line.startswith(" ") and line.strip():
            current[target] += " " + line.strip()
        elif target and not line.strip():
            target = None
        else:
            if _ALMOST.match(line):
                faults.append(
                    f'the bullet "{line.strip()[:40]}" is not of the form "- `param`: ...", '
                    '"- returns: ...", "- errors: ..." or "- source: ..."'
                )
            elif target:
                faults.append(f'"{line.strip()[:40]}" goes on from a bullet without indentation')
            target = None
            prose.append(line.rstrip())
    doc["text"] = "\n".join(prose).strip()
    first = re.split(r"(?<=[.])\s", " ".join(doc["text"].split("\n\n")[0].split()), maxsplit=1)[0]
    doc["brief"] = first
    return doc


def lint(f: Function) -> Iterator[str]:
    """What is missing from a function's doc comment."""
    doc = f.doc
    if not doc["text"]:
        yield "no doc comment: /** One sentence. ... */ before it, with a bullet per parameter"
        return
    yield from doc["faults"]
    visible = [p for p in f.c_params if p.name and not p.count_of and not f.is_options(p)]
    optional = {p.name for p in f.params if p.option} | ({"options"} if f.options else set())
    for p in visible:
        text = doc["params"].get(p.name)
        if text is None:
            bullet = f'"- `{p.name}`: what it is, shape, dtype, unit"'
            yield f"parameter `{p.name}` is not documented: add {bullet}"
        elif not text:
            yield f"the bullet of `{p.name}` is empty"
        elif p.default not in (None, "0", "NULL") and "efault" not in text:
            yield f'the bullet of `{p.name}` does not name its default, {p.default}: "default ..."'
    for name in sorted(set(doc["params"]) - {p.name for p in visible} - optional):
        yield f"`{name}` is documented and is no parameter" + (
            "; a count needs no bullet" if name.startswith("n_") else ""
        )
    if f.result["kind"] != "void" and not doc["returns"]:
        yield 'no bullet "- returns: ..."'
    if f.raises and not doc["errors"]:
        yield 'no bullet "- errors: ...": which FLAM_ERROR_ codes, and when'
