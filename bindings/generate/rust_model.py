"""How a C function reads in Rust: its place, its name, and the Rust side of each parameter kind.

A function whose name begins with a handle's belongs to that type; an operation on a tensor is a
method of `Tensor`; `flam_<kind>_new` and `flam_nn_<kind>` make the handle they return; what is left
is a function of the crate.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re

from emit_rust_ffi import identifier, rust_type
from model import Api, Function, Param, pointee

# Type names that differ from the handle's: `Module` is the trait that programs implement.
_TYPE_NAMES = {"flam_module": "Layer"}
# Methods that traits give every Tensor already, with another meaning.
_TRAIT_METHODS = {"clone": "deep_clone"}
INTERNAL = ("flam_error", "flam_tensor_list")  # errors and lists become Rust's own


def camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_") if word)


def type_name(c: str) -> str:
    return _TYPE_NAMES.get(c) or camel(c.removeprefix("flam_"))


@dataclasses.dataclass
class Place:
    """Where a function is in Rust: of a type or of the crate, and whether it takes self."""

    type: str | None
    name: str
    method: bool

    @property
    def path(self) -> str:
        return f"{self.type}::{self.name}" if self.type else self.name


class RustApi:
    """The API with what Rust makes of it."""

    def __init__(self, api: Api):
        self.api = api
        self.handles = {
            h["name"]: type_name(h["name"]) for h in api.handles if h["name"] not in INTERNAL
        }
        self.enums = {e["name"]: e for e in api.enums}
        self.classes = {**self.handles, "flam_device": "Device"}
        self.released = {f.name for f in api.functions if f.name.endswith("_release")}
        text = (pathlib.Path(__file__).parent / "rust_by_hand.txt").read_text()
        self.by_hand = {
            line.split()[0] for line in text.splitlines() if line and not line.startswith("#")
        }
        self.places = {f.name: self._place(f) for f in api.functions}
        self.values = {v["name"]: (e["name"], v["value"]) for e in api.enums for v in e["values"]}

    def class_of(self, f: Function) -> str | None:
        owners = [
            c for c in [*self.classes, *INTERNAL] if f.name.startswith(c + "_") and f.name != c
        ]
        return max(owners, key=len, default=None)

    def _place(self, f: Function) -> Place:
        owner, first = self.class_of(f), next(iter(f.params), None)
        if owner and f.namespace != "ops":
            method = first is not None and first.nullable is False and pointee(first.type) == owner
            return Place(
                self.classes.get(owner), identifier(f.name.removeprefix(owner + "_")), method
            )
        if f.op.endswith("_new") and f.result["kind"] == "handle":
            return Place(
                self.classes[pointee(f.result["type"])],
                identifier(f.op.removesuffix("_new")),
                False,
            )
        if f.op.startswith("nn_") and pointee(f.result["type"]) == "flam_module":
            return Place(self.classes["flam_module"], identifier(f.op.removeprefix("nn_")), False)
        if f.namespace == "ops" and first is not None and first.kind == "tensor" and not creates(f):
            if not f.torch or f.form or any(not t.startswith("torch.") for t in f.torch):
                return Place("Tensor", identifier(_TRAIT_METHODS.get(f.op, f.op)), True)
        return Place(None, identifier(f.op), False)

    def generated(self, f: Function) -> bool:
        """Whether the function can be, and is to be, generated."""
        if (
            f.name in self.by_hand
            or self.class_of(f) in INTERNAL
            or f.name.endswith(("_retain", "_release"))
        ):
            return False
        if f.op.endswith("_options_init"):
            return False
        kinds = [
            p
            for p in f.params
            if p.kind == "callback" or "flam_scope" in p.type or p.type == "void **"
        ]
        return not kinds and f.result["type"] not in ("flam_scope", "const int64_t *")

    def constant(self, name: str) -> str:
        """`FLAM_GELU_TANH` as `GeluForm::TANH`."""
        enum, _ = self.values[name]
        tail = name.removeprefix("FLAM_").removeprefix("ERROR_")
        return f"{type_name(enum)}::{tail.removeprefix(enum.split('_')[1].upper() + '_')}"

    def is_zero(self, p: Param) -> bool:
        """Whether leaving the argument out means the number 0, unspecified."""
        return p.default is not None and p.default in (
            "0",
            *(n for n, v in self.values.items() if v[1] == 0),
        )

    def operand(self, f: Function, p: Param) -> bool:
        """Whether a plain number may stand for the tensor."""
        return (
            f.namespace == "ops"
            and p.kind == "tensor"
            and not p.mutable
            and not p.nullable
            and f.result["kind"] == "handle"
            and not (self.places[f.name].method and p is f.params[0])
        )


def creates(f: Function) -> bool:
    return {"device", "requires_grad"} <= {p.name for p in f.params}


@dataclasses.dataclass
class Argument:
    """One parameter: its Rust type, how it becomes C arguments, and its default's text."""

    param: Param
    type: str
    value: str
    before: str = ""
    default: str | None = None
    borrows: bool = False

    @property
    def name(self) -> str:
        return identifier(self.param.name.lower())


