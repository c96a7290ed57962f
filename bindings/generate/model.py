"""What the headers say, as data: classes, and the kinds a type falls into."""

from __future__ import annotations

import dataclasses
import functools
import re

SCALARS = {
    "flam_bool": "bool",
    "flam_dtype": "dtype",
    "flam_device": "device",
    "double": "double",
    "float": "double",
    "int32_t": "int",
    "int64_t": "int",
    "uint32_t": "int",
    "uint64_t": "int",
    "uint8_t": "int",
    "size_t": "size",
    "flam_scope": "int",
}
LISTS = {
    "int64_t": "ints",
    "double": "doubles",
    "int32_t": "ints",
    "flam_dtype": "ints",
    "uint8_t": "bytes",
}


RESERVED = "reserved"  # the field that fills a struct to its end; 0, and no option


@dataclasses.dataclass
class Param:
    name: str
    type: str
    kind: str
    enum: str | None = None
    nullable: bool = False
    default: str | None = None
    variadic: bool = False
    keyword: bool = False
    consumes: bool = False
    mutable: bool = False
    count_of: str | None = None  # this is the length of that list
    option: bool = False  # a field of the function's options struct
    after: str | None = None  # bindings take it behind this option
    null_entries: bool = False  # of a list: NULL entries are values
    may_be_empty: bool = False  # of an option's list: no entries mean something of their own
    number: str | None = None  # of a tensor: kinds of bare number that stand for it, "f64 i64"
    wrapped: bool = False  # such a number, which the target takes as a tensor
    or_number: bool = False  # of a tensor: bindings take a plain number in its place
    marks: tuple[str, ...] = ()  # its annotations, for the lint


@dataclasses.dataclass
class Function:
    name: str
    header: str
    namespace: str
    since: str | None
    blocks: bool
    borrowed: str | None
    torch: list[str]
    form: str | None  # of those in forms.py
    base: str | None
    doc: dict
    # kind: handle, status, value, string, borrowed, void; type; nullable; of a handle `operand`
    # where it is that operand's own handle, without a count of its own
    result: dict
    params: list[Param]  # as bindings and targets take them: operands, every option, outputs
    c_params: list[Param]  # as C takes them: operands, outputs, the struct of options
    inplace: bool = False
    out: str | None = None  # how a result enters an `out`: cast, or exact
    exact: bool = False  # of a form with `out`: whether that has the result's dtype
    line: int = 0
    autocast: dict[str, str] = dataclasses.field(default_factory=dict)  # rule by device type
    options: str | None = None  # the struct that holds its options
    extends: str | None = None  # the function of the same operation that lacks its last parameters
    target: str = ""  # what the shim calls, without its namespace
    whole: list[Param] | None = None  # the target's parameters, where they are more than its own
    layer: str | None = None  # how the module prints that holds its options
    view: bool = False  # the result may be a view of the first tensor, or list

    @property
    def op(self) -> str:
        return self.name.removeprefix("flam_")

    def is_options(self, p: Param) -> bool:
        return self.options is not None and p is self.c_params[-1]

    @property
    def raises(self) -> bool:
        return self.result["kind"] in ("handle", "status")


@dataclasses.dataclass
class Api:
    version: str
    enums: list[dict]
    structs: list[dict]
    handles: list[dict]
    functions: list[Function]
    scalars: dict[str, str] = dataclasses.field(default_factory=dict)  # typedefs of C's numbers
    openings: dict[str, str] = dataclasses.field(default_factory=dict)  # what each header is about

    @functools.cached_property
    def raw(self) -> dict:
        """The same as dictionaries and lists."""
        data = dataclasses.asdict(self)
        for f in data["functions"]:
            del f["line"], f["inplace"], f["out"], f["exact"], f["whole"], f["doc"]["faults"]
            if not f["autocast"]:
                del f["autocast"]
            for p in f["params"] + f["c_params"]:
                del p["marks"]
        for s in data["structs"]:
            del s["params"]
        return data


def flattened(c_params: list[Param], fields: list[Param]) -> list[Param]:
    """Operands, then the fields of the struct of options in its place, then outputs. An operand
    marked FLAM_AFTER(option) stands behind that option, and what is keyword-only stays so."""
    *operands, options = c_params
    moved = {p.name for p in operands if p.after}
    plain = [p for p in operands if p.kind != "out"]
    params = [dataclasses.replace(p) for p in plain if not moved & {p.name, p.count_of}]
    params += [
        dataclasses.replace(p, option=True, keyword=options.keyword or p.keyword) for p in fields
    ]
    for p in (p for p in plain if moved & {p.name, p.count_of}):
        place = p.after or p.count_of
        before = [i for i, q in enumerate(params) if place in (q.name, q.count_of, q.after)]
        params.insert(max(before, default=len(params)) + 1, dataclasses.replace(p))
    for before, behind in zip(params, params[1:]):
        behind.keyword = behind.keyword or before.keyword
    return params + [dataclasses.replace(p) for p in operands if p.kind == "out"]


def pointee(type_name: str) -> str:
    return re.sub(r"\bconst\b|\*", "", type_name).strip()


def resolve_torch(op: str, words: str) -> list[str]:
    """`torch Tensor F torch.max` -> full spellings."""
    places = {"torch": f"torch.{op}", "Tensor": f"Tensor.{op}", "F": f"F.{op}"}
    return [places.get(w, w) for w in words.split()]


def resolve_autocast(words: str) -> dict[str, str]:
    """`lower` -> the rule on all devices; `cuda=f32` -> on that kind of device."""
    rules = [word.rpartition("=") for word in words.split()]
    return {
        device: rule
        for named, _, rule in rules
        for device in ([named] if named else ["cpu", "cuda"])
    }
