"""The Rust types that follow from the headers: enumerations, handles, and structs of options."""

from __future__ import annotations

import re

from emit_rust_ffi import HEADER, identifier, rust_type
from model import RESERVED, Function
from rust_docs import comment, markdown
from rust_model import SHARED, RustApi, type_name, variant, words

ALONE = ("flam_loader",)  # changes without the lock around calls, so it has one handle

_OPTIONS = """
/// Options of @USERS@.
///
/// Each has its default until its builder is called.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct @NAME@ {
@FIELDS@}

impl Default for @NAME@ {
    fn default() -> Self {
        Self { @DEFAULTS@ }
    }
}

impl @NAME@ {
@BUILDERS@}
"""

_BUILDER = """@DOC@    #[must_use]
    pub fn @METHOD@(mut self, @FIELD@: @TAKES@) -> Self {
        self.@FIELD@ = @STORED@;
        self
    }

"""

_ENUM = """
@DOC@#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum @NAME@ {
@VALUES@    /// A value that only a newer library has a name for, by its number.
    Other(i32),
}

impl @NAME@ {
    /// The number that C knows the value by.
    pub const fn code(self) -> i32 {
        match self {
@CODES@            Self::Other(code) => code,
        }
    }

    /// The value that C knows by a number.
    pub const fn from_code(code: i32) -> Self {
        match code {
@VARIANTS@            other => Self::Other(other),
        }
    }
}

/// The name in lower case.
impl fmt::Display for @NAME@ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
@NAMES@            Self::Other(code) => return write!(f, "value {}", code),
        })
    }
}
"""

_STRUCT = """
@DOC@#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct @NAME@ {
@FIELDS@}

impl Default for @NAME@ {
    fn default() -> Self {
        let c = sys::@C@::default();
        Self { @READ@ }
    }
}

impl @NAME@ {
    pub(crate) fn to_c(&self) -> sys::@C@ {
        sys::@C@ { struct_size: std::mem::size_of::<sys::@C@>(), @WRITE@ }
    }

@BUILDERS@}
"""


def _fill(template: str, **words: str) -> str:
    for name, text in words.items():
        template = template.replace(f"@{name}@", text)
    return template


def _builder(doc: str, field: str, takes: str, stored: str) -> str:
    # Default::default would hide a builder of that name; none is a keyword without r#.
    return _fill(_BUILDER, DOC=doc, METHOD=field, FIELD=field, TAKES=takes, STORED=stored)


def _field_doc(rust: RustApi, f: Function, name: str) -> str:
    text = f.doc["params"].get(name) or f"`{name}`"
    text = re.sub(r"`NULL`|`\(NULL, 0\)`", "`None`", text)
    return comment(markdown(rust, text[:1].upper() + text[1:]), "    ")


def options(rust: RustApi, name: str, methods: list) -> str:
    """One struct; `methods` are all that take it."""
    first, fields, builders, defaults = methods[0], "", "", []
    for x in first.fields:
        doc = _field_doc(rust, first.f, x.argument.param.name)
        fields += f"{doc}    pub {x.name}: {x.type},\n"
        builders += _builder(doc, x.name, x.takes, x.stored)
        defaults.append(f"{x.name}: {x.default}")
    paths = []
    for m in methods:
        short = m.place.name.removeprefix("r#")
        full = f"{short[:-1]}_with_" if short.endswith("_") else f"{short}_with"
        path = f"{m.place.type}::{full}" if m.place.type else full
        paths.append(f"[`{path}`](crate::{path})")
    more = f" and {len(paths) - 5} more" if len(paths) > 6 else ""
    return _fill(
        _OPTIONS,
        USERS=", ".join(paths[:5] if more else paths) + more,
        FIELDS=fields,
        BUILDERS=builders.rstrip() + "\n",
        DEFAULTS=", ".join(defaults),
        NAME=name,
    )


def enums(rust: RustApi) -> str:
    text = HEADER + "\nuse std::fmt;\n"
    for e in rust.api.enums:
        name, values, codes, variants, names = type_name(e["name"]), "", "", "", ""
        for v in e["values"]:
            short = variant(e["name"], v["name"])
            values += comment(markdown(rust, v.get("doc") or f"`{short}`"), "    ")
            values += f"    {short},\n"
            codes += f"            Self::{short} => {v['value']},\n"
            variants += f"            {v['value']} => Self::{short},\n"
            names += f'            Self::{short} => "{words(e["name"], v["name"])}",\n'
        text += _fill(
            _ENUM,
            DOC=comment(markdown(rust, e["doc"]) or f"`{e['name']}`.", ""),
            NAME=name,
            VALUES=values,
            CODES=codes,
            VARIANTS=variants,
            NAMES=names,
        )
    return text


def handles(rust: RustApi) -> str:
    text = HEADER + "\nuse crate::handle::handle;\n\n"
    names = {f.name for f in rust.api.functions}
    for h in rust.api.handles:
        c = h["name"]
        if c not in rust.handles or f"{c}_release" not in names:
            continue
        shared = c in SHARED and c not in ALONE
        retain = f", {c}_retain" if shared else ""
        page = f"{rust.handles[c].lower()}.md"  # the crate does not compile without it
        doc = f'    #[doc = include_str!("../../doc/{page}")]\n'
        text += f"handle! {{\n{doc}    {rust.handles[c]}, {c}, {c}_release{retain}\n}}\n"
    return text


def filled_by_c(rust: RustApi) -> list[dict]:
    names = {f.options for f in rust.api.functions if f.name in rust.options_by_hand}
    return [s for s in rust.api.structs if s["name"] in names]


def structs(rust: RustApi) -> str:
    """Structs of options of functions that are written by hand and say so: plain fields."""
    text = HEADER + "\nuse super::prelude::*;\n"
    for s in filled_by_c(rust):
        fields, builders, read, write = "", "", [], []
        for f in s["fields"][1:]:  # struct_size is first
            if f["name"] == RESERVED:
                write.append(f"{RESERVED}: 0")
                continue
            name, truth = identifier(f["name"]), f["type"] == "flam_bool"
            doc = comment(markdown(rust, f["doc"] or f["name"]), "    ")
            kind = "bool" if truth else rust_type(f["type"])
            fields += f"{doc}    pub {name}: {kind},\n"
            builders += _builder(doc, name, kind, name)
            read.append(f"{name}: c.{f['name']}{' != 0' if truth else ''}")
            write.append(f"{f['name']}: self.{name}{'.into()' if truth else ''}")
        text += _fill(
            _STRUCT,
            DOC=comment(markdown(rust, s["doc"]), ""),
            C=s["name"],
            NAME=type_name(s["name"]),
            FIELDS=fields,
            BUILDERS=builders.rstrip() + "\n",
            READ=", ".join(read),
            WRITE=", ".join(write),
        )
    return text
