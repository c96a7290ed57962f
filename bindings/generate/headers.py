"""The headers, read by libclang: the one parser of the project."""

from __future__ import annotations

import pathlib
import re
import sys

import clang.cindex as clang

import docs
from model import LISTS, SCALARS, Api, Function, Param, derived_forms, pointee, resolve_torch

GENERATED = {"flambeau.h", "derived.h", "load.h"}


class HeaderError(Exception):
    """A header that cannot be turned into an API; its text lists every fault with file and line."""


def _annotations(cursor) -> dict[str, str]:
    found = {}
    for child in cursor.get_children():
        if child.kind == clang.CursorKind.ANNOTATE_ATTR:
            key, _, value = child.spelling.partition("=")
            found[key] = value
    return found


def _kind(type_name: str, name: str, enums: set[str], structs: dict[str, dict]) -> tuple[str, str | None]:
    """The kind of a parameter's type, and the enumeration it belongs to."""
    bare = pointee(type_name)
    stars = type_name.count("*")
    if "(*)" in type_name:
        return "callback", None
    if name.startswith("out_") and stars:
        return "out", None
    if stars == 0:
        if bare in enums and bare not in SCALARS:
            return "enum", bare
        if bare in SCALARS:
            return SCALARS[bare], None
    if bare == "flam_tensor":
        return ("tensor" if stars == 1 else "tensors"), None
    if bare == "char":
        return ("string" if stars == 1 else "strings"), None
    if bare in structs and structs[bare]["fields"]:
        return ("callback" if structs[bare]["callbacks"] else "options"), None
    if bare.startswith("flam_") and bare not in SCALARS:
        return "handle", None
    if bare == "void" or type_name.startswith("void"):
        return "pointer", None
    if bare in LISTS or bare in SCALARS:
        return "pointer", None
    return "unknown", None


