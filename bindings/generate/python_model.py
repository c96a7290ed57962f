"""What the headers' functions look like from Python: parameters, defaults, conversions, signatures.

Shared by the emitters of the thin API, of torch's spellings and of the stubs, so that all three
agree. Everything follows from parameter kinds; no function is known by name."""

import keyword
import re
from dataclasses import dataclass, field

import python_uses


@dataclass
class Param:
    name: str
    kind: str
    type: str
    enum: str = ""
    nullable: bool = False
    default: object = None  # Python source of the default, or None where the argument is required
    variadic: bool = False
    keyword: bool = False
    mutable: bool = False
    handle: str = ""
    null_entries: bool = False  # of a list: None stands for NULL
    may_be_empty: bool = True  # of a list: without entries it is not what is absent
    or_number: bool = False  # of a tensor: a plain number may stand in its place
    absent: int = 0  # what C gets for a dtype or device that is None

    @property
    def required(self):
        return self.default is None

    @property
    def absent_list(self):
        absent = f"{self.name} is None"
        return absent if self.may_be_empty else f"{absent} or not _len({self.name})"

    @property
    def optional_scalar(self):
        return self.nullable and self.kind in ("int", "double", "bool") and "*" in self.type


@dataclass
class Function:
    name: str  # without flam_
    blocks: bool
    doc: dict
    result: dict
    params: list
    outs: list
    spellings: list
    form: str
    base: str
    header: str
    c_params: list = field(default_factory=list)  # every C parameter in order, as read
    c: str = ""  # C's name for it, without flam_
    view: bool = False  # the result may be a view of the first tensor, or list

    @property
    def in_place(self):
        """Writes into its first operand and returns it."""
        return bool(self.params) and self.result.get("operand") == self.params[0].name

    @property
    def module(self):
        return "_blocking" if self.blocks else "_fast"


class Api:
    """What the headers hold, with each function turned into its Python shape."""

    def __init__(self, raw):
        self.raw = raw
        self.enums = {e["name"]: enum_words(e) for e in self.raw["enums"]}
        self.constants = {v["name"]: v["value"] for e in self.raw["enums"] for v in e["values"]}
        self.tails = {
            v["name"]: w for e in self.raw["enums"] for v, w in zip(e["values"], enum_words(e))
        }
        self.errors = error_classes(self.constants)
        # Of two C functions of one operation Python has the one that takes more, under the name of
        # the other.
        extended = {f["extends"] for f in self.raw["functions"]}
        self.shorter = {
            f["name"].removeprefix("flam_"): f["extends"].removeprefix("flam_")
            for f in self.raw["functions"]
            if f["extends"]
        }
        self.targets = {f["name"]: f["target"] for f in self.raw["functions"] if f["extends"]}
        self.functions = [
            self._function(f) for f in self.raw["functions"] if f["name"] not in extended
        ]
        self.by_name = {f.name: f for f in self.functions}

    def _function(self, f):
        params, outs = [], []
        for p in f["params"]:
            if p.get("count_of"):
                continue
            made = Param(
                p["name"],
                p["kind"],
                p["type"],
                p.get("enum") or "",
                bool(p.get("nullable")),
                None,
                bool(p.get("variadic")),
                bool(p.get("keyword")),
                bool(p.get("mutable")),
                handle_name(p["type"]),
                null_entries=bool(p.get("null_entries")),
                may_be_empty=not p.get("option") or bool(p.get("may_be_empty")),
                or_number=bool(p.get("or_number")),
            )
            if p["kind"] == "out":
                outs.append(made)
                continue
            if p["kind"] == "pointer" and made.nullable:  # one number that may be absent
                made.kind = {
                    "const int64_t *": "int",
                    "const double *": "double",
                    "const flam_bool *": "bool",
                }.get(p["type"], "pointer")
            if p.get("default") is not None:
                made.default = self.default(made, str(p["default"]))
            if keyword.iskeyword(made.name):
                made.name += "_"
            params.append(made)
        for before, after in zip(params, params[1:]):
            after.keyword = after.keyword or before.keyword
        return Function(
            self.targets.get(f["name"], f["name"].removeprefix("flam_")),
            bool(f["blocks"]),
            {key: self._in_python(text) for key, text in f["doc"].items()},
            f["result"],
            params,
            outs,
            [normal_spelling(s) for s in f.get("torch") or []],
            f.get("form") or "",
            self.targets.get(f.get("base"), (f.get("base") or "").removeprefix("flam_")),
            f["header"],
            f["params"],
            f["name"].removeprefix("flam_"),
            bool(f.get("view")),
        )

    def _in_python(self, doc):
        """Documentation with Python's names for what a C name means: exceptions, functions,
        None."""
        if isinstance(doc, dict):
            return {key: self._in_python(text) for key, text in doc.items()}
        if not isinstance(doc, str):
            return doc
        doc = re.sub(
            r"`(FLAM_ERROR_\w+)`", lambda m: f"`{self.errors.get(m[1], 'RuntimeError')}`", doc
        )
        return re.sub(r"`flam_(\w+)`", r"`\1`", doc).replace("`NULL`", "`None`")

    def default(self, p, text):
        """Python source for a default written in C."""
        text = text.strip()
        if text == "NULL":
            return "None"
        if p.kind == "dtype" or p.kind == "device":
            p.absent = self.constants.get(text, 0)
            return "None"
        if p.kind == "bool":
            return "True" if text not in ("0", "false") else "False"
        if p.kind == "enum":
            value = self.constants[text] if text in self.constants else int(text)
            return repr(
                next(word for word, number in self.enums[p.enum].items() if number == value)
            )
        if p.kind == "string":
            return text if text.startswith('"') else repr(text)
        if p.kind in ("int", "size") and re.fullmatch(r"INT64_MAX", text):
            return str(2**63 - 1)
        if text in self.constants:
            return str(self.constants[text])
        if text in ("INFINITY", "HUGE_VAL"):
            return 'float("inf")'
        if re.fullmatch(r"\{.*\}", text):
            return "(" + text[1:-1].rstrip(", ") + ",)"
        float(text)  # anything else must be a number that both languages read alike
        return text.rstrip("fFlLuU") if not text.lower().startswith("0x") else text


