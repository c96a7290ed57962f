"""What the dialect asks of a declaration beyond what a compiler checks. Every rule yields a text
that says what is wrong and how to write it; headers.py puts file, line and function before it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from model import LISTS, RESERVED, SCALARS, Function, Param, pointee

_KEYWORDS = set(
    """alignas alignof and asm auto bitand bitor bool break case catch char class compl concept
    const constexpr continue decltype default delete do double else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not
    nullptr operator or private protected public register requires restrict return short
    signed sizeof static struct switch template this throw true try typedef typeid typename
    union unsigned using virtual void volatile while xor""".split()
)
_RESERVED = {"flam_library_load": "the entry of load.h", "flam_api": "the table of load.h"}
_NOTES = set(
    "since blocks borrowed torch inplace out layer nullable autocast extends value view".split()
)
_RULE = re.compile(r"((cpu|cuda)=)?(lower|f32|widest|rest|banned)")
_MARKS = set(
    "nullable nullable_entries default variadic keyword consumes encoded after number "
    "or_number empty".split()
)
_MOST = 8  # arguments of a function
# What is an option where it has a default: no operand, and not the dtype and device of `to`.
_OPTIONAL = set("bool int size double enum string ints doubles pointer handle".split())
_VIEWED = {"tensor", "tensors"}
_VALUES = set(SCALARS) - {"float"}
_SPELLING = re.compile(r"(torch|Tensor|F)(\.\w+)*")
_NUMBER = re.compile(r"-?(\d+\.?\d*(e-?\d+)?|INFINITY)")


def function(
    f: Function, notes: dict[str, str], version: str, enums: dict[str, dict], handles: set[str]
) -> Iterator[str]:
    yield from _name(f)
    for key in sorted(set(notes) - _NOTES):
        yield f'the annotation "{key}" means nothing on a function; the macros are in common.h'
    yield from _since(f, version)
    yield from _result(f, enums, handles)
    yield from _torch(f, notes.get("torch"))
    yield from _autocast(f, notes.get("autocast"))
    yield from _forms(f)
    yield from _layer(f)
    if f.view and (f.namespace != "ops" or not any(p.kind in _VIEWED for p in f.params)):
        yield "FLAM_VIEW is for operations (namespace: ops) that take a tensor, or a list"
    yield from _arguments(f)
    names = {p.name for p in f.c_params}
    if "drop" in names and not names & {"user", "payload"}:
        yield "`drop` drops a parameter `user` or `payload`, and there is none"
    for i, p in enumerate(f.c_params):
        for text in _parameter(f, i, p, enums):
            yield f"parameter `{p.name}`: {text}"


def _arguments(f: Function) -> Iterator[str]:
    """Two options are a struct, which comes last; what is left fits on a line."""
    if len(f.c_params) > _MOST and "lstm" not in f.name:
        yield (
            f"takes {len(f.c_params)} arguments, and {_MOST} are the most: what has a default goes "
            "into `const flam_<x>_options *options`"
        )
    held = [p for p in f.c_params if p.kind == "options"]
    if held and (held != f.c_params[-1:] or held[0].name != "options" or not f.options):
        yield "options are one parameter, the last: `const flam_<x>_options *options`"
    loose = [
        p.name
        for p in f.c_params
        if p.default is not None
        and p.kind in _OPTIONAL
        and (p.kind != "pointer" or p.name != "user")
    ]
    target = any(p.default is not None and p.kind in ("dtype", "device") for p in f.c_params)
    if len(loose) > (0 if held or target else 1):
        yield (
            f"the options {', '.join(loose)} stand in a struct, `const flam_<x>_options *options`, "
            "after everything else"
        )
    for p in f.c_params:
        if p.after and p.after not in {q.name for q in f.params if f.options}:
            yield f"parameter `{p.name}`: FLAM_AFTER({p.after}) names no other parameter"
    for before, behind in zip(f.c_params, f.c_params[1:]):
        if (before.name, behind.name) == ("device", "dtype"):
            yield "`dtype` stands before `device`, as everywhere"


def switch(f: Function, functions: dict[str, Function]) -> Iterator[str]:
    """What is on or off, of a thread or of all: flam_set_x_enabled(bool), flam_x_enabled()."""
    *where, last = f.params or [None]
    value = last and last.kind == "bool" and all(p.kind == "enum" for p in where)
    if not value or f.namespace != "capi" or f.result["kind"] not in ("void", "status"):
        return
    m = re.fullmatch(r"flam_set_(\w+)_enabled", f.name)
    if not m:
        yield "a switch is called flam_set_<x>_enabled"
        return
    read = functions.get(f"flam_{m[1]}_enabled")
    kinds = [p.type for p in where]
    if not read or read.result["type"] != "flam_bool" or [p.type for p in read.params] != kinds:
        yield f"a switch can be read: `flam_bool flam_{m[1]}_enabled({', '.join(kinds) or 'void'})`"


def _name(f: Function) -> Iterator[str]:
    if not re.fullmatch(r"flam_[a-z][a-z0-9_]*", f.name):
        yield "names are flam_ and lower case"
    if f.op in _KEYWORDS:
        yield f"`{f.op}` is a keyword of C or C++ and cannot be a member of load.h's table"
    if f.name in _RESERVED:
        yield f"this name is {_RESERVED[f.name]}"


def _since(f: Function, version: str) -> Iterator[str]:
    if not f.since:
        return  # as old as the first stable version
    if not re.fullmatch(r"\d+\.\d+", f.since):
        yield f"FLAM_SINCE({f.since}): write FLAM_SINCE(major, minor)"
    elif tuple(map(int, f.since.split("."))) > tuple(map(int, version.split(".")[:2])):
        yield f"FLAM_SINCE({f.since.replace('.', ', ')}) is after the headers' version {version}"


def _result(f: Function, enums: dict[str, dict], handles: set[str]) -> Iterator[str]:
    kind, type_name, bare = f.result["kind"], f.result["type"], pointee(f.result["type"])
    stars = type_name.count("*")
    if f.namespace == "ops" and f.name.endswith("_") and type_name == "flam_tensor *":
        first = f.params[0].name if f.params else ""
        if f.result.get("operand") != first:
            yield f"an in-place form gives its first operand back: FLAM_BORROWED({first})"
    if kind == "handle":
        if bare not in handles or stars != 1:
            yield (
                f"returns {type_name}, which is no handle: a borrowed pointer says whose it is: "
                "FLAM_BORROWED(owner)"
            )
        elif type_name.startswith("const"):
            yield f"an owned handle is not const: return {bare} *, or mark it FLAM_BORROWED(owner)"
    elif kind in ("string", "borrowed") or stars:
        names = {p.name for p in f.params}
        if not f.borrowed:
            yield (
                f"returns {type_name} and does not say how long it lives: "
                "FLAM_BORROWED(a parameter, thread or process)"
            )
        elif f.borrowed not in names | {"thread", "process", "owner"}:
            yield f"FLAM_BORROWED({f.borrowed}) names neither a parameter nor thread nor process"
    elif f.borrowed:
        yield f"FLAM_BORROWED on {type_name}, which is no pointer"
    elif kind == "value" and bare not in _VALUES and bare not in enums:
        yield (
            f"returns the unknown type {type_name}; results are handles, flam_status, or one of "
            + _listed(_VALUES)
        )
    if f.result["nullable"] and not stars:
        yield f"FLAM_NULLABLE on the result {type_name}, which is no pointer"
    if kind != "status" and any(p.kind == "out" for p in f.params):
        yield "out_ parameters belong to functions that return flam_status"


def _torch(f: Function, words: str | None) -> Iterator[str]:
    if words is None:
        return
    if not words.split():
        yield 'FLAM_TORCH("") names no spelling'
    for word in words.split():
        if not _SPELLING.fullmatch(word):
            yield (
                f"FLAM_TORCH: `{word}` is no spelling; write torch, Tensor, F, or a full one as in "
                "torch.special.expit, Tensor.max, F.gelu"
            )


def _autocast(f: Function, words: str | None) -> Iterator[str]:
    if words is None:
        return
    if f.namespace != "ops":
        yield "FLAM_AUTOCAST is for operations (namespace: ops)"
    named = [word.rpartition("=")[0] for word in words.split()]
    if not named or len(set(named)) < len(named) or ("" in named and len(named) > 1):
        yield f'FLAM_AUTOCAST("{words}"): write one rule, or one for each kind of device'
    for word in words.split():
        if not _RULE.fullmatch(word):
            yield (
                f"FLAM_AUTOCAST: `{word}` is no rule; write lower, f32, widest, rest or banned, or "
                "with a kind of device, as in cpu=lower cuda=f32"
            )


def _forms(f: Function) -> Iterator[str]:
    for marked, macro in ((f.inplace, "FLAM_INPLACE"), (f.out, "FLAM_OUT")):
        if not marked:
            continue
        if f.namespace != "ops" or f.result["type"] != "flam_tensor *":
            yield f"{macro} is for operations (namespace: ops) that return flam_tensor *"
        elif macro == "FLAM_INPLACE" and not (
            f.params and f.params[0].kind == "tensor" and not f.params[0].nullable
        ):
            yield "FLAM_INPLACE needs a tensor as first parameter, to write into"
        elif macro == "FLAM_OUT" and any(p.name == "out" for p in f.params):
            yield "FLAM_OUT adds a parameter `out`, and there is one already"


def extension(f: Function, plain: Function | None, notes: dict[str, str]) -> Iterator[str]:
    """FLAM_EXTENDS: the plain function's parameters, and behind them options of its operation."""
    if not f.extends:
        return
    if plain is None:
        yield f"FLAM_EXTENDS({f.extends}) names no function declared before it"
        return
    shared = [(p.name, p.type) for p in plain.params]
    more = f.params[len(shared) :]
    if [(p.name, p.type) for p in f.params[: len(shared)]] != shared or not more:
        yield f"FLAM_EXTENDS({f.extends}): its parameters come first, alike, and then some more"
        return
    for p in more:
        if p.default is None or p.kind not in ("double", "int", "bool", "enum"):
            yield (
                f"parameter `{p.name}`: FLAM_DEFAULT says which number makes it {f.extends}; "
                "bindings may omit it"
            )
    same = [(g.namespace, g.result, g.inplace, g.out) for g in (f, plain)]
    if same[0] != same[1]:
        yield f"result, FLAM_INPLACE and FLAM_OUT are those of {f.extends}"
    if set(notes) & {"torch", "autocast"}:
        yield f"FLAM_TORCH and FLAM_AUTOCAST stand before {f.extends}"


