"""How a C function reads in Rust: its place, its name, and the Rust side of each parameter kind.

A function whose name begins with a handle's belongs to that type; an operation on a tensor is a
method of `Tensor`; `flam_<kind>_new` and `flam_nn_<kind>` make the handle they return; what is left
is a function of the crate.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re

import forms
from emit_rust_ffi import identifier, rust_type
from model import RESERVED, Api, Function, Param, pointee

# Type names that differ from the handle's: `Module` is the trait that programs implement.
_TYPE_NAMES = {"flam_module": "Layer"}
# Methods that traits give every Tensor already, with another meaning.
_TRAIT_METHODS = {"clone": "deep_clone"}
# The same of other types, where the standard library has a name for it.
_METHODS = {"flam_store_clone": "try_clone"}
# Handles that are Clone; the others have one owner, because calls that write are `&mut self`.
SHARED = frozenset(
    f"flam_{name}"
    for name in (
        "tensor",
        "state",
        "module",
        "stream",
        "event",
        "plot",
        "profile",
        "progress",
        "memory_pool",
        "store",
    )
)
INTERNAL = ("flam_error", "flam_tensor_list")  # errors and lists become Rust's own
# They wait for threads that run the program's code, or for processes: a loader has one handle, a
# data set no state, a store and a work have a lock of their own. So does a group, whose calls with
# tensors keep others from changing them.
OWN_THREADS = ("flam_loader", "flam_dataset", "flam_store", "flam_work")
# Where a header's functions and types are, when not at the crate's root.
NAMESPACES = {
    **dict.fromkeys(("layers", "blocks", "transformer", "module"), "nn"),
    **dict.fromkeys(("optim", "optim_step", "schedule"), "optim"),
    **dict.fromkeys(("autograd", "saved"), "autograd"),
    **dict.fromkeys(("plot", "progress"), "tools"),
    **dict.fromkeys(("store", "distributed", "ddp", "communication"), "distributed"),
    **{name: name for name in ("data", "amp", "init", "memory", "monitor", "profiler")},
}


def camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_") if word)


def type_name(c: str) -> str:
    return _TYPE_NAMES.get(c) or camel(c.removeprefix("flam_"))


def namespace(header: str) -> str:
    return NAMESPACES.get(header.removesuffix(".h"), "")


def variant(enum: str, name: str) -> str:
    """`FLAM_GELU_TANH` of `flam_gelu_form` as `Tanh`."""
    tail = name.removeprefix("FLAM_").removeprefix("ERROR_")
    tail = tail.removeprefix(enum.split("_")[1].upper() + "_")
    return camel(tail.lower())


def words(enum: str, name: str) -> str:
    """`FLAM_ERROR_OUT_OF_HOST_MEMORY` as "out of host memory"."""
    tail = name.removeprefix("FLAM_").removeprefix("ERROR_")
    return tail.removeprefix(enum.split("_")[1].upper() + "_").lower().replace("_", " ")


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
        self.options_by_hand = {
            line.split()[0] for line in text.splitlines() if line.endswith("; options generated")
        }
        self.places = {f.name: self._place(f) for f in api.functions}
        self.namespaces = {f.name: namespace(f.header) for f in api.functions}
        self.values = {v["name"]: (e["name"], v["value"]) for e in api.enums for v in e["values"]}

    def reserved(self, struct: str) -> bool:
        """Whether a struct of options has a field that is no option."""
        fields = next(s["fields"] for s in self.api.structs if s["name"] == struct)
        return any(f["name"] == RESERVED for f in fields)

    def header_of(self, handle: str) -> str | None:
        """Where a handle's release is declared."""
        found = [f.header for f in self.api.functions if f.name == f"{handle}_release"]
        return found[0] if found else None

    def options_path(self, f: Function) -> str:
        """The struct of a function's options as programs name it."""
        headers = [s["header"] for s in self.api.structs if s["name"] == f.options]
        header = headers[0] if headers else f.header
        name = f.options or f"{(f.base or f.name).removesuffix('_new')}_options"
        name = camel(name.removeprefix("flam_").removeprefix("nn_"))
        where = namespace(header) or "options"
        return f"crate::{'nn::init' if where == 'init' else where}::{name}"

    def class_of(self, f: Function) -> str | None:
        owners = [
            c for c in [*self.classes, *INTERNAL] if f.name.startswith(c + "_") and f.name != c
        ]
        return max(owners, key=len, default=None)

    def _place(self, f: Function) -> Place:
        owner, first = self.class_of(f), next(iter(f.params), None)
        if owner and f.namespace != "ops":
            method = first is not None and first.nullable is False and pointee(first.type) == owner
            name = _METHODS.get(f.name, f.name.removeprefix(owner + "_"))
            return Place(self.classes.get(owner), identifier(name), method)
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

    def spoken(self, name: str) -> str:
        """A function as programs call it: `flam_monitor_read` as `monitor::read`."""
        place, where = self.places[name], self.namespaces[name]
        if place.type or not where:
            return place.path.replace("r#", "")
        return f"{where}::{place.name.removeprefix(f'{where}_')}"

    def generated(self, f: Function) -> bool:
        """Whether the function can be, and is to be, generated."""
        if (
            f.name in self.by_hand
            or self.class_of(f) in INTERNAL
            or f.form in forms.OWNERS
            or forms.takes_numbers(f)  # a number is an Operand
            or f.name.endswith("_release")
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
        """`FLAM_GELU_TANH` as `GeluForm::Tanh`."""
        enum, _ = self.values[name]
        return f"{type_name(enum)}::{variant(enum, name)}"

    def access(self, f: Function) -> str | None:
        """How a call is kept apart from those of other threads: "writing" where it may change what
        another handle sees, "reading" where it looks at it, "unlocked" where it waits for threads
        of its own, None where no handle is in it."""
        if self.class_of(f) in OWN_THREADS:
            return "unlocked"
        held = [p for p in f.params if p.kind in ("tensor", "tensors", "handle")]
        listed = any(p.kind == "tensors" for p in held)
        if f.blocks and self.class_of(f) == "flam_group" and all(p.kind == "handle" for p in held):
            return "unlocked"
        if any(p.mutable and pointee(p.type) != "flam_generator" for p in held):  # it has a lock
            return "writing"
        changes = f.result["kind"] in ("status", "void")
        if listed and (f.op.endswith("_") or changes and f.namespace != "ops"):
            return "writing"  # to the tensors of the list
        if held or f.namespace == "ops":
            return "reading"
        sets = changes and not f.blocks and not any(p.kind == "out" for p in f.params)
        return "writing" if sets else None

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
            and (p.or_number or not p.nullable)
            and f.result["kind"] == "handle"
            and not (self.places[f.name].method and p is f.params[0])
        )


