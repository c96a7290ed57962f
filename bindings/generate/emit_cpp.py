"""The C++ declarations of targets, a constant per op, and in-place and out forms."""

from __future__ import annotations

import textwrap

import cpp
import forms
from model import Api, Function

_HEADER = """#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "flambeau/{types}.h"
{includes}

namespace flambeau::{namespace} {{

"""


def _wrapped(text: str) -> str:
    return "\n".join(
        textwrap.wrap(
            text, 100, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
        )
    )


def _declarations(api: Api, namespace: str, includes: list[str]) -> str:
    written = {f.base for f in api.functions if f.form in forms.WRITTEN}  # into a destination
    types = "flambeau" if namespace == "capi" else "common"  # operations know no struct of C's
    numbers = {v["name"]: v["value"] for e in api.enums for v in e["values"]}
    lines = [
        _wrapped(cpp.declaration(f, numbers, f.name in written) + ";")
        for f in _targets(api)
        if f.namespace == namespace
    ]
    return (
        cpp.BANNER
        + _HEADER.format(
            types=types,
            includes="\n".join(f'#include "{path}"' for path in includes),
            namespace=namespace,
        )
        + "\n".join(lines)
        + f"\n\n}}  // namespace flambeau::{namespace}\n"
    )


def _targets(api: Api) -> list[Function]:
    """The functions that declare a target, each the only one of its own."""
    less = forms.extended(api.functions)
    own = (None, "layer", *forms.WRITTEN)
    return [f for f in api.functions if f.form in own and f.name not in less]


def _form(f: Function, base: str) -> str:
    counted = cpp.lists(f)
    params = cpp.visible(f)
    plain = params if f.form == "inplace" else params[:-1]
    signature = ", ".join(cpp.parameter(p, p.name in counted, True) for p in params)
    call = ", ".join([p.name for p in plain] + ["to"])
    target = params[0].name if f.form == "inplace" else "out"
    kind = "exact_out" if f.exact else f.form
    return (
        _wrapped(f"Tensor {f.target}({signature}) {{")
        + f"\n  Destination to({target}, op::{base}, Destination::{kind});\n"
        + _wrapped(f"  return to.finish(ops::{base}({call}));")
        + "\n}\n"
    )


def _op(f: Function) -> str:
    names = " ".join(p.name for p in f.params if p.kind == "tensor")
    lines = textwrap.wrap(names, 90) or [""]  # one literal, of pieces
    names = "\n    ".join([f'"{line} "' for line in lines[:-1]] + [f'"{lines[-1]}"'])
    rules = [f.autocast.get(kind, "keep") for kind in ("cpu", "cuda")] if f.autocast else []
    fields = [f'"{f.op}"', names, *(f"CastRule::{rule}" for rule in rules)]
    while fields[-1] in ('""', "CastRule::keep"):
        fields.pop()
    text = f"inline constexpr Op {f.op}{{{', '.join(fields)}}};"
    return text if len(text) <= 100 else text.replace(f", {names}", f",\n    {names}")


def _ops(api: Api) -> str:
    ops = sorted(
        (f for f in api.functions if f.namespace == "ops" and not f.form and not f.extends),
        key=lambda f: f.op,
    )
    return (
        cpp.BANNER
        + '#pragma once\n#include "ops/op.h"\n\nnamespace flambeau::op {\n\n'
        + "\n".join(map(_op, ops))
        + "\n\n}  // namespace flambeau::op\n"
    )


def emit(api: Api) -> dict[str, str]:
    bases = {f.name: f.target for f in api.functions}
    written = [_form(f, bases[f.base]) for f in _targets(api) if f.form in forms.WRITTEN]
    derived = (
        cpp.BANNER
        + '#include "ops/destination.h"\n#include "ops/gen/op.h"\n#include "ops/ops.h"\n\n'
        + "namespace flambeau::ops {\n\n"
        + "\n".join(written)
        + "\n}  // namespace flambeau::ops\n"
    )
    return {
        "lib/nn/gen/layers.h": _declarations(api, "nn", ["nn/module.h"]),
        "lib/ops/gen/ops.h": _declarations(api, "ops", ["ops/op.h", "tensor/tensor.h"]),
        "lib/capi/gen/targets.h": _declarations(api, "capi", ["capi/objects.h"]),
        "lib/ops/gen/derived.cc": derived,
        "lib/ops/gen/op.h": _ops(api),
    }
