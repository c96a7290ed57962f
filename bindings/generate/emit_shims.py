"""The C functions themselves: one shim per declaration, and the list of exports."""

from __future__ import annotations

import textwrap

import cpp
from model import Api, Function, Param

_NULL_RESULT = {"handle": "nullptr", "status": None, "value": "{}", "string": "nullptr", "borrowed": "nullptr", "void": ""}


def _parameters(f: Function) -> str:
    parts = [p.type.replace("(*)", f"(*{p.name})") if "(*)" in p.type
             else f"{p.type}{p.name}" if p.type.endswith("*") else f"{p.type} {p.name}" for p in f.params]
    return ", ".join(parts) or "void"


def _needs_check(p: Param) -> bool:
    return p.kind in ("tensor", "handle", "string", "options", "callback", "pointer", "out") \
        and "*" in p.type and not p.nullable and "(*)" not in p.type


def _failed(f: Function, code: str) -> str:
    """How the shim leaves with the error that the expression `code` sees to."""
    if f.result["kind"] == "status":
        return f"return {code};"
    return "return nullptr;" if code == "pending_code()" else f"return {code}, nullptr;"


def _checks(f: Function) -> list[str]:
    """NULL operands: failures propagate, and functions that cannot fail return zero."""
    counted = cpp.lists(f)
    result = _NULL_RESULT[f.result["kind"]]
    lines = []
    for p in f.params:
        if p.name in counted:
            entries = p.kind in ("tensors", "strings") and not p.nullable
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
    return lines


def _body(f: Function) -> list[str]:
    params = cpp.visible(f)
    if f.name.endswith("_release") and len(params) == 1 and f.result["kind"] == "void":
        return [f"  release_handle({params[0].name});"]
    if f.name.endswith("_retain") and len(params) == 1 and f.result["kind"] == "void":
        return [f'  retain_handle({params[0].name}, "{f.name}");']
    counted = cpp.lists(f)
    call = f"flambeau::{f.namespace}::{f.op}({', '.join(cpp.argument(p, p.name in counted) for p in params)})"
    kind = f.result["kind"]
    if kind == "handle":
        return [f'  return guard_handle("{f.name}", [&] {{ return {call}; }});']
    if kind == "status":
        outs = "".join(f", {p.name}" for p in cpp.outs(f))
        return [f'  return guard_status("{f.name}", [&] {{ return {call}; }}{outs});']
    if kind == "void":
        return [f"  guard_value([&] {{ {call}; }});"]
    return [f"  return guard_value([&] {{ return {call}; }});"]


def _handed(f: Function) -> str | None:
    """What the program hands over with a function to drop it: a callback's table, or `drop` and its data."""
    for p in f.params:
        if p.kind == "callback" and "(*)" not in p.type:
            return p.name
    names = {p.name for p in f.params}
    return f"drop, {'user' if 'user' in names else 'payload'}" if "drop" in names else None


def _handing(f: Function, handed: str) -> list[str]:
    """The body of a function that takes such a thing over: a shim that fails before the target drops it."""
    counted = cpp.lists(f)
    params = cpp.visible(f)
    arguments = [cpp.argument(p, p.name in counted) for p in params]
    call = f"flambeau::{f.namespace}::{f.op}({', '.join(f'a{i}' for i in range(len(params)))})"
    guard = {"handle": f'guard_handle("{f.name}", ', "status": f'guard_status("{f.name}", '}.get(f.result["kind"], "guard_value(")
    outs = "".join(f", {p.name}" for p in cpp.outs(f)) if f.result["kind"] == "status" else ""
    return [f"  Handed handed({handed});", *_checks(f), f"  return {guard}[&] {{",
            *(f"    const auto& a{i} = {a};" for i, a in enumerate(arguments)),
            "    handed.over();", f"    return {call};", f"  }}{outs});"]


def _shim(f: Function) -> str:
    head = textwrap.wrap(f"{f.result['type']}{'' if f.result['type'].endswith('*') else ' '}{f.name}({_parameters(f)}) {{",
                         100, subsequent_indent="    ", break_long_words=False)
    handed = _handed(f)
    body = _handing(f, handed) if handed else [*_checks(f), *_body(f)]
    return "\n".join([*head, *body, "}"]) + "\n"


def _file(header: str, functions: list[Function]) -> str:
    targets = sorted({'"ops/ops.h"' if f.namespace == "ops" else '"capi/gen/targets.h"' for f in functions})
    return (cpp.BANNER + "".join(f"#include {t}\n" for t in ['"capi/guard.h"', *targets])
            + "\nusing namespace flambeau;\nusing namespace flambeau::capi;\n\nextern \"C\" {\n\n"
            + "\n".join(_shim(f) for f in functions) + "\n}  // extern \"C\"\n")


def emit(api: Api) -> dict[str, str]:
    groups: dict[str, list[Function]] = {}
    for f in api.functions:
        groups.setdefault(f.header, []).append(f)
    files = {f"lib/capi/gen/{h.removesuffix('.h')}.cc": _file(h, fs) for h, fs in groups.items()}
    names = "\n".join(f"    {f.name};" for f in sorted(api.functions, key=lambda f: f.name))
    files["lib/capi/gen/exports.map"] = (
        "# Generated by bindings/generate from include/flambeau; do not edit.\n"
        f"FLAMBEAU_0 {{\n  global:\n{names}\n  local:\n    *;\n}};\n")
    return files