def enum_words(e):
    """Enumerators as Python's strings, in order: the tail after the common prefix, in lower
    case."""
    names = [v["name"] for v in e["values"]]
    prefix = names[0]
    for n in names[1:]:
        while not n.startswith(prefix):
            prefix = prefix[:-1]
    prefix = prefix[: prefix.rfind("_") + 1]
    return {n[len(prefix) :].lower(): v["value"] for n, v in zip(names, e["values"])}


def owner_class(c_type):
    """Name of the class whose objects own such a handle; "" for what is no handle."""
    name = handle_name(c_type)
    return {"": "", "tensor": "Tensor", "tensor_list": "_List"}.get(name, f"{name}_handle")


def owner(f, known=()):
    """How a call begins, up to the C function, whose result or out parameters get owners; "" where
    nothing is owned. `known`: classes of other handles. A view's origin is remembered."""
    known = {"Tensor", "_List", *known}
    if f.result.get("operand"):
        return ""
    if f.result["kind"] == "handle":
        cls = owner_class(f.result["type"])
        if cls not in known:
            return ""
        if not f.view:
            return f"_own({cls}, "
        shown = next(p for p in f.params if p.kind in ("tensor", "tensors"))
        return f"_own_view({cls}, {shown.name}, "
    classes = [owner_class(p.type) for p in f.outs if f.result["kind"] == "status"]
    if not known & set(classes):
        return ""
    listed = ", ".join(c if c in known else "None" for c in classes)
    return f"_own_each(({listed},), "


def out_values(f, owners):
    """What the function's out parameters gave: entries of the tuple `owners`, or of cells."""
    made = []
    for i, p in enumerate(f.outs):
        value = f"{owners}[{i}]" if owners else f"_o{i}[0]"
        kind = "text" if "char" in p.type else "handle"
        wrapper = result_wrapper(p.type.rstrip()[:-1].rstrip(), kind)
        made.append(f"{wrapper}({value})" if wrapper else value)
    return made


def handle_name(c_type):
    found = re.search(r"\bflam_(\w+)\s*\*", c_type)
    return found.group(1) if found else ""


def normal_spelling(s):
    """ "F.relu" and "torch.nn.functional.relu" are one name."""
    for prefix in ("torch.nn.functional.", "nn.functional."):
        if s.startswith(prefix):
            return "F." + s[len(prefix) :]
    return s


