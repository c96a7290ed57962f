"""The C++ declarations of targets, in-place and out forms, and operand names for error texts."""

from __future__ import annotations

import textwrap

import cpp
from model import Api, Function

_HEADER = """#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "flambeau/flambeau.h"
#include "{include}"

namespace flambeau::{namespace} {{

"""


def _wrapped(text: str) -> str:
    return "\n".join(
        textwrap.wrap(
            text, 100, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
        )
    )


def _declarations(api: Api, namespace: str, include: str) -> str:
    lines = [_wrapped(cpp.declaration(f) + ";") for f in api.functions if f.namespace == namespace]
    return (
        cpp.BANNER
        + _HEADER.format(include=include, namespace=namespace)
        + "\n".join(lines)
        + f"\n\n}}  // namespace flambeau::{namespace}\n"
    )


def _form(f: Function) -> str:
    counted = cpp.lists(f)
    params = cpp.visible(f)
    plain = params if f.form == "inplace" else params[:-1]
    signature = ", ".join(cpp.parameter(p, p.name in counted, True) for p in params)
    call = ", ".join(p.name for p in plain)
    base = f.base.removeprefix("flam_")
    target = params[0].name if f.form == "inplace" else "out"
    return (
        _wrapped(f"Tensor {f.op}({signature}) {{")
        + "\n"
        + _wrapped(
            f'  return into({target}, "{base}", Into::{f.form}, '
            f"[&] {{ return ops::{base}({call}); }});"
        )
        + "\n}\n"
    )


def _operand_names(api: Api) -> str:
    rows = []
    for f in sorted(
        (f for f in api.functions if f.namespace == "ops" and not f.form), key=lambda f: f.op
    ):
        names = [p.name for p in f.params if p.kind == "tensor"]
        if names:
            rows.append(f'    {{"{f.op}", "{" ".join(names)}"}},')
    return (
        cpp.BANNER
        + """#include <cstring>

#include "ops/ops.h"

namespace flambeau {

namespace {
struct Row {
  const char* op;
  const char* operands;  // separated by spaces
};
constexpr Row kRows[] = {
"""
        + "\n".join(rows)
        + """
};
}  // namespace

std::string operand_name(const char* op, size_t i) {
  for (const Row& row : kRows) {
    if (std::strcmp(row.op, op) != 0) continue;
    const char* at = row.operands;
    for (; i > 0 && (at = std::strchr(at, ' ')); --i) ++at;
    if (!at) break;
    const char* end = std::strchr(at, ' ');
    return end ? std::string(at, end) : std::string(at);
  }
  return "operand " + std::to_string(i);
}

}  // namespace flambeau
"""
    )


def _cast_rows(api: Api) -> str:
    rows = []
    for f in sorted((f for f in api.functions if f.autocast), key=lambda f: f.op):
        cpu, device = (f.autocast.get(kind, "keep") for kind in ("cpu", "cuda"))
        rows.append(f'    {{"{f.op}", CastRule::{cpu}, CastRule::{device}}},')
    return (
        cpp.BANNER
        + '#pragma once\n#include "ops/autocast.h"\n\nnamespace flambeau {\n\n'
        + "inline constexpr CastRow kCastRows[] = {  // by name\n"
        + "\n".join(rows)
        + "\n};\n\n}  // namespace flambeau\n"
    )


def emit(api: Api) -> dict[str, str]:
    forms = [_form(f) for f in api.functions if f.form]
    derived = (
        cpp.BANNER
        + '#include "ops/into.h"\n#include "ops/ops.h"\n\nnamespace flambeau::ops {\n\n'
        + "\n".join(forms)
        + "\n}  // namespace flambeau::ops\n"
    )
    return {
        "lib/ops/gen/ops.h": _declarations(api, "ops", "tensor/tensor.h"),
        "lib/capi/gen/targets.h": _declarations(api, "capi", "capi/objects.h"),
        "lib/ops/gen/derived.cc": derived,
        "lib/ops/gen/operand_names.cc": _operand_names(api),
        "lib/ops/gen/autocast.h": _cast_rows(api),
    }
