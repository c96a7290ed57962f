"""A child process that calls functions with extreme arguments: `worker.py DEVICE JOURNAL` reads
functions with their first case from standard input, one a line, and writes findings to standard
output.

Before each call it writes function, case and arguments to the journal, which outlives it, so that
the parent can name the call that crashed or did not end.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import random
import re
import resource
import signal
import sys

import record
import values
import working
from engine import DeviceLost, Engine
from record import Signature, Slot
from values import Value

ROOM = 1 << 30  # bytes of address space beyond what the library takes at rest
CPU_SECONDS, SECONDS = 5, 240  # of one call; the second is for those that wait
ENDLESS = 0.2  # seconds of a wait for other processes whose deadline is the extreme argument
ATTEMPTS = 96
LOST = 3  # exit status where the device is lost; the next case needs another process
TOGETHER = 24  # calls with several extreme arguments
# What any function may leave, so that none documents it: error.h says it once.
GENERAL = ("OUT_OF_DEVICE_MEMORY", "OUT_OF_HOST_MEMORY", "DEVICE_LOST", "CALLBACK", "AUTOGRAD")
IN_GENERAL = {
    "INVALID_ARGUMENT": re.compile(
        r" is NULL|struct_size|there is no \w+ of (number|code)|reduction; use|no device is given"
        "|: reserved is|its count is 0|more than memory holds|has no function `"
    ),
    "SHAPE": re.compile(" overflowed with sizes=|possible overflow|negative dimension -"),
    "UNSUPPORTED": re.compile("the derivative of|is unsupported for complex"),
    "DTYPE": re.compile("can require gradients"),
}
OF_DESTINATIONS = ("DTYPE", "SHAPE")
RUN_OTHERS = ("flam_module_call", "flam_module_forward")  # fail with what these fail with
# What Python and PyTorch say, which a text in C has translated (lib/base/wording.cc).
PYTHON = re.compile(
    r"torch\.(?!save)\w|\.to\(|(?<![:|])\b(True|False)\b|`None`|[ =]None\b|no_grad\("
)


def known_to_fail(result: dict, value) -> bool:
    if result["kind"] == "status":
        return value != 0
    return result["kind"] == "handle" and not value


def limit() -> None:
    """Holds this process to little more than what the library has taken so far."""
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Worker:
    def __init__(self, device: str, journal: str):
        self.engine = Engine(record.read(), device)
        self.told: set[tuple[str, str]] = set()
        with open(journal, "r+b") as f:
            self.journal = mmap.mmap(f.fileno(), 0)
        self.engine.tensor("FLAM_F32", (4, 4))
        working.on_a_stream(working.Maker(self.engine))  # reserves the simulated devices' memory
        limit()

    def say(self, **line) -> None:
        print(json.dumps(line), flush=True)

    def note(self, f: Signature, case: int, text: str, endless: bool) -> None:
        line = json.dumps([f.name, case, f"{f.name}({text})"[:1000], endless]).encode()
        self.journal[: len(line) + 1] = line + b"\0"

    def call(self, f: Signature, arguments: dict[str, Value], case: int, endless=False) -> bool:
        """One call in a frame of its own; what it leaves behind is looked at."""
        run = self.engine.run
        text = ", ".join(f"{name}={v.text}" for name, v in arguments.items())
        self.note(f, case, text, endless)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, ENDLESS if endless else SECONDS)
        frame = run("flam_frame_push")
        entry = self.engine.entry(f.name)
        result = entry(*(a for v in arguments.values() for a in v.arguments))
        signal.setitimer(signal.ITIMER_REAL, SECONDS)  # what follows waits for nobody
        code = run("flam_error_code")
        fault = self.fault(f, result, code)
        if fault:
            self.say(function=f.name, case=case, call=f"{f.name}({text})"[:400], fault=fault)
        self.engine.check_device()
        run("flam_error_clear")
        failed = known_to_fail(f.result, result)
        if not failed and f.result["type"] == "flam_tensor *" and result:
            self.use(result)
        if not failed and f.result["type"] == "flam_work *" and result:
            # What it writes is not ordered with later calls before somebody waits for it.
            run("flam_work_wait", ctypes.c_void_p(result), ctypes.c_double(values.DEADLINE))
            run("flam_error_clear")
        self.engine.check_device()
        run("flam_frame_pop", ctypes.c_uint64(frame))
        self.engine.close()
        return not failed

    def fault(self, f: Signature, result, code: int) -> str:
        message = self.engine.run("flam_error_message") or b""
        if f.name.startswith("flam_error_"):
            return ""
        failed = known_to_fail(f.result, result)
        if failed and not (code and message.strip()) and not f.result["nullable"]:
            return "fails and leaves no error"
        if failed and f.result["kind"] == "status" and code != result:
            return f"returns status {result}, and the error pending is {code}"
        if not failed and code:
            return f"gives a result and leaves an error: {message[:200].decode(errors='replace')}"
        if code == 21:
            return f"an internal error: {message[:300].decode(errors='replace')}"
        text = message.decode("utf8", "replace")
        if not code:
            return ""
        return self.foreign(text) or self.undocumented(f, self.engine.record.codes[code], text)

    def foreign(self, message: str) -> str:
        """What a reader in C cannot use: Python's syntax, and functions that are not there."""
        known = self.engine.record.functions
        message = re.sub(r"^flam_\w+\(\): functions with out=", "", message)  # a caller's name
        names = [n for n in re.findall(r"\b(flam_\w+)\(", message) if n not in known]
        if names or PYTHON.search(message):
            return f"not in the words of C: {message[:300]}"
        return ""

    def undocumented(self, f: Signature, code: str, message: str) -> str:
        short = code.removeprefix("FLAM_ERROR_")
        if code in f.errors or short in GENERAL or f.name in RUN_OTHERS:
            return ""
        if short in IN_GENERAL and IN_GENERAL[short].search(message):
            return ""
        if short in OF_DESTINATIONS and f.name != f.base and f.name.endswith(("_", "_out")):
            return ""
        if (f.name, code) in self.told:  # one call tells
            return ""
        self.told.add((f.name, code))
        return f"{code} is not documented: {message[:300]}"

    def use(self, tensor: int) -> None:
        """A result must be whole: it is read, and walked back from."""
        e, handle = self.engine, Value("", (ctypes.c_void_p(tensor),))
        if not 0 < e.run("flam_tensor_numel", handle.arguments[0]) < 5000:
            return
        total = e.call("flam_sum", input=handle)
        if total and e.run("flam_tensor_requires_grad", ctypes.c_void_p(total)):
            e.run("flam_backward", ctypes.c_void_p(total))

    # ---- cases ---------------------------------------------------------------------------------

    def bases(self, f: Signature) -> list[int]:
        """Attempts that work, at most two."""
        found = []
        for number in range(ATTEMPTS):
            if self.call(f, self.engine.attempt(f, number), -number - 1):
                found.append(number)
            if len(found) == 2 or (not f.slots and number):
                break
        return found

    def fresh(self, f: Signature, base: int, first: dict[str, Value]) -> dict[str, Value]:
        """The base's arguments, those that a call may change or release made anew."""
        e = self.engine
        changes = [
            s for s in f.slots if s.family in ("tensor", "handle") and not s.const or s.consumes
        ]
        return e.attempt(f, base) if changes else first

    def cases(self, f: Signature, base: int):
        """(what to replace, by name) of every case, in an order that depends on nothing else."""
        e = self.engine
        first = e.attempt(f, base)
        fields = [s for o in f.slots for s in e.fields(o)]
        given = first | {s.name: values.NULL for s in fields}
        choices = {s.name: e.extremes(s, given[s.name]) for s in (*f.slots, *fields)}
        for s in f.slots:
            yield from ({s.name: v} for v in choices[s.name])
        kinds: dict[str, list[Slot]] = {}
        for s in f.slots:
            if s.family in ("tensor", "handle"):
                kinds.setdefault(s.bare, []).append(s)
        for alike in kinds.values():  # one object in two places
            if len(alike) > 1:
                yield {s.name: first[alike[0].name] for s in alike}
        rng = random.Random(f"{f.name} together")
        fixed = ("tensor", "handle", "out")
        free = [
            s
            for s in (*f.slots, *fields)
            if s.family not in fixed and not e.fields(s) and not values.is_deadline(s)
        ]
        for _ in range(TOGETHER if len(free) > 1 else 0):
            chosen = rng.sample(free, rng.randint(2, len(free)))
            yield {s.name: rng.choice(choices[s.name]) for s in chosen}
        whole = [s for s in free if s.bare in ("int64_t", "uint64_t", "size_t")]
        for _ in range(TOGETHER if len(whole) > 1 else 0):
            chosen = rng.sample(whole, rng.randint(2, len(whole)))
            scale = 2 ** rng.choice((31, 32, 40, 61, 62, 63)) - rng.choice((0, 1))
            yield {s.name: values.related(s, given[s.name], rng, scale) for s in chosen}

    def placed(self, f: Signature, replaced: dict[str, Value]) -> dict[str, Value]:
        """The same with fields in their structs."""
        e = self.engine
        found = {s.name: e.renewed(s, replaced[s.name]) for s in f.slots if s.name in replaced}
        for o in f.slots:
            inside = {s.name: replaced[s.name] for s in e.fields(o) if s.name in replaced}
            if inside and o.name not in found:
                shown = ", ".join(f".{name} = {v.text}" for name, v in inside.items())
                found[o.name] = e.options(o, inside)._replace(text=f"{{{shown}}}")
        return found

    def may_be_endless(self, f: Signature, replaced: dict[str, Value]) -> bool:
        """Whether it may wait for other processes for longer than values.DEADLINE."""
        return any(
            values.is_deadline(s) and (o.name in replaced or s.name in replaced)
            for o in f.slots
            for s in (o, *self.engine.fields(o))
        )

    def function(self, f: Signature, start: int, bases: list[int] | None) -> None:
        """Every case of a function from that number on; a process before may have found `bases`."""
        if bases is None:  # where an attempt crashed, those after it are not needed to go on
            bases = [] if start < 0 else self.bases(f)
            self.say(function=f.name, bases=bases)
        number = 0
        for base in bases or [0]:
            first = self.engine.attempt(f, base)
            for replaced in self.cases(f, base):
                number += 1
                if number > max(start, 0):
                    arguments = self.fresh(f, base, first) | self.placed(f, replaced)
                    self.call(f, arguments, number, self.may_be_endless(f, replaced))
        self.say(function=f.name, calls=number, done=True)
        self.engine.check_alive()


def main() -> None:
    worker = Worker(*sys.argv[1:3])
    try:
        for line in sys.stdin:
            asked = json.loads(line)
            f = worker.engine.record.functions[asked["name"]]
            worker.function(f, asked["start"], asked["bases"])
    except DeviceLost:
        os._exit(LOST)
    os._exit(0)  # scopes that calls left open hold callbacks of this interpreter


if __name__ == "__main__":
    main()
