"""Emits lib/nn/gen/layers.cc: operations as modules, which FLAM_LAYER asks for. A module holds the
options, checks at once those whose range the doc comment tells, and calls the operation."""

from __future__ import annotations

import re

import cpp
import facts
from forms import inputs_of
from model import Api, Function, Param, pointee
from python_model import enum_words

_RANGED = ("int", "double")


def emit(api: Api) -> dict[str, str]:
    by_name = {f.name: f for f in api.functions}
    layers = [f for f in api.functions if f.form == "layer"]
    used = {p.enum for f in layers for p in f.params if f"[{p.name}=" in by_name[f.base].layer}
    words = "\n".join(_words(e) for e in api.enums if e["name"] in used)
    text = (
        cpp.BANNER
        + '#include "base/error.h"\n#include "nn/gen/layers.h"\n#include "nn/op_layer.h"\n'
        + '#include "ops/ops.h"\n\nnamespace flambeau::nn {\n\n'
        + f"namespace {{\n\n{words}\n}}  // namespace\n\n"
        + "\n".join(_definition(by_name[f.base], f) for f in layers)
        + "\n}  // namespace flambeau::nn\n"
    )
    return {"lib/nn/gen/layers.cc": text}


def _words(e: dict) -> str:
    cases = "".join(
        f'    case {number}:\n      return "{word}";\n'
        for word, number in enum_words(e).items()
        if number
    )
    return (
        f"const char* {e['name']}_word(int32_t number) {{\n  switch (number) {{\n{cases}"
        '    default:\n      return "unspecified";\n  }\n}\n'
    )


def _definition(op: Function, f: Function) -> str:
    counted = cpp.lists(f)
    params = cpp.visible(f)
    head = ", ".join(cpp.parameter(p, p.name in counted, True) for p in params)
    type_name, shown = re.fullmatch(r"(\w+)\((.*)\)", op.layer).groups()
    checks = [_check(type_name, p, op.doc["params"].get(p.name, "")) for p in params]
    inputs = ", ".join(f'"{p.name}"' for p in inputs_of(op))
    buffers = ", ".join(f'{{"{p.name}", {p.name}}}' for p in params if p.kind == "tensor")
    held = ", ".join(c for p in params if (c := _capture(p, p.name in counted)))
    arguments = ", ".join(_argument(p, op) for p in cpp.visible(op))
    call = f"ops::{op.op}({arguments})"
    if len([p for p in op.params if p.kind == "out"]) > 1:
        call = f"std::get<0>({call})"
    module = " m" if "m." in call else ""
    text = f'"{type_name}", {_shown(shown, params)}'
    lines = [
        f"Ref<Module> {f.target}({head}) {{",
        *(c for c in checks if c),
        f"  return op_layer({{{text}, {{{inputs}}}, {{{buffers}}}}},"
        f" [{held}](const Module&{module}, TensorsView x) {{",
        f"    return {call};",
        "  });",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _check(type_name: str, p: Param, told: str) -> str | None:
    """The documented range of a number; NaN is in none."""
    interval = facts.interval(told) if p.kind in _RANGED else None
    if not interval:
        return None
    low, high = interval[1:-1].split(", ")
    parts = [] if low == "-inf" else [f"{p.name} {'>=' if interval[0] == '[' else '>'} {low}"]
    parts += [] if high == "inf" else [f"{p.name} {'<=' if interval[-1] == ']' else '<'} {high}"]
    bounds = {"[0, inf)": "not be negative", "(0, inf)": "be positive"}
    text = bounds.get(interval, f"be in {interval}")
    return (
        f"  check({' && '.join(parts)}, Code::invalid_argument, "
        f'"{type_name}: {p.name} must {text}, got ", {p.name});'
    )


def _capture(p: Param, counted: bool) -> str | None:
    """What the module keeps of an argument: lists are copied."""
    if p.kind == "tensor":
        return None  # a buffer
    if not counted:
        return p.name
    if p.kind == "ints" and pointee(p.type) == "int64_t":
        return f"{p.name} = Dims({p.name})"
    return f"{p.name} = std::vector({p.name}.begin(), {p.name}.end())"


def _argument(p: Param, op: Function) -> str:
    if p.kind == "tensor":
        return f'm.buffer_or_none("{p.name}")' if p.nullable else f"x[{inputs_of(op).index(p)}]"
    return "m.training" if p.name == "training" else p.name


def _shown(template: str, params: list[Param]) -> str:
    """The expression of what FLAM_LAYER says."""
    by_name = {p.name: p for p in params}
    parts = []
    for i, part in enumerate(re.split(r"\[(.*?)\]", template)):
        if i % 2 == 0:
            parts += [f'"{part}"'] if part else []
            continue
        names = part.split(" or ")
        shown = [_value(by_name[name.rstrip("=")], name.endswith("=")) for name in names]
        if len(names) > 1:  # a list that is absent gives way
            first, second = (f"cat_text({', '.join(value)})" for value in shown)
            shown = [[f"({names[0].rstrip('=')}.empty() ? {second} : {first})"]]
        parts += shown[0]
    whole = [parts.pop(0)] if parts else ['""']
    for part in parts:  # literals beside each other are one
        if whole[-1].endswith('"') and part.startswith('"'):
            whole[-1] = whole[-1][:-1] + part[1:]
        else:
            whole.append(part)
    return f"cat_text({', '.join(whole)})" if len(whole) > 1 else whole[0]


def _value(p: Param, named: bool) -> list[str]:
    name = [f'"{p.name}="'] if named else []
    if p.kind != "enum":
        return [*name, f"python_text({p.name})"]
    word = f"{p.enum}_word({p.name})"
    return [*name, '"\'"', word, '"\'"'] if named else [word]
