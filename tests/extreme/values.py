"""Values of every family of parameter: plain ones, to find a call that works, and extreme ones.

A Value is what a report prints, what ctypes passes (a list passes two arguments) and what must
live as long as the call. Nothing here knows a function by name.
"""

from __future__ import annotations

import ctypes
import math
import random
from typing import NamedTuple

from record import NUMBERS, Record, Slot

DEADLINE = 0.02  # seconds of what waits for other processes, which never come here
I64_MIN, I64_MAX, SIZE_MAX = -(2**63), 2**63 - 1, 2**64 - 1
WHOLE = (0, 1, -1, 3, 2**31, -(2**31), 2**32 + 1, 2**40, 2**62, I64_MIN, I64_MAX)
REAL = (0.0, -1.0, -0.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-320, 2.0**63, 1e-3, 3.0)
DEADLINES = (0.0, -1.0, math.nan, math.inf, -math.inf, 1e308, 1e-320, 1e-3)
TEXTS = (b"", b"a", b"\xff\xfe\x80", b"%s%n%s", b"../../..", b"/", b"x" * 70000, b"{}[]\"'\\\n\0")
PLAIN_TEXTS = (b"a", b"cpu", b"ij,jk->ik", b"relu", b"saved.safetensors", b"sum", b"fro", b"[]")
ADDRESS = b"127.0.0.1"  # looking up a name may take longer than any deadline
PLAIN_LISTS = ([1], [2, 2], [4, 4], [0], [0, 1], [1, 1, 1], [4], [2, 2, 2], [4, 4, 4, 4], [0, 0])


RELATED = (  # numbers that meet in one formula: as they are, and so that sums and products wrap
    lambda v: v,
    lambda v: v // 2,
    lambda v: v - 1,
    lambda v: -v,
    lambda v: 1,
    lambda v: 2**64 // v + 1,
)


class Value(NamedTuple):
    text: str
    arguments: tuple
    keep: object = None


NULL = Value("NULL", (ctypes.c_void_p(None),))


def number(kind: type, value) -> Value:
    if kind in (ctypes.c_double, ctypes.c_float):
        return Value(repr(float(value)), (kind(value),))
    return Value(str(kind(int(value)).value), (kind(int(value)),))


def pointer(text: str, block) -> Value:
    return Value(text, (ctypes.c_void_p(ctypes.addressof(block)),), block)


def array(bare: str, entries: list, count: int | None = None) -> Value:
    kind = ctypes.c_char_p if bare == "char" else NUMBERS.get(bare, ctypes.c_int32)
    entries = entries if kind is ctypes.c_double or bare == "char" else [int(e) for e in entries]
    block = (kind * max(len(entries), 1))(*(e if bare == "char" else kind(e) for e in entries))
    n = len(entries) if count is None else count
    shown = f"[{', '.join(str(e) for e in entries[:6])}{', ...' if len(entries) > 6 else ''}]"
    return Value(
        shown, (ctypes.c_void_p(ctypes.addressof(block)), ctypes.c_size_t(n)), (block, entries)
    )


def null_list(count: int) -> Value:
    return Value(f"(NULL, {count})", (ctypes.c_void_p(None), ctypes.c_size_t(count)))


def handles(entries: list[Value], count: int | None = None) -> Value:
    block = (ctypes.c_void_p * max(len(entries), 1))(*(e.arguments[0] for e in entries))
    n = len(entries) if count is None else count
    arguments = (ctypes.c_void_p(ctypes.addressof(block)), ctypes.c_size_t(n))
    return Value(f"[{', '.join(e.text for e in entries)}]", arguments, (block, entries))


def is_deadline(slot: Slot) -> bool:
    """Whether it says how long a call may wait for other processes."""
    return slot.type == "double" and slot.name in ("timeout", "seconds") and slot.default != "0"


def default(slot: Slot, record: Record):
    """The number that a default stands for, or None where it is no number."""
    if is_deadline(slot):
        return DEADLINE
    text = slot.default
    if text is None or text == "NULL" or text.startswith('"'):
        return None
    if text in record.constants:
        return record.constants[text]
    try:
        return int(text)
    except ValueError:
        return float(text)