class Reader:
    def __init__(self, include: pathlib.Path):
        self.include = include
        self.enums: list[dict] = []
        self.structs: dict[str, dict] = {}
        self.handles: dict[str, dict] = {}
        self.functions: list[Function] = []
        self.faults: list[str] = []

    def read(self) -> Api:
        folder = self.include / "flambeau"
        names = sorted(p.name for p in folder.glob("*.h") if p.name not in GENERATED and p.name != "common.h")
        for name in ["common.h", *names]:
            self._header(folder / name)
        if self.faults:
            raise HeaderError("\n".join(self.faults))
        text = (folder / "common.h").read_text()
        version = ".".join(re.search(rf"FLAM_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))
        functions = [g for f in self.functions for g in (f, *derived_forms(f))]
        return Api(version, self.enums, list(self.structs.values()), list(self.handles.values()), functions)

    def _fault(self, path: pathlib.Path, line: int, text: str) -> None:
        self.faults.append(f"{path.relative_to(self.include.parent)}:{line}: {text}")

    def _header(self, path: pathlib.Path) -> None:
        source = path.read_text()
        opening = source.split("*/")[0]
        match = re.search(r"\* namespace: (\w+)", opening)
        namespace = match[1] if match else None
        if namespace not in ("ops", "capi") and path.name != "common.h":
            self._fault(path, 1, "the opening comment lacks a line ` * namespace: ops` or ` * namespace: capi`")
        unit = clang.Index.create().parse(
            str(path), args=["-x", "c", "-std=c99", f"-I{self.include}", f"-I{_builtin_headers()}", "-DFLAM_GENERATE"])
        for d in unit.diagnostics:
            if d.severity >= clang.Diagnostic.Error:
                self._fault(path, d.location.line, d.spelling)
        cursors = [c for c in unit.cursor.get_children()
                   if c.location.file and pathlib.Path(c.location.file.name).resolve() == path.resolve()]
        for c in cursors:
            if c.kind == clang.CursorKind.TYPEDEF_DECL:
                self._typedef(c, cursors)
        for c in cursors:
            if c.kind == clang.CursorKind.FUNCTION_DECL:
                self._function(c, path, namespace)

    def _typedef(self, c, cursors) -> None:
        doc = docs.parse(c.raw_comment)["text"]
        underlying = c.underlying_typedef_type
        if underlying.get_canonical().kind == clang.TypeKind.RECORD:
            record = underlying.get_declaration()
            fields = [f for f in record.get_children() if f.kind == clang.CursorKind.FIELD_DECL]
            if not fields:
                self.handles.setdefault(c.spelling, {"name": c.spelling, "doc": doc})
                return
            callbacks = any("(*)" in f.type.spelling for f in fields)
            self.handles.pop(c.spelling, None)
            self.structs[c.spelling] = {
                "name": c.spelling, "doc": doc, "callbacks": callbacks,
                "fields": [{"name": f.spelling, "type": f.type.spelling, "default": _annotations(f).get("default"),
                            "doc": docs.parse(f.raw_comment)["text"]} for f in fields]}
            return
        following = [e for e in cursors if e.kind == clang.CursorKind.ENUM_DECL and e.location.line > c.location.line]
        typedefs = [t for t in cursors if t.kind == clang.CursorKind.TYPEDEF_DECL and t.location.line > c.location.line]
        if following and (not typedefs or following[0].location.line < typedefs[0].location.line):
            values = [{"name": v.spelling, "value": v.enum_value, "doc": docs.parse(v.raw_comment)["text"]}
                      for v in following[0].get_children()]
            self.enums.append({"name": c.spelling, "doc": doc, "values": values})

    def _function(self, c, path, namespace) -> None:
        notes = _annotations(c)
        raw = [a for a in c.get_children() if a.kind == clang.CursorKind.PARM_DECL]
        enums = {e["name"] for e in self.enums}
        params, keyword = [], False
        for i, p in enumerate(raw):
            marks = _annotations(p)
            type_name = _spelling(p.type)
            kind, enum = _kind(type_name, p.spelling, enums, self.structs)
            counted = i + 1 < len(raw) and raw[i + 1].spelling == f"n_{p.spelling}"
            if counted and kind == "pointer":
                kind = LISTS.get(pointee(type_name), "pointer")
            count_of = p.spelling[2:] if p.spelling.startswith("n_") and i and raw[i - 1].spelling == p.spelling[2:] else None
            keyword = keyword or "keyword" in marks
            if kind == "unknown":
                self._fault(path, p.location.line, f"{c.spelling}: parameter `{p.spelling}` has the unknown type {type_name}")
            params.append(Param(p.spelling, type_name, kind, enum, "nullable" in marks, marks.get("default"),
                                "variadic" in marks, keyword, "consumes" in marks,
                                kind in ("tensor", "handle") and not type_name.startswith("const"), count_of))
        f = Function(c.spelling, path.name, namespace, notes.get("since"), "blocks" in notes, notes.get("borrowed"),
                     resolve_torch(c.spelling.removeprefix("flam_"), notes.get("torch", "")), None, None,
                     docs.parse(c.raw_comment), self._result(c, notes), params,
                     "inplace" in notes, "out" in notes, c.location.line)
        for fault in docs.lint(f):
            self._fault(path, f.line, fault)
        self.functions.append(f)

    def _result(self, c, notes) -> dict:
        type_name = _spelling(c.result_type)
        bare = pointee(type_name)
        if type_name == "flam_status":
            kind = "status"
        elif type_name == "void":
            kind = "void"
        elif bare == "char":
            kind = "string"
        elif "*" in type_name:
            kind = "borrowed" if "borrowed" in notes else "handle"
        else:
            kind = "value"
        return {"kind": kind, "type": type_name}


def _spelling(c_type) -> str:
    """A type as the project writes it: `const flam_tensor *`, `flam_tensor **`."""
    if "(*)" in c_type.spelling:
        return c_type.spelling
    return re.sub(r"\s*\*", " *", c_type.spelling).replace("* *", "**")


def _builtin_headers() -> str:
    """Where <stddef.h> and <stdint.h> can be had without a compiler's driver: the wheel ships none."""
    for folder in sorted(pathlib.Path("/usr/lib/gcc").glob("*/*/include")):
        return str(folder)
    return "/usr/include"


def read(include: pathlib.Path) -> Api:
    try:
        return Reader(include).read()
    except clang.LibclangError as e:
        sys.exit(f"libclang cannot be loaded: {e}\n  install it: pip install libclang==18.1.1")
