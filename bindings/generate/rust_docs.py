"""Header comments as rustdoc: names become links, C's words Rust's, bullets sections."""

from __future__ import annotations

import re
import textwrap

from emit_rust_ffi import identifier
from model import Api, Function, Param
from rust_model import Argument, RustApi


def markdown(rust: RustApi, text: str, self_name: str | None = None) -> str:
    """Links what the crate has, and keeps brackets from being read as links or tags."""
    parts = re.split(r"(`[^`]*`)", text)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            escaped = re.sub(r"([\[\]<>])", r"\\\1", part)
            parts[i] = re.sub(r"https://[^\s;,]+", r"<\g<0>>", escaped)
            continue
        word = part.strip("`")
        if word == self_name:
            parts[i] = "`self`"
        elif word == "NULL":
            parts[i] = "`None`"
        elif word in rust.values:
            parts[i] = f"[`{rust.constant(word)}`](crate::{rust.constant(word)})"
        elif word in rust.places:
            parts[i] = f"`{rust.spoken(word)}`"
    return "".join(parts)


def comment(text: str, indent: str) -> str:
    return "".join(f"{indent}/// {line}".rstrip() + "\n" for line in text.split("\n"))


def title(api: Api, header: str) -> str:
    """What a header says that it holds: its first sentence."""
    return re.split(r"[.:;,]", " ".join(api.openings[header].split()))[0]


def function(
    rust: RustApi, f: Function, arguments: list[Argument], indent: str, options: str | None
) -> str:
    place = rust.places[f.name]
    self_name = f.params[0].name if place.method else None
    text = markdown(rust, f.doc["text"] if not f.form else f.doc["brief"], self_name)
    bullets = []
    if self_name:
        bullets.append(("self", f.doc["params"].get(self_name, "")))
    bullets += [(a.param.name, f.doc["params"].get(a.param.name, "")) for a in arguments]
    lines = [f"- `{name}`: {markdown(rust, what, self_name)}" for name, what in bullets if what]
    if options:
        lines.append(f"- `options`: the rest, [`{options.split('::')[-1]}`]({options}).")
    if f.doc["returns"] and f.doc["returns"] != "`FLAM_OK`.":
        lines.append(f"- returns: {markdown(rust, f.doc['returns'], self_name)}")
    if lines:
        text += "\n\n" + "\n".join(lines)
    if f.raises and f.doc["errors"] and not f.doc["errors"].startswith("none"):
        text += f"\n\n# Errors\n\n{markdown(rust, f.doc['errors'], self_name)}"
    if f.doc["source"]:
        text += f"\n\nSource: {markdown(rust, f.doc['source'])}"
    return comment(text, indent)


def _listed(names: list[str]) -> str:
    quoted = [f"`{n}`" for n in names]
    return " and ".join(filter(None, [", ".join(quoted[:-1]), *quoted[-1:]]))


def safety(
    f: Function, receiver: Param | None, arguments: list[Argument], outs: list[Param]
) -> list[str]:
    """Why a generated call is sound: what it is given, kind by kind, and what becomes of its
    result.
    """

    def named(*kinds: str) -> list[str]:
        return [a.name for a in arguments if a.param.kind in kinds]

    kept = ["self"] if receiver is not None and receiver.kind != "device" else []
    kept += named("tensor", "handle", "tensors")
    pointers = [a for a in arguments if a.param.kind == "pointer"]
    said = [
        (kept, "keeps its object alive", "keep their objects alive"),
        (
            named("tensors", "ints", "doubles", "bytes"),
            "has the length given",
            "have the lengths given",
        ),
        (named("string"), "ends in zero", "end in zero"),
        (named("strings"), "has texts that end in zero", "have texts that end in zero"),
        (
            [a.name for a in pointers if a.type.startswith("*")],
            "is as the caller promised",
            "are as the caller promised",
        ),
        (
            [a.name for a in pointers if not a.type.startswith("*")],
            "is NULL or lies here",
            "are NULL or lie here",
        ),
        (
            [identifier(p.name.lower()) for p in outs],
            "is a place to write to",
            "are places to write to",
        ),
    ]
    facts = [f"{_listed(names)} {many if names[1:] else one}" for names, one, many in said if names]
    facts += ["the options are read before it returns"] if f.options else []
    facts = facts or ["any value may be given" if arguments or receiver else "it takes nothing"]
    facts += ["the text is copied at once"] if f.result["kind"] == "string" else []
    lines = textwrap.wrap(f"SAFETY: {'; '.join(facts)}.", 92)
    return [f"// {line}" for line in lines]
