"""The safe Rust crate: methods and functions, options, enumerations and handles.

Where C has defaults, `f` takes what is needed and `f_with` the rest as well: one or two more
arguments in place, more of them as a struct with `Default`. An in-place form gives its receiver
back.
"""

from __future__ import annotations

import re

import rust_docs
import rust_types
from emit_rust_ffi import HEADER, identifier, rust_type
from model import Api, Function, Param, pointee
from rust_model import Argument, RustApi, argument, camel, type_name

FOLDER = "bindings/rust/flambeau/src/gen"
IN_PLACE = 3  # from so many optional parameters on, they are a struct


class Method:
    """One C function on its way to Rust."""

    def __init__(self, rust: RustApi, f: Function):
        self.rust, self.f, self.place = rust, f, rust.places[f.name]
        self.outs = [p for p in f.params if p.kind == "out"]
        self.receiver = f.params[0] if self.place.method else None
        visible = [
            p for p in f.params if p is not self.receiver and not p.count_of and p.kind != "out"
        ]
        self.arguments = [argument(rust, f, p) for p in visible]
        self.needed = [a for a in self.arguments if a.default is None]
        self.optional = [a for a in self.arguments if a.default is not None]
        base = (f.base or f.name).removeprefix("flam_").removesuffix("_new")
        self.options = camel(base) + "Options" if len(self.optional) >= IN_PLACE else None
        self.chains = (
            self.receiver is not None
            and self.receiver.mutable
            and self.receiver.kind == "tensor"
            and f.result["type"] == "flam_tensor *"
        )

    def text(self) -> str:
        indent = "    " if self.place.type else ""
        name = self.place.name
        if not self.optional:
            return self._function(name, self.needed, self._body(), None, indent)
        full = f"{name[:-1]}_with_" if name.endswith("_") else f"{name}_with"
        short = self._forward(full.removeprefix("r#"))
        return self._function(name, self.needed, short, None, indent) + self._function(
            full.removeprefix("r#"), self.needed + self.optional, self._body(), self.options, indent
        )

    def _function(
        self,
        name: str,
        arguments: list[Argument],
        body: list[str],
        options: str | None,
        indent: str,
    ) -> str:
        shown = [a for a in arguments if not (options and a.default is not None)]
        parts = [f"{a.name}: {a.type}" for a in shown]
        if options:
            life = "<'_>" if rust_types.borrows(self.optional) else ""
            parts.append(f"options: {options}{life}")
        if self.receiver is not None:
            by_value = self.receiver.kind == "device"
            unique = self.receiver.mutable and self.receiver.kind in ("tensor", "handle")
            parts.insert(0, "self" if by_value else "&mut self" if unique else "&self")
        danger = any(a.param.kind == "pointer" and a.type.startswith("*") for a in arguments)
        text = rust_docs.function(self.rust, self.f, arguments, indent, options)
        if danger:
            text += rust_docs.comment(
                "\n# Safety\n\nThe address must be what it is said to be.", indent
            )
        if len(parts) > 7:
            text += f"{indent}#[allow(clippy::too_many_arguments)]\n"
        result = self._result()
        head = f"{indent}pub {'unsafe ' if danger else ''}fn {name}({', '.join(parts)})" + (
            f" -> {result}" if result else ""
        )
        if len(head) > 98:
            head = (
                f"{indent}pub {'unsafe ' if danger else ''}fn {name}(\n"
                + "".join(f"{indent}    {p},\n" for p in parts)
                + f"{indent})"
                + (f" -> {result}" if result else "")
            )
        if danger:  # the body of an unsafe function is unsafe already
            body = [re.sub(r"^unsafe \{ (.*) \}$", r"\1", line) for line in body]
        return (
            text
            + head
            + " {\n"
            + "".join(f"{indent}    {line}\n" for line in body)
            + f"{indent}}}\n\n"
        )

    def _forward(self, full: str) -> list[str]:
        given = [a.name for a in self.needed]
        if self.options:
            given.append(f"{self.options}::default()")
        else:
            given += [a.default for a in self.optional]
        if self.receiver is not None:
            return [f"self.{full}({', '.join(given)})"]
        return [f"{'Self::' if self.place.type else ''}{full}({', '.join(given)})"]

    # ---- the call

    def _body(self) -> list[str]:
        lines = []
        if (
            self.f.raises
            and self.receiver is None
            and not any(
                a.type.startswith("&") for a in self.needed if a.param.kind in ("tensor", "handle")
            )
        ):
            lines.append("crate::open_library()?;")
        if self.options:
            fields = ", ".join(a.name for a in self.optional)
            lines.append(f"let {self.options} {{ {fields} }} = options;")
        lengths = {a.param.name: a for a in self.arguments}
        lines += [a.before for a in self.arguments if a.before]
        values = []
        for p in self.f.params:
            values.append(self._value(p, lengths))
        lines += [f"let mut {identifier(p.name.lower())} = {self._empty(p)};" for p in self.outs]
        call = f"sys::{self.f.name}({', '.join(values)})"
        lines.append(
            "// SAFETY: handles are live, lists have the lengths given, and texts end in zero."
        )
        return lines + self._convert(call)

    def _value(self, p: Param, arguments: dict[str, Argument]) -> str:
        if p is self.receiver:
            return "self.0" if p.kind == "device" else "self.raw()"
        if p.count_of:
            a, name = arguments[p.count_of], identifier(p.count_of)
            if a.param.nullable:
                view = "as_ref()." if a.param.kind == "tensors" else ""
                return f"{name}.{view}map_or(0, |v| v.len())"
            return f"{name}.len()"
        return f"&mut {identifier(p.name.lower())}" if p.kind == "out" else arguments[p.name].value

    @staticmethod
    def _empty(p: Param) -> str:
        item = p.type.removesuffix("*").strip()
        if item.endswith("*"):
            return "null()" if item.startswith("const") else "null_mut()"
        return {"double": "0.0", "float": "0.0"}.get(item, "0")

    # ---- the result

    def _out_type(self, p: Param) -> tuple[str, str]:
        """The Rust type of an output and the expression that makes it."""
        item, n = p.type.removesuffix("*").strip(), identifier(p.name.lower())
        if item == "const char *":
            return "String", f"owned_text({n})"
        if item == "flam_tensor_list *":
            return "Vec<Tensor>", f"list({n})?"
        if pointee(item) in self.rust.handles:
            return self.rust.handles[pointee(item)], f"made({n})?"
        if item == "flam_bool":
            return "bool", f"{n} != 0"
        if item in self.rust.enums or item == "flam_device":
            return type_name(item), f"{type_name(item)}({n})"
        return rust_type(item), n

    def _result(self) -> str:
        kind, c = self.f.result["kind"], self.f.result["type"]
        if self.chains:
            return "Result<&mut Tensor>"
        if self.f.form == "out":
            return "Result<()>"
        if kind == "status":
            types = [self._out_type(p)[0] for p in self.outs]
            return f"Result<{types[0]}>" if len(types) == 1 else f"Result<({', '.join(types)})>"
        if kind == "handle":
            name = (
                "Vec<Tensor>" if pointee(c) == "flam_tensor_list" else self.rust.handles[pointee(c)]
            )
            return f"Result<Option<{name}>>" if self.f.result.get("nullable") else f"Result<{name}>"
        if kind == "void":
            return ""
        if kind == "string":
            return "Option<String>" if self._may_be_null() else "String"
        if c == "flam_bool":
            return "bool"
        return type_name(c) if c in self.rust.enums or c == "flam_device" else rust_type(c)

    def _may_be_null(self) -> bool:
        return "NULL" in self.f.doc["returns"]

    def _convert(self, call: str) -> list[str]:
        kind, c = self.f.result["kind"], self.f.result["type"]
        if self.chains:
            return [f"unsafe {{ made::<Tensor>({call})? }};", "Ok(self)"]
        if self.f.form == "out":
            return [f"unsafe {{ made::<Tensor>({call}) }}.map(drop)"]
        if kind == "status":
            values = [self._out_type(p)[1] for p in self.outs]
            if not values:
                return [f"unsafe {{ check({call}) }}"]
            value = values[0] if len(values) == 1 else f"({', '.join(values)})"
            unsafe = any("(" in v and not v.startswith(("Device(", "Dtype(")) for v in values)
            return [
                f"unsafe {{ check({call})? }};",
                f"Ok({f'unsafe {{ {value} }}' if unsafe else value})",
            ]
        if kind == "handle":
            how = (
                "list"
                if pointee(c) == "flam_tensor_list"
                else "found"
                if self.f.result.get("nullable")
                else "made"
            )
            return [f"unsafe {{ {how}({call}) }}"]
        if kind == "void":
            return [f"unsafe {{ {call} }}"]
        if kind == "string":
            return [f"unsafe {{ {'maybe' if self._may_be_null() else 'owned'}_text({call}) }}"]
        if c == "flam_bool":
            return [f"unsafe {{ {call} != 0 }}"]
        made = type_name(c) if c in self.rust.enums or c == "flam_device" else ""
        return [f"{made}(unsafe {{ {call} }})" if made else f"unsafe {{ {call} }}"]