def _layer(f: Function) -> Iterator[str]:
    if f.layer is None:
        return
    first = next((p for p in f.params if p.kind == "out"), None)
    result = first.type if first else f.result["type"] + "*"
    if f.namespace != "ops" or result != "flam_tensor **":
        yield "FLAM_LAYER is for operations (namespace: ops) whose first result is a tensor"
    odd = [p.name for p in f.params if p.kind in ("tensors", "handle", "string", "strings")]
    if odd:
        yield f"FLAM_LAYER: a module cannot hold {_listed(odd)}"
    options = [p for p in f.params if p.option and not p.count_of]
    if len(options) > 2 and any(p.name == "training" for p in options):
        yield "FLAM_LAYER: `training` is the module's mode and cannot stand between other options"
    if not re.fullmatch(r"[A-Z]\w*\(.*\)", f.layer):
        yield f'FLAM_LAYER("{f.layer}"): write a class and what it shows, as in GLU([dim=])'
    names = {p.name for p in f.params}
    for name in re.findall(r"\w+", " ".join(re.findall(r"\[(.*?)\]", f.layer))):
        if name not in names | {"or"}:
            yield f"FLAM_LAYER: [{name}] names no parameter"


def _parameter(f: Function, i: int, p: Param, enums: dict[str, dict]) -> Iterator[str]:
    if not p.name:
        yield f"number {i + 1} has no name"
        return
    for key in sorted(set(p.marks) - _MARKS):
        yield f'the annotation "{key}" means nothing on a parameter; the macros are in common.h'
    yield from _type(f.c_params, i, p)
    pointer = "*" in p.type
    if p.nullable and not pointer:
        yield f"FLAM_NULLABLE on {p.type}, which is no pointer"
    if p.consumes and not pointer:
        yield f"FLAM_CONSUMES on {p.type}, which is no pointer"
    if p.number is not None:
        yield from _numbers(f, p)
    if p.or_number and (p.kind != "tensor" or p.mutable or f.namespace != "ops"):
        yield "FLAM_OR_NUMBER is for a tensor that an operation reads"
    elif p.or_number and not f.torch and not f.name.endswith("_"):
        yield "FLAM_OR_NUMBER is for operations that FLAM_TORCH names"
    if p.variadic and p.kind not in ("ints", "tensors"):
        yield "FLAM_VARIADIC is for lists of int64_t or of tensors, with their count behind them"
    if "encoded" in p.marks and f.namespace != "ops":
        yield "FLAM_ENCODED is for operations: errors of other functions do not write down the call"
    if p.default is not None:
        yield from _default(p, pointer, enums)


