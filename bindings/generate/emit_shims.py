"""The C functions themselves: one shim per declaration, and the list of exports."""

from __future__ import annotations

import re
import textwrap

import cpp
import forms
from emit_headers import initializer_name
from model import Api, Function, Param, pointee

_NULL_RESULT = {
    "handle": "nullptr",
    "status": None,
    "value": "{}",
    "string": "nullptr",
    "borrowed": "nullptr",
    "void": "",
}


def _parameters(f: Function) -> str:
    parts = [
        p.type.replace("(*)", f"(*{p.name})")
        if "(*)" in p.type
        else f"{p.type}{p.name}"
        if p.type.endswith("*")
        else f"{p.type} {p.name}"
        for p in f.c_params
    ]
    return ", ".join(parts) or "void"


def _needs_check(p: Param) -> bool:
    return (
        p.kind in ("tensor", "handle", "string", "options", "callback", "pointer", "out")
        and "*" in p.type
        and not p.nullable
        and "(*)" not in p.type
    )


def _failed(f: Function, code: str) -> str:
    """How the shim leaves with the error that the expression `code` sees to."""
    if f.result["kind"] == "status":
        return f"return {code};"
    return "return nullptr;" if code == "pending_code()" else f"return {code}, nullptr;"


def _checks(f: Function) -> list[str]:
    """NULL operands and counts that no list has: failures propagate, and functions that cannot fail
    return zero."""
    counted = cpp.lists(f)
    result = _NULL_RESULT[f.result["kind"]]
    lines = []
    for p in f.c_params:
        if p.name in counted:
            refused = f'uncountable("{f.name}", "{p.name}", n_{p.name})'
            left = _failed(f, refused) if f.raises else f"return{' ' + result if result else ''};"
            lines.append(f"  if (is_beyond_memory({p.name}, n_{p.name})) {left}")
            entries = p.kind in ("tensors", "strings") and not p.null_entries
            condition = f"has_null({p.name}, n_{p.name})" if entries else f"!{p.name} && n_{p.name}"
            what = f"{p.name} or an entry of it" if entries else p.name
        elif _needs_check(p):
            condition, what = f"!{p.name}", p.name
        else:
            condition = None
        if condition and f.raises:
            lines.append(f"  if ({condition}) " + _failed(f, f'null_operand("{f.name}", "{what}")'))
        elif condition:
            lines.append(f"  if ({condition}) return{' ' + result if result else ''};")
        if f.raises and p.nullable and p.kind in ("tensor", "handle", "tensors"):
            null = f"has_null({p.name}, n_{p.name})" if p.kind == "tensors" else f"!{p.name}"
            lines.append(f"  if (t_error && {null}) " + _failed(f, "pending_code()"))
    for p in (p for p in f.params if p.option and p.nullable):
        if f.raises and p.kind in ("tensor", "handle", "tensors"):
            names = [p.name, f"n_{p.name}"] if p.kind == "tensors" else [p.name]
            fields = ", ".join(f"&{f.options}::{name}" for name in names)
            missing = "has_null" if p.kind == "tensors" else "absent"
            lines.append(
                f"  if (t_error && {missing}(options, {fields})) " + _failed(f, "pending_code()")
            )
    return lines


def _argument(f: Function, p: Param, counted: bool) -> str:
    """A function that cannot fail looks at unknown enumerators itself."""
    if p.kind == "enum" and f.raises:
        return f"as_{p.enum}({cpp.argument(p, counted)})"
    return cpp.argument(p, counted)


def _chosen(f: Function, counted: set[str]) -> str:
    """What the lambda around the call begins with: the options, their lists checked."""
    if not f.options:
        return ""
    text = f"const Options<{f.options}> given(options); "
    for p in (p for p in f.params if p.option and p.name in counted):
        checks = [] if p.may_be_empty else ["check_count"]
        whole = p.kind in ("tensors", "strings") and not p.null_entries
        checks.append("check_entries" if whole else "check_list")
        for check in checks:
            text += f'{check}("{f.name}: options->{p.name}", given->{p.name}, given->n_{p.name}); '
    return text


def _python_name(f: Function, named: dict[str, Function]) -> str:
    """torch's, or that of the function which `f` is a form of; without, the operation's own."""
    paths = f.torch or (named[f.base].torch if f.base else [])
    name = re.sub(r"^(torch|Tensor|F)\.", "", paths[0]) if paths else f.op
    return name + "_" * (f.name.endswith("_") and not name.endswith("_"))