def _number(p: Param, text: str) -> str:
    if p.kind == "bool":
        return "false" if text == "0" else "true"
    if p.kind == "double":
        if text.lstrip("-") in ("INFINITY", "HUGE_VAL"):
            return "-f64::INFINITY" if text.startswith("-") else "f64::INFINITY"
        return text if re.search(r"[.e]", text) else text + ".0"
    return text


def _scalar(rust: RustApi, p: Param, n: str) -> Argument:
    if p.kind == "bool":
        return Argument(p, "bool", f"i32::from({n})")
    if p.kind in ("double", "int", "size"):
        return Argument(p, rust_type(p.type), n)
    name = {"dtype": "Dtype", "device": "Device"}.get(p.kind) or type_name(p.enum)
    if rust.is_zero(p):
        return Argument(p, f"Option<{name}>", f"{n}.map_or(0, |v| v.0)", default="None")
    default = rust.constant(p.default) if p.default in rust.values else None
    return Argument(p, name, f"{n}.0", default=default)


def _reference(rust: RustApi, f: Function, p: Param, n: str) -> Argument:
    name = "Tensor" if p.kind == "tensor" else rust.handles[pointee(p.type)]
    if rust.operand(f, p):
        return Argument(p, "impl Operand", f"{n}.raw()", f"let {n} = {n}.hold();")
    unique = p.mutable and (
        p.kind == "tensor" or name == "Generator"
    )  # drawing from a generator writes to it
    mut = "mut " if unique else ""
    if p.nullable:
        return Argument(
            p, f"Option<&{mut}{name}>", f"{n}.map_or(null_mut(), |v| v.raw())", borrows=True
        )
    return Argument(p, f"&{mut}{name}", f"{n}.raw()", borrows=True)


def _list(p: Param, n: str) -> Argument:
    if p.kind == "tensors":
        if p.nullable:
            return Argument(
                p,
                "Option<&[&Tensor]>",
                f"{n}.as_ref().map_or(null(), |v| v.as_ptr())",
                f"let {n} = {n}.map(pointers);",
                borrows=True,
            )
        return Argument(
            p, "&[impl Borrow<Tensor>]", f"{n}.as_ptr()", f"let {n} = pointers({n});", borrows=True
        )
    item = "Dtype" if "flam_dtype" in p.type else rust_type(pointee(p.type))
    cast = ".cast()" if item == "Dtype" else ""
    if p.nullable:
        return Argument(
            p, f"Option<&[{item}]>", f"{n}.map_or(null(), |v| v.as_ptr(){cast})", borrows=True
        )
    return Argument(p, f"&[{item}]", f"{n}.as_ptr(){cast}", borrows=True)


def _text(p: Param, n: str) -> Argument:
    if p.nullable:
        return Argument(
            p,
            "Option<&str>",
            f"{n}.as_ref().map_or(null(), |v| v.as_ptr())",
            f"let {n} = {n}.map(c_text).transpose()?;",
            borrows=True,
        )
    return Argument(p, "&str", f"{n}.as_ptr()", f"let {n} = c_text({n})?;", borrows=True)


def _pointer(p: Param, n: str) -> Argument:
    item = pointee(p.type)
    if item == "void":
        return Argument(p, rust_type(p.type), n)
    if item == "flam_bool":
        how = f"{n}.as_ref().map_or(null(), |v| v as *const _)"
        return Argument(p, "Option<bool>", how, f"let {n} = {n}.map(i32::from);")
    return Argument(
        p, f"Option<{rust_type(item)}>", f"{n}.as_ref().map_or(null(), |v| v as *const _)"
    )


def argument(rust: RustApi, f: Function, p: Param) -> Argument:
    n = identifier(p.name.lower())  # torch's N is a variable here
    if p.kind in ("bool", "double", "int", "size", "enum", "dtype", "device"):
        a = _scalar(rust, p, n)
    elif p.kind in ("tensor", "handle"):
        a = _reference(rust, f, p, n)
    elif p.kind in ("tensors", "ints", "doubles", "bytes"):
        a = _list(p, n)
    elif p.kind == "string":
        a = _text(p, n)
    elif p.kind == "options":
        a = Argument(
            p,
            f"Option<&{type_name(pointee(p.type))}>",
            f"{n}.as_ref().map_or(null(), |v| v as *const _)",
            f"let {n} = {n}.map(|v| v.to_c());",
            borrows=True,
        )
    elif p.kind == "pointer":
        a = _pointer(p, n)
    else:
        raise ValueError(f"{f.name}: no Rust for parameter {p.name} of kind {p.kind}")
    if p.default is not None and a.default is None:
        if p.default == "NULL":
            a.default = "None"
        elif p.kind in ("ints", "doubles"):
            a.default = f"&[{_number(p, p.default)}]" if not p.nullable else f"Some(&[{p.default}])"
        else:
            a.default = _number(p, p.default)
    return a
