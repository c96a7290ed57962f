"""The safe Rust crate: methods and functions, options, enumerations and handles.

Where C has defaults, `f` takes what is needed and `f_with` the rest as well: first tensors and
other objects, then what says how, one option in place and more as a struct with builders. An
in-place form gives its receiver back.
"""

from __future__ import annotations

import dataclasses

import rust_docs
import rust_types
from emit_rust_ffi import HEADER, identifier, rust_type
from emit_rust_ffi import field as sys_field
from model import Api, Function, Param, pointee
from rust_model import (
    Argument,
    RustApi,
    argument,
    field,
    is_option,
    namespace,
    needs_word,
    type_name,
)

OPTIONS = "options_of"
IN_PLACE = 2  # so many options are a struct, where C has none, too
FOLDER = "bindings/rust/flambeau/src/gen"


class Method:
    """One C function on its way to Rust."""

    def __init__(self, rust: RustApi, f: Function):
        self.rust, self.f, self.place = rust, f, rust.places[f.name]
        self.outs = [p for p in f.params if p.kind == "out"]
        self.receiver = f.params[0] if self.place.method else None
        visible = [
            p for p in f.params if p is not self.receiver and not p.count_of and p.kind != "out"
        ]
        if f.extends:  # whose parameters are why it is called
            visible = [dataclasses.replace(p, default=None) for p in visible]
        self.alone = needs_word(f)  # the form without defaults
        if self.alone:
            visible = [dataclasses.replace(p, default=None) if p.or_number else p for p in visible]
        self.arguments = [argument(rust, f, p) for p in visible]
        self.needed = [a for a in self.arguments if a.default is None]
        chosen = [a for a in self.arguments if a.default is not None and is_option(a.param)]
        self.extra = [a for a in self.arguments if a.default is not None and not is_option(a.param)]
        grouped = chosen and (f.options or len(chosen) >= IN_PLACE)
        self.options = rust.options_path(f) if grouped else None
        self.fields = [field(a) for a in chosen] if self.options else []
        self.extra += [] if self.options else chosen
        self.chains = self.receiver is not None and f.result.get("operand") == self.receiver.name

    @property
    def refuses_text(self) -> bool:
        """Whether a call that never fails takes a text, which Rust may not be able to hand over."""
        return not self.f.raises and any(a.param.kind == "string" for a in self.arguments)

    def text(self) -> str:
        indent = "    " if self.place.type else ""
        name = self.place.name
        if not self.extra and not self.options:
            return self._function(name, self.needed, self._body(), None, indent)
        full = f"{name[:-1]}_with_" if name.endswith("_") else f"{name}_with"
        full = full.removeprefix("r#")
        short = ""
        if not self.alone:
            short = self._function(name, self.needed, self._forward(full), None, indent)
        arguments = self.needed + self.extra
        return short + self._function(full, arguments, self._body(), self.options, indent)

    def _function(
        self,
        name: str,
        arguments: list[Argument],
        body: list[str],
        options: str | None,
        indent: str,
    ) -> str:
        parts = [f"{a.name}: {a.type}" for a in arguments]
        if options:
            parts.append(f"options: {options}")
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
        result = f"Result<{result or '()'}>" if self.refuses_text else result
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
        return (
            text
            + head
            + " {\n"
            + "".join(f"{indent}    {line}\n" for line in body)
            + f"{indent}}}\n\n"
        )

    def _forward(self, full: str) -> list[str]:
        given = [a.name for a in self.needed] + [a.default for a in self.extra]
        given += [f"{self.options}::default()"] if self.options else []
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
        for x in self.fields:
            lines.append(f"let {x.name} = {x.lent};")
        lengths = {a.param.name: a for a in self.arguments}
        lines += [a.before for a in self.arguments if a.before]
        values = {p.name: self._value(p, lengths) for p in self.f.params}
        if self.f.options:
            values["options"] = "&c_options"
            lines.append(self._struct(values))
        lines += [f"let mut {identifier(p.name.lower())} = {self._empty(p)};" for p in self.outs]
        passed = ", ".join(values[p.name] for p in self.f.c_params)
        call = f"sys::{self.f.name}({passed})"
        access = self.rust.access(self.f)
        if access:
            lines.append(f"let _access = {access}();")
        made = self._convert(call)
        made = [f"Ok({made[0]})"] if self.refuses_text else made
        return lines + rust_docs.safety(self.f, self.receiver, self.arguments, self.outs) + made

    def _struct(self, values: dict[str, str]) -> str:
        """The options as C has them, on the stack."""
        struct = f"sys::{self.f.options}"
        fields = ""
        for p in (p for p in self.f.params if p.option):
            name, value = sys_field(p.name), values[p.name]
            fields += f"{name}, " if name == value else f"{name}: {value}, "
        if self.rust.reserved(self.f.options):
            fields += "reserved: 0, "
        size = f"struct_size: std::mem::size_of::<{struct}>()"
        return f"let c_options = {struct} {{ {size}, {fields.rstrip(', ')} }};"

    def _value(self, p: Param, arguments: dict[str, Argument]) -> str:
        if p is self.receiver:
            return "self.0" if p.kind == "device" else "self.raw()"
        if p.count_of:
            a, name = arguments[p.count_of], identifier(p.count_of)
            if a.param.nullable:
                view = "as_ref()." if a.param.kind == "tensors" or "Dtype" in a.type else ""
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
        if item == "flam_device":
            return "Device", f"Device({n})"
        if item in self.rust.enums:
            return type_name(item), f"{type_name(item)}::from_code({n})"
        return rust_type(item), n

    def _result(self) -> str:
        kind, c = self.f.result["kind"], self.f.result["type"]
        if self.chains:
            return "Result<&mut Tensor>"
        if self.f.result.get("operand"):
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
            return [f"unsafe {{ written({call})? }};", "Ok(self)"]
        if self.f.result.get("operand"):
            return [f"unsafe {{ written({call}) }}"]
        if kind == "status":
            values = [self._out_type(p)[1] for p in self.outs]
            if not values:
                return [f"unsafe {{ check({call}) }}"]
            value = values[0] if len(values) == 1 else f"({', '.join(values)})"
            plain = ("Device(", "from_code")
            if any("(" in v and not any(word in v for word in plain) for v in values):
                return ["unsafe {", f"    check({call})?;", f"    Ok({value})", "}"]
            return [f"unsafe {{ check({call})? }};", f"Ok({value})"]
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
        if c == "flam_device":
            return [f"Device(unsafe {{ {call} }})"]
        if c in self.rust.enums:
            return [f"{type_name(c)}::from_code(unsafe {{ {call} }})"]
        return [f"unsafe {{ {call} }}"]