# ---- conversions of arguments
# ------------------------------------------------------------------------------


def c_arguments(p):
    """Python expressions that pass parameter `p` to C without looking closely; `_slow` handles the
    rest."""
    n = p.name
    absent = p.absent_list
    if p.kind in ("tensor", "handle"):
        return [f"_NULL if {n} is None else {n}._h" if p.nullable else f"{n}._h"]
    if p.kind == "tensors":
        entry = "_NULL if _t is None else _t._h" if p.null_entries else "_t._h"
        if p.nullable:
            return [
                f"_NULL if {absent} else [{entry} for _t in {n}]",
                f"0 if {absent} else _len({n})",
            ]
        return [f"[{entry} for _t in {n}]", f"_len({n})"]
    if p.kind in ("ints", "doubles", "bytes"):
        if p.nullable:
            return [f"_NULL if {absent} else {n}", f"0 if {absent} else _len({n})"]
        return [n, f"_len({n})"]
    if p.kind == "strings":
        if p.nullable:
            return [f"_NULL if {absent} else _strings({n})", f"0 if {absent} else _len({n})"]
        return [f"_strings({n})", f"_len({n})"]
    if p.optional_scalar:
        return [f"_NULL if {n} is None else ({n},)"]
    if p.kind == "enum":
        return [f"_E_{p.enum}[{n}]" if p.enum else n]
    if p.kind == "dtype":
        return [f"{p.absent} if {n} is None else {n}._code"]
    if p.kind == "device":
        return [f"{p.absent} if {n} is None else _device_code({n})"]
    if p.kind == "string":
        return [f"_NULL if {n} is None else {n}.encode()" if p.nullable else f"{n}.encode()"]
    if p.kind in ("pointer", "callback", "options") and p.nullable:
        return [f"_NULL if {n} is None else {n}"]
    return [n]


def signature(params, extra=()):
    """The text between the parentheses of a def; `extra` are keyword-only additions."""
    parts, starred = [], False
    for p in params:
        if p.variadic and not starred:
            parts.append("*" + p.name)
            starred = True
            continue
        if p.keyword and not starred:
            parts.append("*")
            starred = True
        parts.append(p.name if p.required else f"{p.name}={p.default}")
    if extra:
        if not starred:
            parts.append("*")
        parts += extra
    seen_default = False
    fixed = []
    for part in parts:  # a required positional after an optional one cannot be written in Python
        if part == "*" or part.startswith("*"):
            starred, seen_default = True, False
        elif "=" in part:
            seen_default = True
        elif seen_default and "*" not in fixed:
            part += "=None"
        fixed.append(part)
    return ", ".join(fixed)


def docstring(f, indent="    "):
    """The header's documentation, as a docstring's source."""
    doc = f.doc
    brief, text = doc.get("brief", "").strip(), (doc.get("text") or "").strip()
    lines = text.split("\n") if text.startswith(brief) else [brief, "", *text.split("\n")]
    told = [f"- `{n}`: {t}" for n, t in (doc.get("params") or {}).items()]
    for key in "returns", "errors", "source":
        if doc.get(key):
            told.append(f"- {key}: {doc[key]}")
    if told:
        lines += ["", *told]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    quoted = '"""' + text.replace("\n", "\n" + indent) + ("\n" + indent if told else "") + '"""'
    return indent + "\n".join(line.rstrip() for line in quoted.split("\n"))


def error_classes(constants):
    """The exception of every status, as the package's own table says."""
    rows = python_uses.exceptions()
    return {
        name: rows[str(value)]
        for name, value in constants.items()
        if name.startswith("FLAM_ERROR_") and str(value) in rows
    }


# ---- results
# -----------------------------------------------------------------------------------------------


def result_wrapper(c_type, kind):
    """Name of the runtime helper that turns a C result into a Python value; "" where none is
    needed."""
    c_type = c_type.replace("const ", "").strip()
    if kind in ("handle", "borrowed") and "*" in c_type:
        return "_tensors" if handle_name(c_type) == "tensor_list" else ""
    return {
        "flam_bool": "_bool",
        "flam_dtype": "_dtype",
        "flam_device": "_device",
        "char *": "_text",
        "char*": "_text",
    }.get(c_type, "")
