"""The headers, read by libclang: the one parser of the project."""

from __future__ import annotations

import functools
import pathlib
import re
import sys

import clang.cindex as clang
import docs
import forms
import lint
from model import (
    LISTS,
    RESERVED,
    SCALARS,
    Api,
    Function,
    Param,
    flattened,
    pointee,
    resolve_autocast,
    resolve_torch,
)

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


def _kind(
    type_name: str, name: str, enums: set[str], structs: dict[str, dict]
) -> tuple[str, str | None]:
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


@functools.cache
def _source(path: str) -> bytes:
    return pathlib.Path(path).read_bytes()


def _comment(entry) -> str:
    """What is said about a field or an enumerator: a doc comment, one behind it on its line, or one
    on lines of its own before it.
    """
    if entry.raw_comment:
        return docs.parse(entry.raw_comment)["text"]
    text = _source(entry.location.file.name)
    behind = re.match(
        rb"[^\n/]*?[;,]?[ \t]*/\*(.*?)\*/", text[entry.extent.end.offset :], re.DOTALL
    )
    before = re.search(
        rb"\n[ \t]*/\*((?:(?!\*/).)*)\*/\s*$", text[: entry.extent.start.offset], re.DOTALL
    )
    found = behind or before
    lines = found[1].decode().splitlines() if found else []
    return " ".join(" ".join(line.strip().removeprefix("*").split()) for line in lines).strip()


