"""The library under test, opened by ctypes, with objects made for the calls that need some.

Objects come from the library's own constructors, found in the ledger by what they return; tensors
have few shapes, alike in every operand, so that most functions accept some of them.
"""

from __future__ import annotations

import ctypes
import os
import random
import struct

import values
import working
from record import Record, Signature, Slot
from values import NULL, Value

SHAPES = ((4, 4), (4,), (4, 4, 4), (4, 4, 4, 4), (), (4, 4, 4, 4, 4))
SPECIAL = (  # dtype, shape, content
    ("FLAM_F32", (0,), "plain"),
    ("FLAM_F32", (4, 0), "plain"),
    ("FLAM_F32", (0, 2**40), "plain"),
    ("FLAM_F32", (2**40, 0), "plain"),
    ("FLAM_F32", (), "plain"),
    ("FLAM_F32", (4, 4), "nan"),
    ("FLAM_F64", (4, 4), "huge"),
    ("FLAM_F16", (4, 4), "plain"),
    ("FLAM_BOOL", (4, 4), "plain"),
    ("FLAM_U8", (4,), "plain"),
    ("FLAM_I64", (4,), "plain"),
    ("FLAM_I64", (4, 4), "extreme"),
    ("FLAM_I64", (4,), "extreme"),
    ("FLAM_F32", (1,) * 12, "plain"),
    ("FLAM_F32", (3, 5), "plain"),
)
CODES = {"F32": "f", "F64": "d", "F16": "e", "I64": "q", "U8": "B", "BOOL": "B"}


class DeviceLost(Exception):
    """A kernel found a fault in its data, an index out of range, and took its device along, as on a
    GPU: this process has no more use.
    """


def content(code: str, count: int, fill: str) -> bytes:
    if fill == "nan":
        entries = [(float("nan"), float("inf"), -float("inf"), 1.0)[i % 4] for i in range(count)]
    elif fill == "huge":
        entries = [(1e308, -1e308, 1e-320, 0.0)[i % 4] for i in range(count)]
    elif fill == "extreme":
        entries = [(values.I64_MIN, values.I64_MAX, -1, 2**40)[i % 4] for i in range(count)]
    elif code in "fde":  # 4 by 4: a positive diagonal that dominates
        entries = [0.1 + 0.02 * (7 * i % 11) + 2 * (i % 5 == 0) for i in range(count)]
    else:
        entries = [i % (2 if code == "B" else 4) for i in range(count)]
    return struct.pack(f"{count}{code}", *entries)