def _said(f: Function, counted: set[str], named: dict[str, Function]) -> list[str]:
    """How an error writes the call down; enumerators, handles of other classes and what bindings
    encode are left out."""
    kinds = "tensor", "tensors", "int", "size", "double", "bool", "dtype", "device", "string"
    shown = [
        p
        for p in cpp.visible(f)
        if "encoded" not in p.marks
        if p.kind in kinds
        or (p.name in counted and pointee(p.type) in ("int64_t", "double"))
        or cpp.cpp_type(p, p.name in counted, True)
        in ("std::optional<int64_t>", "std::optional<double>")
    ]
    values = ""
    for p in shown:
        plain = p.wrapped or (p.kind in ("int", "size", "double"))
        name = f"given->{p.name}" if p.option else p.name
        value = name if plain else cpp.argument(p, p.name in counted)
        if value.startswith("ListOr<"):
            value = f"std::span<const {pointee(p.type)}>({value})"
        elif p.nullable and p.name in counted:
            value = f"unless_absent({value})"
        values += f", {value}"
    names = ", ".join(p.name for p in shown)
    own = f'"{_python_name(f, named)}", "{f.target}"'
    text = f'{_chosen(f, counted)}return call_text({own}, "{names}"{values});'
    return [f"  const Said given{{[&]() __attribute__((cold)) {{ {text} }}}};"]


def _body(f: Function, named: dict[str, Function]) -> list[str]:
    params = cpp.visible(f)
    if f.name.endswith("_release") and len(params) == 1 and f.result["kind"] == "void":
        return [f"  release_handle({params[0].name});"]
    if f.form in forms.OWNERS:
        return [f'  return {f.form}_handle({params[0].name}, "{f.name}");']
    counted = cpp.lists(f)
    own = {p.name: _argument(f, p, p.name in counted) for p in params}
    whole = [p for p in f.whole or f.params if not p.count_of and p.kind != "out"]
    arguments = ", ".join(own.get(p.name, p.default) for p in whole)
    call = f"{_chosen(f, counted)}return flambeau::{f.namespace}::{f.target}({arguments})"
    kind = f.result["kind"]
    op = f.namespace == "ops"
    said = _said(f, counted, named) if op else []
    given = ", given" if op else ""
    if operand := f.result.get("operand"):
        guard = "guard_op_in" if op else "guard_in"
        return [*said, f'  return {guard}("{f.name}", {operand}, [&] {{ {call}; }}{given});']
    if kind == "handle":
        number = op and all(p.kind in ("double", "int", "bool") for p in f.params)
        guard = "guard_number" if number else "guard_op" if op else "guard_handle"
        return [*said, f'  return {guard}("{f.name}", [&] {{ {call}; }}{given});']
    if kind == "status":
        outs = "".join(f", {p.name}" for p in cpp.outs(f))
        guard = "guard_op_status" if op else "guard_status"
        return [*said, f'  return {guard}("{f.name}", [&] {{ {call}; }}{given}{outs});']
    if kind == "void":
        return [f"  guard_value([&] {{ {call}; }});"]
    if f.result["type"] == "flam_scope":
        return [f'  return guard_scope("{f.name}", [&] {{ {call}; }});']
    return [f"  return guard_value([&] {{ {call}; }});"]


def _lookup(f: Function) -> list[str]:
    """FLAMBEAU_CHECK=handles: each handle is looked up before anything reads it."""
    given = []
    for p in f.params:
        if p.kind not in ("tensor", "handle", "tensors"):
            continue
        owned = p.consumes or f.name.endswith("_release")

        def read(name: str, option: bool = p.option) -> str:
            return f"field(options, &{f.options}::{name})" if option else name

        listed = p.kind == "tensors"
        more = f", false, true, {read(f'n_{p.name}')}" if listed else ", true" if owned else ""
        shown = f"options->{p.name}" if p.option else p.name
        given.append(f'{{"{shown}", {read(p.name)}, "{pointee(p.type)}"{more}}}')
    if not given:
        return []
    failed = (
        "return FLAM_ERROR_INVALID_ARGUMENT;"
        if f.result["kind"] == "status"
        else (f"return {_NULL_RESULT[f.result['kind']]};".replace(" ;", ";"))
    )
    listed = ", ".join(given)
    return [f'  if (checking_handles && wrong_handle("{f.name}", {{{listed}}})) {failed}']


def _handed(f: Function) -> str | None:
    """What is handed over with a way to drop it: a callback's table, or `drop` and its data."""
    for p in f.params:
        if p.kind == "callback" and "(*)" not in p.type:
            return p.name
    names = {p.name for p in f.params}
    return f"drop, {'user' if 'user' in names else 'payload'}" if "drop" in names else None