def _numbers(f: Function, p: Param) -> Iterator[str]:
    if p.number not in ("f64 i64", "f64", "i64"):
        yield f"FLAM_NUMBER({p.number}): write f64 i64, or one of them"
    if p.kind != "tensor" or p.mutable or f.namespace != "ops":
        yield "FLAM_NUMBER is for a tensor that an operation reads"
    if next(q.number for q in f.params if q.number) != p.number:
        yield "FLAM_NUMBER names the same kinds for all operands of a function"


def _type(params: list[Param], i: int, p: Param) -> Iterator[str]:
    bare, stars = pointee(p.type), p.type.count("*")
    counted = i + 1 < len(params) and params[i + 1].count_of == p.name
    if p.kind == "unknown":
        yield f"the type {p.type} is not of the dialect; bindings/generate/README.md has a table"
    elif p.type == "float":
        yield "numbers are double, not float"
    elif p.name.startswith("n_") and p.kind == "size" and not p.count_of:
        yield f"counts nothing: the list `{p.name[2:]}` must stand right before it"
    elif p.count_of and p.type != "size_t":
        yield f"a count is a size_t, not {p.type}"
    elif p.kind in ("tensors", "strings") and not counted:
        yield f"a list is followed by its count, `size_t n_{p.name}`"
    elif (
        p.kind == "pointer" and bare in set(LISTS) | _VALUES and stars == 1 and "(*)" not in p.type
    ):
        if not p.type.startswith("const"):
            yield f"results are written to parameters named out_*, as in `{bare} *out_{p.name}`"
        elif not p.nullable and not counted:
            yield (
                f"a list is followed by its count, `size_t n_{p.name}`; "
                "an optional number is FLAM_NULLABLE"
            )
    elif p.kind in ("tensor", "handle") and stars > 1:
        yield f"results are written through parameters named out_*, as in `{bare} **out_{p.name}`"
    elif p.kind == "options" and not p.type.startswith("const"):
        yield f"options are read only: const {bare} *"