def plain_number(slot: Slot, record: Record, rng: random.Random, first: bool):
    usual = default(slot, record)
    if usual is not None and (first or is_deadline(slot) or rng.random() < 0.7):
        return usual
    if slot.type == "double":
        return rng.choice((0.5, 1.0, 2.0))
    if slot.family == "enum":
        known = [v for v in record.enums[slot.bare].values() if v]
        return record.constants["FLAM_F32"] if slot.bare == "flam_dtype" else rng.choice(known)
    if slot.bare in ("flam_device", "flam_scope"):
        return 0
    return rng.choice((1, 0, 2, 4))


def plain(slot: Slot, record: Record, rng: random.Random, first: bool) -> Value:
    """A value that usually works, of a slot that holds neither a handle nor a struct."""
    kind = NUMBERS.get(slot.bare, ctypes.c_int32)
    usual = slot.nullable or slot.default is not None
    if slot.family in ("number", "enum"):
        return number(kind, plain_number(slot, record, rng, first))
    if slot.family == "list":
        if usual and (first or rng.random() < 0.5):
            return null_list(0)
        if slot.bare == "char":
            return array("char", [rng.choice(PLAIN_TEXTS)])
        return array(slot.bare, rng.choice(PLAIN_LISTS))
    if usual and (first or rng.random() < 0.6):
        return NULL
    if slot.family == "text":
        text = ADDRESS if slot.name == "host" else rng.choice(PLAIN_TEXTS)
        return Value(repr(text), (ctypes.c_char_p(text),), text)
    if slot.family == "optional":
        return pointer("-> 1", kind(1))
    if slot.family == "out":
        return pointer("out", (ctypes.c_uint64 * 8)())
    return pointer("memory", ctypes.create_string_buffer(1 << 20))


def related(slot: Slot, base: Value, rng: random.Random, scale: int) -> Value:
    """A huge whole number that stands in a simple relation to others of one call, as a list of the
    base's length where the slot is a list.
    """
    kind = NUMBERS.get(slot.bare, ctypes.c_int32)
    value = rng.choice(RELATED)(scale)
    if slot.family == "list":
        given = base.arguments[1].value if len(base.arguments) > 1 else 0
        return array(slot.bare, [value] * (given or rng.choice((1, 2, 3))))
    return pointer(f"-> {value}", kind(value)) if slot.family == "optional" else number(kind, value)


def extreme(slot: Slot, record: Record) -> list[Value]:
    """Every value worth trying, of a slot that holds neither a handle nor a struct."""
    kind = NUMBERS.get(slot.bare, ctypes.c_int32)
    real = slot.bare in ("double", "float")
    numbers = DEADLINES if is_deadline(slot) else REAL if real else WHOLE
    if slot.family == "enum":
        known = list(record.enums[slot.bare].values())
        return [number(kind, v) for v in (*known, -1, max(known) + 1, 2**31 - 1, -(2**31))]
    if slot.family == "number":
        if kind is ctypes.c_int32:
            numbers = (0, 1, -1, 2, 99, 1 << 16, 2**31 - 1, -(2**31))
        return [number(kind, v) for v in numbers]
    if slot.family == "optional":
        return [NULL, *(pointer(f"-> {v}", kind(v)) for v in numbers)]
    if slot.family == "text":
        return [NULL, *(Value(repr(t[:20]), (ctypes.c_char_p(t),), t) for t in TEXTS)]
    if slot.family == "list":
        empty = [null_list(0), null_list(2), null_list(SIZE_MAX), array(slot.bare, [1], 0)]
        if slot.bare == "char":
            return [
                *empty,
                array("char", [b"a"], SIZE_MAX),
                array("char", [None]),
                array("char", [b"a", None]),
                array("char", TEXTS),
            ]
        ones = [[v] for v in numbers]
        twos = [[v, w] for v in numbers[-4:] for w in (1, *numbers[-2:])]
        longer = [[v] * n for v in (1, numbers[-4], numbers[-1]) for n in (3, 4, 6, 70)]
        counts = [array(slot.bare, [1], n) for n in (SIZE_MAX, 2**63 // ctypes.sizeof(kind))]
        return empty + counts + [array(slot.bare, e) for e in ones + twos + longer]
    return [NULL]