def _group(rust: RustApi, header: str, functions: list[Function]) -> str:
    methods = [Method(rust, f) for f in functions if rust.generated(f)]
    by_type: dict[str | None, list[Method]] = {}
    for m in methods:
        by_type.setdefault(m.place.type, []).append(m)
    text = HEADER + "\nuse super::prelude::*;\n\n"
    for m in methods:
        if m.options and not m.f.form:
            text += rust_types.options(rust, m.f, m.place, m.options, m.optional)
    for owner, group in sorted(by_type.items(), key=lambda item: item[0] or ""):
        body = "".join(m.text() for m in group)
        text += f"impl {owner} {{\n{body.rstrip()}\n}}\n\n" if owner else body
    return text.rstrip() + "\n" if methods else ""


def emit(api: Api) -> dict[str, str]:
    rust = RustApi(api)
    headers: dict[str, list[Function]] = {}
    for f in api.functions:
        headers.setdefault(f.header, []).append(f)
    files = {
        f"{FOLDER}/enums.rs": rust_types.enums(rust),
        f"{FOLDER}/handles.rs": rust_types.handles(rust),
        f"{FOLDER}/structs.rs": rust_types.structs(rust),
    }
    modules = []
    for header, functions in sorted(headers.items()):
        text = _group(rust, header, functions)
        if text:
            modules.append(identifier(header.removesuffix(".h")))
            files[f"{FOLDER}/{header.removesuffix('.h')}.rs"] = text
    text = HEADER + "\nmod prelude {\n    pub(crate) use crate::{call::*, *};\n}\n\n"
    for name in ["enums", "handles", "structs", *modules]:
        text += f"mod {name};\n#[allow(unused_imports)]\npub use {name}::*;\n"
    files[f"{FOLDER}/mod.rs"] = text
    return files
