"""Emits bindings/api.jsonl, the API as a ledger: one line for each handle, number, enumeration,
struct and function, so that a change of the API reads as a diff of the lines that it changes. Keys
without content are left out; README.md says what each means.
"""

from __future__ import annotations

import json

import facts
from model import Api, Function, Param

PATH = "bindings/api.jsonl"
_NUMBERS = {"int", "double", "size", "ints", "doubles"}


def emit(api: Api) -> dict[str, str]:
    order = {name: i for i, name in enumerate(sorted({f.header for f in api.functions}))}
    whole = (f for f in api.functions if f.form in (None, "layer"))
    bases = sorted(whole, key=lambda f: order[f.header])
    errors = {f.name: f.doc["errors"] for f in api.functions}
    forms: dict[str, list[str]] = {}
    for f in api.functions:
        if f.form:
            forms.setdefault(f.base, []).append(f.form)
    rows = [
        {"library": "flambeau", "version": api.version},
        *({"handle": h["name"], "brief": _brief(h["doc"])} for h in api.handles),
        *({"number": name, "type": c} for name, c in api.scalars.items()),
        *map(_enum, api.enums),
        *map(_struct, api.structs),
        *(_function(f, forms.get(f.name, []), errors) for f in bases),
    ]
    return {PATH: "".join(json.dumps(_filled(r), ensure_ascii=False) + "\n" for r in rows)}


def _filled(row: dict) -> dict:
    """Without what says nothing."""
    return {k: v for k, v in row.items() if v not in (None, "", [], {}, False)}


def _brief(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


def _enum(e: dict) -> dict:
    values = {v["name"]: v["value"] for v in e["values"]}
    return {"enum": e["name"], "header": e["header"], "brief": _brief(e["doc"]), "values": values}


def _struct(s: dict) -> dict:
    fields = [
        _filled(
            {
                "name": f["name"],
                "type": f["type"],
                "default": f["default"],
                "brief": _brief(f["doc"]),
            }
        )
        for f in s["fields"]
    ]
    return {
        "struct": s["name"],
        "header": s["header"],
        "brief": _brief(s["doc"]),
        "fields": fields,
    }


def _function(f: Function, forms: list[str], errors: dict[str, str]) -> dict:
    params = [p for p in f.params if not p.count_of]
    told = f.doc["params"]
    given = [p for p in params if p.kind != "out"]
    operands = [p for p in given if not is_option(p)]
    options = [p for p in given if is_option(p)]
    return {
        "function": f.name,
        "header": f.header,
        "brief": f.doc["brief"],
        "c": prototype(f),
        "namespace": f.namespace,
        "since": f.since,
        "operands": [_operand(p, told) for p in operands],
        "options": [_option(p, told) for p in options],
        "order": [p.name for p in given] if given != operands + options else None,
        "options_type": f.options,
        "results": [_out(p, told) for p in params if p.kind == "out"],
        "returns": _returns(f),
        "errors": facts.errors(f.doc["errors"], errors),
        "autocast": f.autocast,
        "torch": f.torch,
        "extends": f.extends,
        "forms": forms,
        "view": f.view,
        "layer_of": f.base,
        "layer": f.layer,
        "blocks": f.blocks,
    }


def prototype(f: Function) -> str:
    params = f.c_params
    listed = ", ".join(_declared(p.type, p.name) for p in params) or "void"
    return f"{_declared(f.result['type'], f.name)}({listed})"


def _declared(type_name: str, name: str) -> str:
    if "(*)" in type_name:
        return type_name.replace("(*)", f"(*{name})")
    return f"{type_name}{'' if type_name.endswith('*') else ' '}{name}"


def is_option(p: Param) -> bool:
    """What may be left out: an optional operand is an operand still."""
    return p.option or (p.default is not None and p.kind not in ("tensor", "tensors", "handle"))


def _operand(p: Param, told: dict[str, str]) -> dict:
    text = told.get(p.name, "")
    tensors = p.kind in ("tensor", "tensors")
    row = {
        "name": p.name,
        "kind": p.kind,
        "role": "consumed" if p.consumes else "written" if p.mutable else None,
        "enum": p.enum,
        "optional": p.nullable,
        "number": p.number.split() if p.number else None,
        "or_number": p.or_number,
        "entries_optional": p.null_entries,
        "may_be_empty": p.may_be_empty,
        "dtypes": facts.dtypes(text) if tensors else None,
        "shape": facts.shape(text) if tensors else None,
        "range": facts.interval(text) if p.kind in _NUMBERS else None,
    }
    return _filled(row)


def _option(p: Param, told: dict[str, str]) -> dict:
    return {**_operand(p, told), "default": p.default}


def _out(p: Param, told: dict[str, str]) -> dict:
    text = told.get(p.name, "")
    kind = p.type[: p.type.rindex("*")].strip()
    return _filled(
        {
            "name": p.name,
            "type": kind,
            "dtypes": facts.dtypes(text) if "flam_tensor" in kind else None,
            "shape": facts.shape(text) if "flam_tensor" in kind else None,
        }
    )


def _returns(f: Function) -> dict:
    text = f.doc["returns"]
    tensor = f.result["type"] == "flam_tensor *"
    return _filled(
        {
            "kind": f.result["kind"],
            "borrowed": f.borrowed,
            "optional": f.result["nullable"],
            "dtypes": facts.dtypes(text) if tensor else None,
            "shape": facts.shape(text) if tensor else None,
        }
    )
