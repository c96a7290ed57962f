"""The ledger as signatures that ctypes can call: what each parameter is, and the layout of structs.

A parameter's family is read off its C type and the rule that `n_x` counts `x`, so that a function
that takes its options in a struct tomorrow needs no word here.
"""

from __future__ import annotations

import ctypes
import pathlib
import re
import sys
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

import ledger  # noqa: E402

NUMBERS = {
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "size_t": ctypes.c_size_t,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "uint32_t": ctypes.c_uint32,
    "int32_t": ctypes.c_int32,
    "uint8_t": ctypes.c_uint8,
    "flam_scope": ctypes.c_uint64,
    "flam_bool": ctypes.c_int32,
    "flam_status": ctypes.c_int32,
    "flam_device": ctypes.c_int32,
}


@dataclass
class Slot:
    """A parameter of a function or a field of a struct."""

    name: str
    type: str
    bare: str  # the type without const and stars
    family: str  # number, enum, text, tensor, handle, list, optional, struct, out, function, memory
    nullable: bool = False
    default: str | None = None
    consumes: bool = False
    const: bool = False


@dataclass
class Signature:
    name: str
    header: str
    result: dict
    slots: list[Slot]
    base: str = ""  # the function whose form this is, else itself
    errors: tuple[str, ...] = ()  # the codes that its documentation names

    @property
    def releases(self) -> bool:
        return self.name.endswith("_release")


@dataclass
class Struct:
    name: str
    slots: list[Slot]
    layout: type[ctypes.Structure]
    callbacks: bool


@dataclass
class Record:
    functions: dict[str, Signature]
    structs: dict[str, Struct]
    enums: dict[str, dict[str, int]]
    handles: list[str]
    constants: dict[str, int] = field(default_factory=dict)
    codes: dict[int, str] = field(default_factory=dict)


def family(name: str, c_type: str, bare: str, counted: bool, raw: dict) -> str:
    stars = c_type.count("*")
    if "(*)" in c_type:
        return "function"
    if name.startswith("out_") and stars:
        return "out"
    if counted:
        return "list"
    if stars == 0:
        return "enum" if bare in raw["enums"] else "number"
    if stars > 1:
        return "memory"
    if bare == "char":
        return "text"
    if bare == "flam_tensor":
        return "tensor"
    if bare in raw["structs"]:
        return "struct"
    if bare in raw["handles"]:
        return "handle"
    return "memory" if bare == "void" else "optional"


def slots(entries: list[dict], raw: dict) -> list[Slot]:
    """Parameters or fields; a count is part of the list before it."""
    names = [e["name"] for e in entries]
    found = []
    for i, e in enumerate(entries):
        if i and e["name"] == f"n_{names[i - 1]}":
            continue
        bare = re.sub(r"\bconst\b|\*", "", e["type"]).strip()
        counted = i + 1 < len(names) and names[i + 1] == f"n_{e['name']}"
        kind = family(e["name"], e["type"], bare, counted, raw)
        marks = (e.get("nullable", False), e.get("default"), e.get("consumes", False))
        found.append(Slot(e["name"], e["type"], bare, kind, *marks, e["type"].startswith("const")))
    return found


def c_type(text: str) -> type:
    bare = re.sub(r"\bconst\b", "", text).strip()
    return ctypes.c_void_p if "*" in bare else NUMBERS.get(bare, ctypes.c_int32)


def prototype(text: str) -> tuple[str, str, list[dict]]:
    """The result's type, the name and the parameters of a declaration in C."""
    result, name, listed = re.fullmatch(r"(.*?)\b(flam_\w+)\((.*)\)", text, re.DOTALL).groups()
    params = []
    for part in re.split(r",(?![^()]*\))", listed):
        pointer = re.search(r"\(\*(\w+)\)", part)
        word = pointer[1] if pointer else part.split()[-1].lstrip("*")
        kind = part.replace(pointer[0], "(*)") if pointer else part.strip()[: -len(word)]
        if part.strip() != "void":
            params.append({"name": word, "type": " ".join(kind.split())})
    return " ".join(result.split()), name, params


def signature(text: str, row: dict, raw: dict) -> Signature:
    """`row` is the ledger's of the function, or of the one whose form this is."""
    result, name, params = prototype(text)
    told = {p["name"]: p for p in ledger.parameters(row)}
    for p in params:
        known = told.get(p["name"], {})
        p |= {"nullable": known.get("optional", False), "default": known.get("default")}
        p["consumes"] = known.get("role") == "consumed"
        p["nullable"] |= "options_type" in row and p["name"] == "options"
    returns = row["returns"]
    nullable = returns.get("nullable", returns.get("optional", False))
    told = {**returns, "type": result, "nullable": nullable}
    base, errors = row.get("function", name), tuple(row.get("errors", ()))
    return Signature(name, row["header"], told, slots(params, raw), base, errors)


def forms(rows: dict[str, dict]) -> list[tuple[str, dict]]:
    """The declarations of derived forms, each with the row of its function."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "include/flambeau/derived.h").read_text(), flags=re.S)
    found = []
    for d in re.findall(r"\bFLAM_API\b(.*?\));", text, re.S):
        d = re.sub(r"\bFLAM_[A-Z_]+(\([^()]*\))?", "", d).strip()  # annotations
        name = re.search(r"\b(flam_\w+)\(", d)[1]
        plain = re.sub(r"_[fi]64(?=_?$)", "", name)
        found.append(
            (d, rows.get(plain) or rows.get(re.sub(r"_(out)?$", "", plain)) or ownership(d))
        )
    return found


def ownership(declared: str) -> dict:
    """The row of `flam_x_retain` or `flam_x_keep`, which the ledger leaves to the handle's."""
    kind = "handle" if "*" in declared.split("(")[0] else "void"
    return {"header": "derived.h", "operands": [], "options": [], "returns": {"kind": kind}}


def read() -> Record:
    rows = ledger.functions()
    raw = {f"{kind}s": ledger.rows(kind) for kind in ("enum", "struct", "handle")}
    structs = {}
    for name, s in raw["structs"].items():
        fields = [(f["name"], c_type(f["type"])) for f in s["fields"]]
        layout = type(name, (ctypes.Structure,), {"_fields_": fields})
        structs[name] = Struct(name, slots(s["fields"], raw), layout, "user" in dict(fields))
    declared = [(row["c"], row) for row in rows.values()] + forms(rows)
    functions = {f.name: f for f in (signature(text, row, raw) for text, row in declared)}
    enums = {name: e["values"] for name, e in raw["enums"].items() if name != "flam_status"}
    constants = {name: value for e in enums.values() for name, value in e.items()}
    codes = {value: name for name, value in raw["enums"]["flam_status"]["values"].items()}
    return Record(functions, structs, enums, list(raw["handles"]), constants, codes)
