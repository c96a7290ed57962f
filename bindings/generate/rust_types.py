"""The Rust types that follow from the headers: enumerations, handles, and structs of options."""

from __future__ import annotations

from emit_rust_ffi import HEADER, identifier, rust_type
from model import Function
from rust_docs import comment, markdown
from rust_model import Argument, Place, RustApi, type_name

_OPTIONS = """/// What [`@METHOD@`](crate::@METHOD@) may be told.
#[derive(Debug)]
pub struct @NAME@@LIFE@ {
@FIELDS@}

impl Default for @NAME@@ANY@ {
    fn default() -> Self {
        Self { @DEFAULTS@ }
    }
}

"""

_ENUM = """
@DOC@///
/// A newer library may have values that this crate has no name for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct @NAME@(pub i32);

impl @NAME@ {
@VALUES@}

impl fmt::Debug for @NAME@ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
@NAMES@            other => return write!(f, "@NAME@({})", other),
        })
    }
}
"""

_STRUCT = """
@DOC@#[derive(Clone, Debug)]
pub struct @NAME@ {
@FIELDS@}

impl Default for @NAME@ {
    fn default() -> Self {
        // SAFETY: the library fills the whole struct.
        let c = unsafe {
            let mut c = std::mem::zeroed::<sys::@C@>();
            sys::@C@_init(&mut c);
            c
        };
        Self { @READ@ }
    }
}

impl @NAME@ {
    pub(crate) fn to_c(&self) -> sys::@C@ {
        sys::@C@ { struct_size: std::mem::size_of::<sys::@C@>(), @WRITE@ }
    }
}
"""


def _fill(template: str, **words: str) -> str:
    for name, text in words.items():
        template = template.replace(f"@{name}@", text)
    return template


def borrows(arguments: list[Argument]) -> bool:
    return any(a.borrows for a in arguments)


def options(rust: RustApi, f: Function, place: Place, name: str, optional: list[Argument]) -> str:
    """The struct of a function's optional parameters."""
    fields = ""
    for a in optional:
        fields += comment(markdown(rust, f.doc["params"].get(a.param.name, "")), "    ")
        lived = a.type.replace("&", "&'a ")
        fields += f"    pub {a.name}: {lived},\n"
    short = place.name.removeprefix("r#")
    method = f"{short[:-1]}_with_" if short.endswith("_") else f"{short}_with"
    return _fill(
        _OPTIONS,
        METHOD=f"{place.type}::{method}" if place.type else method,
        LIFE="<'a>" if borrows(optional) else "",
        ANY="<'_>" if borrows(optional) else "",
        FIELDS=fields,
        DEFAULTS=", ".join(f"{a.name}: {a.default}" for a in optional),
        NAME=name,
    )


def enums(rust: RustApi) -> str:
    text = HEADER + "\nuse std::fmt;\n"
    for e in rust.api.enums:
        name, values, names = type_name(e["name"]), "", ""
        for v in e["values"]:
            short = rust.constant(v["name"]).split("::")[1]
            values += comment(markdown(rust, v.get("doc") or f"`{short}`"), "    ")
            values += f"    pub const {identifier(short)}: {name} = {name}({v['value']});\n"
            names += f'            {v["value"]} => "{short}",\n'
        doc = comment(markdown(rust, e["doc"]) or f"`{e['name']}`.", "")
        text += _fill(_ENUM, DOC=doc, NAME=name, VALUES=values, NAMES=names)
    return text


def handles(rust: RustApi) -> str:
    text = HEADER + "\nuse crate::handle::handle;\n\n"
    names = {f.name for f in rust.api.functions}
    for h in rust.api.handles:
        c = h["name"]
        if c not in rust.handles or f"{c}_release" not in names:
            continue
        retain = f", {c}_retain" if f"{c}_retain" in names else ""
        doc = comment(markdown(rust, h["doc"]) or f"An owned reference to a `{c}`.", "    ")
        text += f"handle! {{\n{doc}    {rust.handles[c]}, {c}, {c}_release{retain}\n}}\n"
    return text


def structs(rust: RustApi) -> str:
    """Structs of options that C has itself: plain fields, set up by the library's own defaults."""
    text = HEADER + "\nuse super::prelude::*;\n"
    names = {f.name for f in rust.api.functions}
    for s in rust.api.structs:
        if f"{s['name']}_init" not in names:
            continue
        fields, read, write = "", [], []
        for f in s["fields"][1:]:  # struct_size is first
            name, truth = identifier(f["name"]), f["type"] == "flam_bool"
            fields += comment(markdown(rust, f["doc"] or f["name"]), "    ")
            fields += f"    pub {name}: {'bool' if truth else rust_type(f['type'])},\n"
            read.append(f"{name}: c.{f['name']}{' != 0' if truth else ''}")
            write.append(f"{f['name']}: self.{name}{'.into()' if truth else ''}")
        text += _fill(
            _STRUCT,
            DOC=comment(markdown(rust, s["doc"]), ""),
            C=s["name"],
            NAME=type_name(s["name"]),
            FIELDS=fields,
            READ=", ".join(read),
            WRITE=", ".join(write),
        )
    return text