class Crate:
    """The generated files, and the names that each public module has of them."""

    def __init__(self, api: Api):
        self.rust = RustApi(api)
        self.names: dict[str, set[str]] = {}
        self.methods: dict[str, list[Method]] = {}
        for f in api.functions:
            if self.rust.generated(f):
                self.methods.setdefault(f.header, []).append(Method(self.rust, f))

    def publish(self, header: str, name: str, options: bool = False) -> None:
        where = namespace(header) or ("options" if options else "")
        self.names.setdefault(where, set()).add(name)

    def group(self, header: str, methods: list[Method]) -> str:
        """The functions of one header, under its title where they are methods."""
        by_type: dict[str | None, list[Method]] = {}
        for m in methods:
            by_type.setdefault(m.place.type, []).append(m)
        text = HEADER
        text += "\nuse super::prelude::*;\n\n"
        for m in by_type.get(None, []):
            short = m.place.name
            full = f"{short[:-1]}_with_" if short.endswith("_") else f"{short}_with"
            for name in [short, full] if m.extra or m.options else [short]:
                plain = name.removeprefix(f"{namespace(header)}_")
                self.publish(header, name if plain == name else f"{name} as {plain}")
        title = rust_docs.title(self.rust.api, header)
        for owner, group in sorted(by_type.items(), key=lambda item: item[0] or ""):
            body = "".join(m.text() for m in group)
            if owner:
                body = f"/// # {title}\nimpl {owner} {{\n{body.rstrip()}\n}}\n\n"
            text += body
        return text.rstrip() + "\n"

    def options(self) -> str:
        """Every struct of options once, whichever functions share it."""
        users: dict[str, list[Method]] = {}
        for m in (m for methods in self.methods.values() for m in methods):
            if m.options and not m.f.form:
                users.setdefault(m.options, []).append(m)
        modules: dict[str, str] = {}
        for path, methods in users.items():
            where, name = path.split("::")[-2:]
            text = rust_types.options(self.rust, name, methods)
            modules[where] = modules.get(where, "") + text
        text = HEADER
        for where, body in modules.items():
            self.names.setdefault(where, set()).add(f"{OPTIONS}::{where}::*")
            text += f"\npub mod {where} {{\n#[allow(unused_imports)]\n"
            text += f"use crate::gen::prelude::*;\n{body}}}\n"
        return text

    def modules(self, files: list[str]) -> str:
        text = HEADER
        text += "\nmod prelude {\n    pub(crate) use crate::{access::*, call::*, *};\n}\n\n"
        for name in files:
            text += f"mod {name};\n"
            if name != OPTIONS:  # two modules may have options of one name
                text += f"#[allow(unused_imports)]\npub use {name}::*;\n"
        text += "\n/// What is where for programs.\npub mod public {\n"
        for where, names in sorted(self.names.items()):
            listed = "".join(f"        {name},\n" for name in sorted(names))
            text += f"    pub mod {where or 'root'} {{\n"
            text += f"        pub use crate::gen::{{\n{listed}        }};\n    }}\n"
        return text + "}\n"


def emit(api: Api) -> dict[str, str]:
    crate = Crate(api)
    rust = crate.rust
    texts = {
        "enums": rust_types.enums(rust),
        "handles": rust_types.handles(rust),
        OPTIONS: crate.options(),
        "structs": rust_types.structs(rust),
    }
    for e in api.enums:
        crate.publish(e["header"], type_name(e["name"]))
    for c, name in rust.handles.items():
        if header := rust.header_of(c):
            crate.publish(header, name)
    for s in rust_types.filled_by_c(rust):
        crate.publish(s["header"], type_name(s["name"]), options=True)
    for header, methods in sorted(crate.methods.items()):
        texts[identifier(header.removesuffix(".h"))] = crate.group(header, methods)
    texts["mod"] = crate.modules(list(texts))
    return {f"{FOLDER}/{name.removeprefix('r#')}.rs": text for name, text in texts.items()}