def _default(p: Param, pointer: bool, enums: dict[str, dict]) -> Iterator[str]:
    value = p.default
    if p.kind in ("ints", "doubles") and _NUMBER.fullmatch(value):
        return  # a list of this one number
    if pointer:
        if value not in ("NULL", "0") and not (p.kind == "string" and value.startswith('"')):
            yield f"FLAM_DEFAULT({value}): the only default of {p.type} is NULL"
        elif value in ("NULL", "0") and not p.nullable:
            yield "FLAM_DEFAULT(NULL) on a parameter that is not FLAM_NULLABLE"
    elif p.kind == "bool":
        if value not in ("0", "1"):
            yield f"FLAM_DEFAULT({value}): a flam_bool is 0 or 1"
    elif p.kind in ("enum", "dtype"):
        names = [v["name"] for v in enums.get(p.enum or "flam_dtype", {"values": []})["values"]]
        if value not in names:
            yield f"FLAM_DEFAULT({value}): write an enumerator, one of {_listed(names)}"
    elif p.kind == "device":
        if value != "0":
            yield f"FLAM_DEFAULT({value}): the only default of a flam_device is 0, unspecified"
    elif not _NUMBER.fullmatch(value):
        yield f"FLAM_DEFAULT({value}) is no number"


def enum(e: dict) -> Iterator[str]:
    values = e["values"]
    seen: dict[int, str] = {}
    for v in values:
        if not v["name"].startswith("FLAM_"):
            yield f"the enumerator {v['name']} lacks the prefix FLAM_"
        if v["value"] in seen:
            yield f"{v['name']} has the number of {seen[v['value']]}; numbers are never reused"
        seen.setdefault(v["value"], v["name"])
    if 0 not in seen:
        yield "no enumerator is 0, which is the unspecified value or the default"
    if not e["doc"]:
        yield "no doc comment"