class Engine:
    def __init__(self, record: Record, device: str):
        self.record = record
        self.lib = ctypes.CDLL(os.environ["FLAMBEAU_LIBRARY"])
        self.entries: dict[str, object] = {}
        self.makers: dict[str, list[Signature]] = {}
        for f in record.functions.values():
            if f.result["kind"] == "handle" and not f.result["nullable"]:
                self.makers.setdefault(f.result["type"].split()[0], []).append(f)
        self.recipes: dict[str, tuple[Signature, int] | None] = {}
        self.shared: dict[tuple, Value] = {}
        self.open: list[tuple] = []  # how to end what a call needed around it, outermost first
        self.void = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda user: None)
        self.nothing = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 5)(lambda *_: 0)
        out = ctypes.c_int32()
        self.run("flam_device_parse", device.encode(), ctypes.byref(out))
        self.device = out.value

    # ---- calls ---------------------------------------------------------------------------------

    def entry(self, name: str):
        if name not in self.entries:
            entry = getattr(self.lib, name)
            result = self.record.functions[name].result["type"]
            wide = {"double": ctypes.c_double, "void": None, "const char *": ctypes.c_char_p}
            narrow = {"int64_t": ctypes.c_int64, "size_t": ctypes.c_size_t}
            narrow |= {"uint64_t": ctypes.c_uint64, "flam_scope": ctypes.c_uint64}
            kind = ctypes.c_void_p if "*" in result else narrow.get(result, ctypes.c_int32)
            entry.restype = wide.get(result, kind)
            self.entries[name] = entry
        return self.entries[name]

    def run(self, name: str, *arguments):
        return self.entry(name)(*arguments)

    def call(self, name: str, **chosen: Value):
        """By name of parameter; the others take their defaults, in options structs too."""
        slots = self.record.functions[name].slots
        fields = [
            s for o in slots if o.family == "struct" for s in self.record.structs[o.bare].slots
        ]
        unknown = set(chosen) - {s.name for s in (*slots, *fields)}
        if unknown:
            raise TypeError(f"{name} has no parameter {', '.join(unknown)}")
        given = self.values(slots, chosen)  # which hold the memory that arguments point to
        return self.run(name, *(a for v in given for a in v.arguments))

    def values(self, slots: list[Slot], chosen: dict[str, Value]) -> list[Value]:
        rng = random.Random(0)
        given = []
        for s in slots:
            if s.name in chosen:
                value = chosen[s.name]
            elif s.family == "struct":
                value = self.options(s, chosen)
            elif s.family in ("tensor", "handle"):
                value = NULL
            else:
                value = values.plain(s, self.record, rng, first=True)
            given.append(value)
        return given

    def close(self) -> None:
        """Ends what the last call needed around it: a stream pushed, a capture begun."""
        while self.open:
            self.run(*self.open.pop())
        self.run("flam_error_clear")

    def check_device(self) -> None:
        """The pending error has the code of what the kernel found; its text says what it cost."""
        if b"the device is lost" in (self.run("flam_error_message") or b""):
            raise DeviceLost

    def check_alive(self) -> None:
        """A call may have cost the device without saying so: no later one would work."""
        self.run("flam_error_clear")
        if self.run("flam_device_synchronize", ctypes.c_int32(self.device)):
            self.check_device()
            self.run("flam_error_clear")

    # ---- tensors -------------------------------------------------------------------------------

    def tensor(self, dtype: str, shape: tuple, fill: str = "plain", grad: bool = False) -> Value:
        code = CODES[dtype.removeprefix("FLAM_")]
        count = 1
        for size in shape:
            count *= size
        memory = ctypes.create_string_buffer(content(code, count, fill) or b"\0")
        value = values.number
        made = self.call(
            "flam_tensor_from_data",
            data=values.pointer("memory", memory),
            size=values.array("int64_t", list(shape)),
            dtype=value(ctypes.c_int32, self.record.constants[dtype]),
            device=value(ctypes.c_int32, self.device),
            requires_grad=value(ctypes.c_int32, grad),
        )
        if not made:
            self.check_device()
            raise RuntimeError(self.run("flam_error_message").decode())
        sizes = ", ".join(map(str, shape))
        note = ("" if fill == "plain" else f" of {fill}") + (" requiring grad" if grad else "")
        text = f"{dtype[5:].lower()}[{sizes}]{note}"
        return Value(text, (ctypes.c_void_p(made),), (dtype, shape, fill, grad))

    def common_tensor(self, *spec) -> Value:
        if spec not in self.shared:
            self.shared[spec] = self.tensor(*spec)
        return self.shared[spec]

    def renewed(self, s: Slot, value: Value) -> Value:
        """The same again where a call may change or release it, of those made by `tensor`."""
        made = isinstance(value.keep, tuple) and isinstance(value.keep[0], str)
        if s.family == "tensor" and (not s.const or s.consumes) and made:
            return self.tensor(*value.keep)
        return value

    def special_tensors(self) -> list[Value]:
        return [NULL, *(self.common_tensor(*spec) for spec in SPECIAL)]

    # ---- objects -------------------------------------------------------------------------------

    def handle(self, kind: str) -> Value:
        """A new object of that kind by the first constructor that works; NULL where none does."""
        if kind == "flam_tensor":
            return self.tensor("FLAM_F32", (4, 4))
        if kind in working.HANDLES:
            return working.HANDLES[kind](working.Maker(self))
        if kind not in self.recipes:
            self.recipes[kind] = None  # what needs one of its own kind does not get one
            makers = sorted(self.makers.get(kind, []), key=lambda f: len(f.slots))
            tries = [(f, t) for t in range(12) for f in makers]
            self.recipes[kind] = next((r for r in tries if self.made(kind, *r) is not NULL), None)
        return self.made(kind, *self.recipes[kind]) if self.recipes[kind] else NULL

    def made(self, kind: str, maker: Signature, attempt: int) -> Value:
        arguments = self.attempt(maker, attempt)
        result = self.run(maker.name, *(a for v in arguments.values() for a in v.arguments))
        self.run("flam_error_clear")
        keep = arguments
        return Value(f"<{kind[5:]}>", (ctypes.c_void_p(result),), keep) if result else NULL

    def fields(self, slot: Slot) -> list[Slot]:
        """The options of a struct; tables of callbacks have none."""
        kind = self.record.structs.get(slot.bare) if slot.family == "struct" else None
        return (
            [s for s in kind.slots if s.name not in ("struct_size", "reserved")]
            if kind and not kind.callbacks
            else []
        )

    def options(self, slot: Slot, chosen: dict[str, Value] | None = None) -> Value:
        """A struct as its init function fills it, then with the chosen fields; tables of callbacks
        have functions that do nothing."""
        kind = self.record.structs[slot.bare]
        chosen = {k: v for k, v in (chosen or {}).items() if k in {s.name for s in kind.slots}}
        waits = any(map(values.is_deadline, kind.slots))  # for half an hour without options
        if not (chosen or kind.callbacks or waits) and (slot.nullable or slot.default == "NULL"):
            return NULL
        block = kind.layout()
        block.struct_size = ctypes.sizeof(block)
        if f"{slot.bare}_init" in self.record.functions:
            self.run(f"{slot.bare}_init", ctypes.byref(block))
        for s in kind.slots:
            usual = values.default(s, self.record)
            if usual is not None and s.family in ("number", "enum"):
                setattr(block, s.name, usual if s.type == "double" else int(usual))
            if s.family == "function":
                function = self.void if "drop" in s.name or "release" in s.name else self.nothing
                setattr(block, s.name, ctypes.cast(function, ctypes.c_void_p).value)
        for name, value in chosen.items():
            self.set_field(block, name, value)
        address = (ctypes.c_void_p(ctypes.addressof(block)),)
        return Value(f"<{slot.bare[5:]}>", address, (block, chosen))

    @staticmethod
    def set_field(block, name: str, value: Value) -> None:
        first = value.arguments[0]
        raw = ctypes.cast(first, ctypes.c_void_p) if hasattr(first, "contents") else first
        if isinstance(first, ctypes.c_char_p):
            raw = ctypes.cast(first, ctypes.c_void_p)
        setattr(block, name, raw.value)
        if len(value.arguments) == 2:
            setattr(block, f"n_{name}", value.arguments[1].value)

    # ---- a call's arguments --------------------------------------------------------------------

    def attempt(self, f: Signature, number: int) -> dict[str, Value]:
        """The arguments of a call that may work: the first attempts are the likeliest."""
        self.close()
        found = self.by_chance(f, number)
        if number == 0:
            fitting = working.arguments(self, f)
            found |= {s.name: fitting[s.name] for s in f.slots if s.name in fitting}
            for o in f.slots:
                inside = {s.name: fitting[s.name] for s in self.fields(o) if s.name in fitting}
                if inside:
                    found[o.name] = self.options(o, inside)
            self.run("flam_error_clear") if f.base != "flam_error_take" else None
        return found

    def by_chance(self, f: Signature, number: int) -> dict[str, Value]:
        rng = random.Random(f"{f.name} {number}")
        shape = SHAPES[number % len(SHAPES)]
        whole_from = (9, 1, 2, 0)[number // len(SHAPES) % 4]  # operands from here on are integers
        dtype = ("FLAM_I64", "FLAM_BOOL")[number // 48 % 2]
        fixed = rng.random() < 0.6
        grad = number % 2 == 1
        found, index = {}, 0
        for s in f.slots:
            shape = shape if fixed else rng.choice(SHAPES)
            spec = ("FLAM_F32" if index < whole_from else dtype, shape)
            if s.family == "tensor" or (s.family == "list" and s.bare == "flam_tensor"):
                index += 1
            found[s.name] = self.plain(s, spec, grad, rng, first=number < 12)
        return found

    def plain(self, s: Slot, spec: tuple, grad: bool, rng: random.Random, first: bool) -> Value:
        usual = (s.nullable or s.default is not None) and (first or rng.random() < 0.5)
        grad = grad and spec[0] == "FLAM_F32"
        if s.family == "tensor":
            if usual:
                return NULL
            return self.common_tensor(*spec, "plain", grad) if s.const else self.tensor(*spec)
        if s.family == "list" and s.bare == "flam_tensor":
            if usual:
                return values.null_list(0)
            count = rng.choice((1, 2, 1, 3, 4))
            return values.handles([self.common_tensor(*spec, "plain", grad)] * count)
        if s.family == "handle":
            return NULL if usual else self.handle(s.bare)
        if s.family == "struct":
            return self.some_options(s, spec, grad, rng, first)
        if s.bare == "flam_device" and s.family == "number":
            return values.number(ctypes.c_int32, self.device if rng.random() < 0.7 else 0)
        if s.family == "function":
            return Value("<callback>", (ctypes.cast(self.void, ctypes.c_void_p),))
        return values.plain(s, self.record, rng, first)

    def some_options(self, slot, spec: tuple, grad: bool, rng: random.Random, first: bool) -> Value:
        """All defaults at first, then some options set as a program would."""
        fields = [] if first else self.fields(slot)
        chosen = rng.sample(fields, rng.randint(0, len(fields)))
        given = {s.name: self.plain(s, spec, grad, rng, first=True) for s in chosen}
        made = self.options(slot, given)
        return made._replace(keep=(made.keep, given))

    def extremes(self, s: Slot, base: Value) -> list[Value]:
        """What to try in this place of a call that works, or nearly."""
        if s.family == "tensor":
            return self.special_tensors()
        if s.family == "list" and s.bare == "flam_tensor":
            lists = [values.null_list(n) for n in (0, 2, values.SIZE_MAX)]
            specials = self.special_tensors()
            entry = base.keep[1][0] if base.keep and base.keep[1] else specials[1]
            lists += [values.handles([t]) for t in specials]
            lists += [values.handles([entry, t]) for t in specials]
            lists += [values.handles([entry], n) for n in (values.SIZE_MAX, 2**60)]
            return lists + [values.handles(e) for e in ([NULL, entry], [entry] * 70, [NULL] * 3)]
        if s.family == "handle":
            return [NULL]
        if s.family == "struct":
            return self.extreme_structs(s)
        return values.extreme(s, self.record)

    def extreme_structs(self, slot: Slot) -> list[Value]:
        kind = self.record.structs[slot.bare]
        found = [NULL]
        for size in (0, 1, 8, 9, 4096, 2**40, values.SIZE_MAX):
            block = ctypes.create_string_buffer(8192)  # of a newer program: what follows is zero
            filled = self.options(slot, {"struct_size": values.number(ctypes.c_size_t, size)})
            ctypes.memmove(block, filled.arguments[0], ctypes.sizeof(kind.layout))
            found.append(
                values.pointer(f"<{slot.bare[5:]} of {size} bytes>", block)._replace(
                    keep=(block, filled)
                )
            )
        for s in kind.slots:
            if s.name in ("struct_size", "user"):
                continue
            choices = [NULL] if s.family == "function" else self.extremes(s, NULL)
            for v in choices:
                made = self.options(slot, {s.name: v})
                text = f"{{.{s.name} = {v.text}}}"
                found.append(Value(text, made.arguments, (made.keep, v)))
        return found