class Reader:
    def __init__(self, include: pathlib.Path):
        self.include = include
        self.enums: list[dict] = []
        self.structs: dict[str, dict] = {}
        self.handles: dict[str, dict] = {}
        self.fields: dict[str, list] = {}  # cursors of each struct's fields
        self.scalars: dict[str, str] = {}
        self.functions: list[Function] = []
        self.places: dict[str, tuple[pathlib.Path, int]] = {}  # of types
        self.faults: list[tuple[tuple[str, int], str]] = []

    def read(self) -> Api:
        folder = self.include / "flambeau"
        names = sorted(
            p.name for p in folder.glob("*.h") if p.name not in GENERATED and p.name != "common.h"
        )
        text = (folder / "common.h").read_text()
        self.version = ".".join(
            re.search(rf"FLAM_VERSION_{part} (\d+)", text)[1]
            for part in ("MAJOR", "MINOR", "PATCH")
        )
        paths = [folder / name for name in ["common.h", *names]]
        declared = self._parse(paths)
        openings = {p.name: p.read_text().split("*/")[0].removeprefix("/*") for p in paths}
        parsed = [(p, self._namespace(p, openings[p.name]), declared[str(p)]) for p in paths]
        self._raise_faults()  # C that does not compile: further faults would only follow from it
        for _, _, cursors in parsed:
            for c in cursors:
                if c.kind == clang.CursorKind.TYPEDEF_DECL:
                    self._typedef(c, cursors)
        for s in self.structs.values():
            s["params"] = self._options(s["name"]) if _holds_options(s) else []
        for path, namespace, cursors in parsed:
            for c in cursors:
                if c.kind == clang.CursorKind.FUNCTION_DECL:
                    self._function(c, path, namespace)
        functions = [g for f in self.functions for g in (f, *forms.of(f))]
        forms.link(functions)
        self._whole(folder, functions)
        self._raise_faults()
        return Api(
            self.version,
            self.enums,
            list(self.structs.values()),
            list(self.handles.values()),
            functions,
            self.scalars,
            {name: _prose(opening) for name, opening in openings.items()},
        )

    def _raise_faults(self) -> None:
        if self.faults:
            raise HeaderError("\n".join(text for _, text in sorted(set(self.faults))))

    def _whole(self, folder: pathlib.Path, functions: list[Function]) -> None:
        """Rules over all headers together."""
        seen: dict[str, Function] = {}
        for f in functions:
            first = seen.setdefault(f.name, f)
            if first is not f:
                form = f" as the {f.form} form of {f.base}" if f.form else ""
                self._fault(
                    folder / f.header,
                    f.line,
                    f"{f.name}: declared{form}, and also in {first.header}:{first.line}",
                )
        for f in functions:
            for text in lint.switch(f, seen):
                self._fault(folder / f.header, f.line, f"{f.name}: {text}")
            handle = pointee(f.result["type"])
            if (
                f.result["kind"] == "handle"
                and handle in self.handles
                and f"{handle}_release" not in seen
            ):
                self._fault(
                    folder / f.header,
                    f.line,
                    f"{f.name}: returns a {handle} *, and there is no {handle}_release",
                )
        enum_of = {e["name"]: e for e in self.enums}
        for s in self.structs.values():
            for text in lint.struct(s, enum_of, {f.options for f in functions}):
                self._fault(*self.places[s["name"]], f"{s['name']}: {text}")
        for e in self.enums:
            for text in lint.enum(e):
                self._fault(*self.places[e["name"]], f"{e['name']}: {text}")

    def _fault(self, path: pathlib.Path, line: int, text: str) -> None:
        name = str(path.relative_to(self.include.parent))
        self.faults.append(((name, line), f"{name}:{line}: {text}"))

    def _namespace(self, path: pathlib.Path, opening: str) -> str | None:
        match = re.search(r"\* namespace: (\w+)", opening)
        namespace = match[1] if match else None
        if namespace not in ("ops", "capi") and path.name != "common.h":
            self._fault(
                path,
                1,
                "the opening comment lacks a line ` * namespace: ops` or ` * namespace: capi`",
            )
        return namespace

    def _parse(self, paths: list[pathlib.Path]) -> dict[str, list]:
        """What each header declares itself. They are parsed together, once: that each stands alone
        is what tests/headers sees to."""
        all_of_them = "".join(f'#include "{path}"\n' for path in paths)
        unit = clang.Index.create().parse(
            "all.h",
            args=[
                "-x",
                "c",
                "-std=c99",
                f"-I{self.include}",
                f"-I{builtin_headers()}",
                "-DFLAM_GENERATE",
            ],
            unsaved_files=[("all.h", all_of_them)],
        )
        for d in unit.diagnostics:
            if d.severity >= clang.Diagnostic.Error:
                place = pathlib.Path(d.location.file.name) if d.location.file else paths[0]
                self._fault(
                    place if place.is_relative_to(self.include) else paths[0],
                    d.location.line,
                    d.spelling,
                )
        declared: dict[str, list] = {str(path): [] for path in paths}
        for c in unit.cursor.get_children():
            if c.location.file and c.location.file.name in declared:
                declared[c.location.file.name].append(c)
        return declared

    def _typedef(self, c, cursors) -> None:
        self.places[c.spelling] = (pathlib.Path(c.location.file.name), c.location.line)
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
            self.fields[c.spelling] = fields
            self.structs[c.spelling] = {
                "name": c.spelling,
                "header": pathlib.Path(c.location.file.name).name,
                "doc": doc,
                "callbacks": callbacks,
                "layout": _layout(underlying, fields),
                "fields": [
                    {
                        "name": f.spelling,
                        "type": f.type.spelling,
                        "default": _annotations(f).get("default"),
                        "doc": _comment(f),
                    }
                    for f in fields
                ],
            }
            return
        self.scalars[c.spelling] = _spelling(underlying)
        following = [
            e
            for e in cursors
            if e.kind == clang.CursorKind.ENUM_DECL and e.location.line > c.location.line
        ]
        typedefs = [
            t
            for t in cursors
            if t.kind == clang.CursorKind.TYPEDEF_DECL and t.location.line > c.location.line
        ]
        if following and (not typedefs or following[0].location.line < typedefs[0].location.line):
            values = [
                {
                    "name": v.spelling,
                    "value": v.enum_value,
                    "doc": _comment(v),
                }
                for v in following[0].get_children()
            ]
            self.enums.append(
                {
                    "name": c.spelling,
                    "header": pathlib.Path(c.location.file.name).name,
                    "doc": doc,
                    "values": values,
                }
            )

    def _function(self, c, path, namespace) -> None:
        notes = _annotations(c)
        extended = next((f for f in self.functions if f.name == notes.get("extends")), None)
        c_params = self._params(
            [a for a in c.get_children() if a.kind == clang.CursorKind.PARM_DECL]
        )
        doc = docs.parse(c.raw_comment)
        options = self._options_of(c_params)
        params = c_params
        if options:
            params = flattened(c_params, self.structs[options]["params"])
        f = Function(
            c.spelling,
            path.name,
            namespace,
            notes.get("since"),
            "blocks" in notes,
            notes.get("borrowed"),
            resolve_torch(c.spelling.removeprefix("flam_"), notes.get("torch", "")),
            None,
            None,
            doc,
            self._result(c, notes, params),
            params,
            c_params,
            "inplace" in notes,
            {"": "cast", "exact": "exact"}.get(notes.get("out")),
            False,
            c.location.line,
            resolve_autocast(notes.get("autocast", "")),
            options,
            notes.get("extends"),
            layer=notes.get("layer"),
            view="view" in notes,
        )
        if extended:
            f.torch, f.autocast = extended.torch, extended.autocast
        if not any(a.kind == clang.CursorKind.VISIBILITY_ATTR for a in c.get_children()):
            self._fault(path, f.line, f"{f.name}: not marked FLAM_API, so that it is not exported")
        if c.type.kind == clang.TypeKind.FUNCTIONNOPROTO:
            self._fault(path, f.line, f"{f.name}: `()` is no prototype in C; write (void)")
        elif c.type.is_function_variadic():
            self._fault(path, f.line, f"{f.name}: no variable arguments; bindings cannot pass them")
        enum_of = {e["name"]: e for e in self.enums}
        for fault in (
            *docs.lint(f),
            *lint.function(f, notes, self.version, enum_of, set(self.handles)),
            *lint.extension(f, extended, notes),
        ):
            self._fault(path, f.line, f"{f.name}: {fault}")
        if options:
            told = {s["name"]: " ".join(s["doc"].split()) for s in self.structs[options]["fields"]}
            for p in (p for p in params if p.option and not p.count_of):
                doc["params"].setdefault(p.name, told[p.name])
        self.functions.append(f)

    def _options_of(self, c_params: list[Param]) -> str | None:
        """The struct that a function's last parameter says its options are in."""
        if not c_params or c_params[-1].kind != "options":
            return None
        struct = self.structs[pointee(c_params[-1].type)]
        if not struct["params"]:
            return None
        c_params[-1].nullable, c_params[-1].default = True, "NULL"
        return struct["name"]

    def _options(self, name: str) -> list[Param]:
        """The fields of a struct of options; a pointer may be NULL where that is its default."""
        params = [p for p in self._params(self.fields[name])[1:] if p.name != RESERVED]
        for p in params:
            p.nullable = p.default == "NULL"
        return params

    def _params(self, raw) -> list[Param]:
        """Parameters of a function, or fields of a struct, as they stand in C."""
        enums = {e["name"] for e in self.enums}
        params, keyword = [], False
        for i, p in enumerate(raw):
            marks = _annotations(p)
            type_name = _spelling(p.type)
            kind, enum = _kind(type_name, p.spelling, enums, self.structs)
            counted = i + 1 < len(raw) and raw[i + 1].spelling == f"n_{p.spelling}"
            if counted and kind == "pointer":
                kind = LISTS.get(pointee(type_name), "pointer")
            count_of = (
                p.spelling[2:]
                if p.spelling.startswith("n_") and i and raw[i - 1].spelling == p.spelling[2:]
                else None
            )
            keyword = keyword or "keyword" in marks
            params.append(
                Param(
                    p.spelling,
                    type_name,
                    kind,
                    enum,
                    "nullable" in marks,
                    marks.get("default"),
                    "variadic" in marks,
                    keyword,
                    "consumes" in marks,
                    kind in ("tensor", "handle") and not type_name.startswith("const"),
                    count_of,
                    null_entries="nullable_entries" in marks,
                    may_be_empty="empty" in marks,
                    after=marks.get("after"),
                    number=marks.get("number"),
                    or_number="or_number" in marks,
                    marks=tuple(marks),
                )
            )
        return params

    def _result(self, c, notes, params: list[Param]) -> dict:
        type_name = _spelling(c.result_type)
        bare = pointee(type_name)
        if type_name == "flam_status":
            kind = "value" if "value" in notes else "status"
        elif type_name == "void":
            kind = "void"
        elif bare == "char":
            kind = "string"
        elif owner := [
            p for p in params if p.name == notes.get("borrowed") and _same(p, type_name)
        ]:
            nullable = "nullable" in notes
            return dict(kind="handle", type=type_name, nullable=nullable, operand=owner[0].name)
        elif "*" in type_name:
            kind = "borrowed" if "borrowed" in notes else "handle"
        else:
            kind = "value"
        return {"kind": kind, "type": type_name, "nullable": "nullable" in notes}