def struct(s: dict, enums: dict[str, dict], used: set[str | None]) -> Iterator[str]:
    first = s["fields"][0]
    if (first["type"], first["name"]) != ("size_t", "struct_size"):
        yield "the first field must be `size_t struct_size`: it lets the struct grow"
    if not s["doc"]:
        yield "no doc comment"
    if padding := s["layout"]["size"] - s["layout"]["end"]:
        yield (
            f"ends in {padding} bytes of padding, in which a later field could not be told from "
            f"garbage: end it with `int32_t {RESERVED}; /**< 0 */`"
        )
    names = {f["name"] for f in s["fields"]}
    if any(f["name"] == RESERVED and f["type"] != "int32_t" for f in s["fields"]):
        yield f"`{RESERVED}` is an int32_t"
    if s["callbacks"]:
        for name in ("user", "drop"):
            if name not in names:
                yield f"callbacks need a field `{name}`: the program's data and who drops it"
    elif s["params"]:
        if s["name"] not in used:
            yield "no function takes it"
        yield from _options(s, enums)


def _options(s: dict, enums: dict[str, dict]) -> Iterator[str]:
    """Every field of a struct of options says what it is and has a default; the list that is
    (NULL, 0) is absent, and 0 is a number like any other."""
    told = {f["name"]: f["doc"] for f in s["fields"]}
    for i, p in enumerate(s["params"]):
        where = f"field `{p.name}`: "
        for text in _type(s["params"], i, p):
            yield where + text
        if p.count_of:
            continue
        if p.default is None:
            yield where + "no FLAM_DEFAULT; what nobody may leave out is a parameter"
        else:
            for text in _default(p, "*" in p.type, enums):
                yield where + text
        if not told[p.name]:
            yield where + "no comment; write /**< ...; default ... */ behind it"
        elif p.default not in (None, "0", "NULL") and "efault" not in told[p.name]:
            yield where + f'the comment does not name the default, {p.default}: "default ..."'
        elif re.fullmatch(r"default \S+", told[p.name].strip()):
            yield where + "the comment says what it is by default, and not what it is"
        if p.name == "dtype" and i and s["params"][i - 1].name == "device":
            yield where + "`dtype` stands before `device`, as everywhere"


def _listed(names) -> str:
    return ", ".join(sorted(names))