def needs_word(f: Function) -> bool:
    """Whether a call means nothing without an operand or option that has a default: C takes such
    options in place, beside its struct of the others, or may have a number for each operand."""
    others = [p for p in f.params[1:] if not p.mutable]
    beside = bool(f.options) and any(is_option(p) and not p.option for p in others)
    return beside or bool(others) and all(p.or_number and p.nullable for p in others)


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
        of = "v.0" if p.kind == "device" else "v.code()"
        return Argument(p, f"Option<{name}>", f"{n}.map_or(0, |v| {of})", default="None")
    default = rust.constant(p.default) if p.default in rust.values else None
    value = f"{n}.0" if p.kind == "device" else f"{n}.code()"
    return Argument(p, name, value, default=default)


def _reference(rust: RustApi, f: Function, p: Param, n: str) -> Argument:
    name = "Tensor" if p.kind == "tensor" else rust.handles[pointee(p.type)]
    if rust.operand(f, p):
        taken, hold = ("MaybeOperand", "hold_if_any") if p.nullable else ("Operand", "hold")
        default = "None::<&Tensor>" if p.default else None
        return Argument(p, f"impl {taken}", f"{n}.raw()", f"let {n} = {n}.{hold}();", default)
    unique = p.mutable and (
        p.kind == "tensor" or name == "Generator"
    )  # drawing from a generator writes to it
    mut = "mut " if unique else ""
    if p.nullable:
        return Argument(
            p, f"Option<&{mut}{name}>", f"{n}.map_or(null_mut(), |v| v.raw())", borrows=True
        )
    return Argument(p, f"&{mut}{name}", f"{n}.raw()", borrows=True)