def _same(p: Param, result: str) -> bool:
    """Whether a result of that type can be the parameter's own handle."""
    return p.kind in ("tensor", "handle") and pointee(p.type) == pointee(result)


def _holds_options(struct: dict) -> bool:
    """Whether it is a function's options: every field but the size has a default."""
    return struct["name"].endswith("_options") and not struct["callbacks"]


def _spelling(c_type) -> str:
    """A type as the project writes it: `const flam_tensor *`, `flam_tensor **`."""
    if "(*)" in c_type.spelling:
        return c_type.spelling
    return re.sub(r"\s*\*", " *", c_type.spelling).replace("* *", "**")


def _layout(record, fields) -> dict:
    """Where a 64-bit compiler puts the fields: what bindings in other languages have to match."""
    return {
        "size": record.get_size(),
        "end": record.get_offset(fields[-1].spelling) // 8 + fields[-1].type.get_size(),
        "sizes": {f.spelling: f.type.get_size() for f in fields},
        "align": record.get_align(),
        "offsets": {f.spelling: record.get_offset(f.spelling) // 8 for f in fields},
    }


def _prose(opening: str) -> str:
    """The header's opening comment, without the line that the generator reads."""
    lines = [re.sub(r"^ \*? ?", "", line).strip() for line in opening.split("\n")]
    return "\n".join(line for line in lines if not line.startswith("namespace:")).strip()


def builtin_headers() -> str:
    """Where <stddef.h> and <stdint.h> are; the wheel of libclang ships none."""
    found = [
        p
        for pattern in ("gcc/*/*/include", "clang/*/include", "llvm-*/lib/clang/*/include")
        for p in sorted(pathlib.Path("/usr/lib").glob(pattern))
        if (p / "stddef.h").exists()
    ]
    return str(found[0]) if found else "/usr/include"


def read(include: pathlib.Path) -> Api:
    try:
        return Reader(include).read()
    except clang.LibclangError as e:
        sys.exit(f"libclang cannot be loaded: {e}\n  install it: pip install libclang==18.1.1")