def _shim(f: Function, named: dict[str, Function]) -> str:
    space = "" if f.result["type"].endswith("*") else " "
    head = textwrap.wrap(
        f"{f.result['type']}{space}{f.name}({_parameters(f)}) {{",
        100,
        subsequent_indent="    ",
        break_long_words=False,
    )
    handed = [f"  Handed handed({what});"] if (what := _handed(f)) else []
    return "\n".join([*head, *handed, *_checks(f), *_lookup(f), *_body(f, named), "}"]) + "\n"


def _enums_used(functions: list[Function]) -> list[str]:
    used = any(p.kind == "enum" for f in functions if f.raises for p in f.params)
    return ['"capi/gen/enums.h"'] if used else []


def _file(header: str, functions: list[Function], named: dict[str, Function]) -> str:
    targets = sorted({cpp.TARGETS[f.namespace] for f in functions})
    # The declarations are what exports the functions: without them they are hidden.
    first = [*_enums_used(functions), '"capi/guard.h"', '"flambeau/flambeau.h"']
    if any(f.options for f in functions):
        first.insert(-2, '"capi/gen/options.h"')
    return (
        cpp.BANNER
        + "".join(f"#include {t}\n" for t in [*first, *targets])
        + '\nusing namespace flambeau;\nusing namespace flambeau::capi;\n\nextern "C" {\n\n'
        + "\n".join(_shim(f, named) for f in functions)
        + '\n}  // extern "C"\n'
    )


def _enum(e: dict) -> str:
    """The check of one enumeration: an unknown number is an error that lists the known ones."""
    cases = "\n".join(f"    case {v['name']}:" for v in e["values"])
    known = "\n".join(f'      "{v["name"]} ({v["value"]}), "' for v in e["values"])[:-3] + '"'
    return (
        f"inline int32_t as_{e['name']}(int32_t number) {{\n  switch (number) {{\n{cases}\n"
        "      return number;\n  }\n"
        f'  unknown_enumerator(\n      "{e["name"]}", number,\n{known});\n}}\n'
    )


def _enums(api: Api) -> str:
    used = {p.enum for f in api.functions if f.raises for p in f.params if p.kind == "enum"}
    checks = "\n".join(_enum(e) for e in api.enums if e["name"] in used)
    return (
        cpp.BANNER
        + '#pragma once\n#include "capi/guard.h"\n#include "flambeau/flambeau.h"\n\n'
        + f"namespace flambeau::capi {{\n\n{checks}\n}}  // namespace flambeau::capi\n"
    )


def _options(api: Api) -> str:
    """The defaults that stand for what a program leaves out."""
    rows = "\n".join(
        f"template <> inline constexpr {s['name']} kDefaults<{s['name']}> = {initializer_name(s)};"
        for s in api.structs
        if s["params"]
    )
    ends = "\n".join(_ends(s) for s in api.structs if s["params"])
    return (
        cpp.BANNER
        + "#pragma once\n#include <cstddef>\n\n"
        + '#include "capi/options.h"\n#include "flambeau/flambeau.h"\n\n'
        + f"namespace flambeau::capi {{\n\n{rows}\n\n{ends}\n\n}}  // namespace flambeau::capi\n"
    )


def _ends(struct: dict) -> str:
    """Where the fields of a struct end: the sizes that it may have had in older headers."""
    name = struct["name"]
    ends = ", ".join(
        f"offsetof({name}, {f['name']}) + sizeof({name}::{f['name']})" for f in struct["fields"]
    )
    return f"template <> inline constexpr size_t kEnds<{name}>[] = {{{ends}}};"


def emit(api: Api) -> dict[str, str]:
    groups: dict[str, list[Function]] = {}
    for f in api.functions:
        groups.setdefault(f.header, []).append(f)
    named = {f.name: f for f in api.functions}
    files = {
        f"lib/capi/gen/{h.removesuffix('.h')}.cc": _file(h, fs, named) for h, fs in groups.items()
    }
    listed = " ".join(f"{name};" for name in sorted(f.name for f in api.functions))
    names = textwrap.fill(listed, 100, initial_indent=" " * 4, subsequent_indent=" " * 4)
    files["lib/capi/gen/enums.h"] = _enums(api)
    files["lib/capi/gen/options.h"] = _options(api)
    files["lib/capi/exports.map"] = (
        "# Generated by bindings/generate from include/flambeau; do not edit.\n"
        f"FLAMBEAU_0 {{\n  global:\n{names}\n  local:\n    *;\n}};\n"
    )
    return files