def _unless_empty(p: Param) -> str:
    """C refuses an option's list without entries, but where that means something of its own."""
    return ".filter(|v| !v.is_empty())" if p.option and not p.may_be_empty else ""


def _list(p: Param, n: str) -> Argument:
    if p.kind == "tensors":
        if p.nullable:
            return Argument(
                p,
                "Option<&[&Tensor]>",
                f"{n}.as_ref().map_or(null(), |v| v.as_ptr())",
                f"let {n} = {n}{_unless_empty(p)}.map(pointers);",
                borrows=True,
            )
        return Argument(
            p, "&[impl Borrow<Tensor>]", f"{n}.as_ptr()", f"let {n} = pointers({n});", borrows=True
        )
    if "flam_dtype" in p.type:
        codes = "v.iter().map(|d| d.code()).collect::<Vec<_>>()"
        if p.nullable:
            before = f"let {n} = {n}{_unless_empty(p)}.map(|v| {codes});"
            value = f"{n}.as_ref().map_or(null(), |v| v.as_ptr())"
            return Argument(p, "Option<&[Dtype]>", value, before, borrows=True)
        before = f"let {n} = {codes.replace('v.', n + '.', 1)};"
        return Argument(p, "&[Dtype]", f"{n}.as_ptr()", before, borrows=True)
    item = rust_type(pointee(p.type))
    if p.nullable:
        how = f"{n}{_unless_empty(p)}.map_or(null(), |v| v.as_ptr())"
        return Argument(p, f"Option<&[{item}]>", how, borrows=True)
    return Argument(p, f"&[{item}]", f"{n}.as_ptr()", borrows=True)


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
    elif p.kind == "strings":
        a = Argument(p, "&[&str]", f"{n}.as_ptr()", f"let {n} = c_texts({n})?;", borrows=True)
    elif p.kind == "options":
        a = Argument(
            p,
            type_name(pointee(p.type)),
            f"&{n}",
            f"let {n} = {n}.to_c();",
            default=f"{type_name(pointee(p.type))}::default()",
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


def is_option(p: Param) -> bool:
    """Whether a parameter with a default says how, and not on what: no tensor and no object."""
    return p.default is not None and p.kind not in ("tensor", "tensors", "handle", "options")


@dataclasses.dataclass
class Field:
    """An option as a field of a struct, which owns it: its type, its default, what its builder
    takes and makes of that, and how the call gets at the argument that it converts."""

    argument: Argument
    type: str
    default: str
    takes: str
    stored: str
    lent: str

    @property
    def name(self) -> str:
        return self.argument.name


def field(a: Argument) -> Field:
    n, default = a.name, a.default
    maybe = re.fullmatch(r"Option<(.*)>", a.type)
    item = maybe[1] if maybe else a.type
    listed = re.fullmatch(r"&\[(.*)\]", item)
    owned = f"Vec<{listed[1]}>" if listed else "String" if item == "&str" else item
    lent, stored, takes = f"options.{n}", n, owned
    if owned != item:
        takes, stored = f"impl Into<{owned}>", f"{n}.into()"
        lent += ".as_deref()" if maybe else "[..]"
        if not maybe:
            lent = f"&{lent}"
            default = f"vec!{default.removeprefix('&')}" if listed else f"{default}.into()"
    if maybe:
        plain = owned == item
        takes = f"impl Into<Option<{item}>>" if plain else takes
        owned, stored = f"Option<{owned}>", f"{n}.into()" if plain else f"Some({stored})"
    return Field(a, owned, default, takes, stored, lent)
