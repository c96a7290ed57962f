"""Emits the C sources of the two CFFI API-mode modules.

`_flambeau_fast` keeps the GIL (calls that return at once; dropping it costs 60 ns),
`_flambeau_blocking` drops it (FLAM_BLOCKS). The second includes the first, so that handles made by
one are accepted by the other. Every function pointer of a callback struct, and every bare
function-pointer parameter, gets an `extern "Python"` trampoline named after where it stands. CFFI's
C text is its own; nothing is parsed at import."""

import contextlib
import io
import os
import re
import tempfile

import cffi
from model import RESERVED
from python_model import Api

KEEP_GIL = """
/* This module's calls return at once: they keep the GIL. */
#undef Py_BEGIN_ALLOW_THREADS
#undef Py_END_ALLOW_THREADS
#define Py_BEGIN_ALLOW_THREADS {
#define Py_END_ALLOW_THREADS }
"""

# What drops values of Python's: C, for in a function of Python's an interrupt could come, and the
# library may drop some when Python has ended.
DROPS = """
static void flam_py_error_set_drop(void *kept);
static void flam_py_drop(void *kept) {
  if (Py_IsInitialized()) flam_py_error_set_drop(kept);
}
static void flam_py_drop_second(void *user, void *kept) {
  (void)user;
  flam_py_drop(kept);
}
"""
DROPS_CDEF = """
void flam_py_drop(void *kept);
void flam_py_drop_second(void *user, void *kept);
"""
# The version of the headers that the modules are compiled with, which the library must have.
VERSION_CDEF = """
#define FLAM_VERSION_MAJOR ...
#define FLAM_VERSION_MINOR ...
"""


def named_pointer(c_type, name):
    """`flam_status (*)(void *user)` with its name inside, or `T name`."""
    pointer = re.compile(r"\(\s*\*\s*\)")
    return (
        pointer.sub(f"(*{name})", c_type, count=1) if pointer.search(c_type) else f"{c_type} {name}"
    )


def declaration(f):
    arguments = ", ".join(named_pointer(p["type"], p["name"]) for p in f["params"]) or "void"
    return f"{f['result']['type']} {f['name']}({arguments});"


def flat(f, structs):
    """A function whose options Python hands over one by one: the struct is made here, on the
    stack, under the function's own name."""
    name, result = f["name"], f["result"]["type"]
    arguments = ", ".join(named_pointer(p["type"], p["name"]) for p in f["params"])
    listed = [m["name"] for m in structs[f["options"]]["fields"][1:]]
    fields = ", ".join("0" if name == RESERVED else name for name in listed)
    passed = ", ".join("&options" if p["name"] == "options" else p["name"] for p in f["c_params"])
    return (
        f"static {result} {name}_flat({arguments}) {{\n"
        f"  const {f['options']} options = {{sizeof options, {fields}}};\n"
        f"  {'' if result == 'void' else 'return '}{name}({passed});\n}}\n"
        f"#define {name} {name}_flat\n"
    )


def trampolines(raw):
    """(name, return type, argument list) of each function pointer Python may have to implement."""
    found = {}
    pointers = [
        (f"{s['name']}_{m['name']}", m["type"]) for s in raw["structs"] for m in s["fields"]
    ]
    pointers += [
        (f"{f['name']}_{p['name']}", p["type"]) for f in raw["functions"] for p in f["params"]
    ]
    for name, c_type in pointers:
        match = re.fullmatch(r"\s*(.+?)\s*\(\s*\*\s*\w*\s*\)\s*\((.*)\)\s*", c_type, re.S)
        if match:
            found[name.replace("flam_", "flam_py_", 1)] = match.groups()
    return found


def types(raw):
    lines = [
        "typedef int32_t flam_bool;",
        "typedef int32_t flam_status;",
        "typedef int32_t flam_dtype;",
        "typedef int32_t flam_device;",
        "typedef uint64_t flam_scope;",
    ]
    taken = {"flam_bool", "flam_status", "flam_dtype", "flam_device", "flam_scope"}
    lines += [f"typedef int32_t {e['name']};" for e in raw["enums"] if e["name"] not in taken]
    lines += [f"typedef struct {h['name']} {h['name']};" for h in raw["handles"]]
    held = {f["options"] for f in raw["functions"]}
    for s in (s for s in raw["structs"] if s["name"] not in held):
        fields = " ".join(named_pointer(m["type"], m["name"]) + ";" for m in s["fields"])
        lines.append(f"typedef struct {s['name']} {{ {fields} }} {s['name']};")
    return "\n".join(lines)


def module(name, cdef, functions, headers, structs, preamble="", include=None):
    ffi = cffi.FFI()
    if include is not None:
        ffi.include(include)
    ffi.cdef("\n".join([cdef, *map(declaration, functions)]), override=True)
    includes = "".join(f'#include "flambeau/{h}"\n' for h in headers)
    wrappers = "".join(flat(f, structs) for f in functions if f["options"])
    ffi.set_source(f"flambeau.{name}", preamble + includes + wrappers)
    return ffi


def c_source(ffi):
    """The C text that CFFI would compile; it only knows how to write it to a file, and talks about
    it."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = os.path.join(folder, "module.c")
        ffi.emit_c_code(path)
        with open(path, encoding="utf-8") as f:
            return f.read()


def emit(api):
    raw = Api(api.raw).raw
    structs = {s["name"]: s for s in raw["structs"]}
    headers = sorted({f["header"] for f in raw["functions"]} | {"derived.h"})
    pointers = [
        f'extern "Python" {result} {name}({arguments});'
        for name, (result, arguments) in trampolines(raw).items()
    ]
    fast = module(
        "_flambeau_fast",
        "\n".join([types(raw), *pointers, DROPS_CDEF, VERSION_CDEF]),
        [f for f in raw["functions"] if not f["blocks"]],
        headers,
        structs,
        KEEP_GIL + DROPS,
    )
    blocking = module(
        "_flambeau_blocking",
        "",
        [f for f in raw["functions"] if f["blocks"]],
        headers,
        structs,
        "",
        fast,
    )
    return {
        "bindings/python/gen/_flambeau_fast.c": c_source(fast),
        "bindings/python/gen/_flambeau_blocking.c": c_source(blocking),
    }
