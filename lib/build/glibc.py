"""Libraries to link with in place of the C library, whose newest symbols are those of an older one,
so that what is linked runs on every system since then: manylinux asks for glibc 2.28, Debian 12 has
2.36. The versions come from the C library itself, which keeps its old symbols beside the new ones.
What only newer ones have is not there to link with; glibc_compat.c defines what libstdc++ uses.

    python lib/build/glibc.py 2.28 FOLDER
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

APART = ("libpthread.so.0", "libdl.so.2", "librt.so.1")

# One line of `readelf --dyn-syms`: the symbol's type and name, and its version after @ or @@.
LINE = re.compile(
    r"\s(FUNC|OBJECT|IFUNC|NOTYPE)\s+(?:GLOBAL|WEAK)\s+\S+\s+\S+\s+(\w+)@@?(GLIBC_[\d.]+)"
)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in version.removeprefix("GLIBC_").split("."))


def newest_symbols(listing: str, limit: str) -> dict[str, tuple[str, str]]:
    """By name, the newest version up to `limit`, and the symbol's type."""
    found: dict[str, tuple[str, str]] = {}
    for kind, name, version in LINE.findall(listing):
        if numbers(version) > numbers(limit):
            continue
        if name not in found or numbers(version) > numbers(found[name][0]):
            found[name] = version, kind
    return found


def assembly(symbols: dict[str, tuple[str, str]]) -> str:
    lines = [".text"]
    for name, (_, kind) in sorted(symbols.items()):
        of = "object" if kind == "OBJECT" else "function"
        lines += [f".globl {name}", f".type {name}, @{of}", f"{name}: .quad 0", f".size {name}, 8"]
    return "\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""])


def version_script(symbols: dict[str, tuple[str, str]]) -> str:
    nodes: dict[str, list[str]] = {}
    for name, (version, _) in sorted(symbols.items()):
        nodes.setdefault(version, []).append(name)
    ordered = sorted(nodes, key=numbers)
    return "".join(f"{v} {{ {' '.join(n + ';' for n in nodes[v])} }};\n" for v in ordered)


def output(*command: str | pathlib.Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def link(folder: pathlib.Path, soname: str, symbols: dict[str, tuple[str, str]]) -> pathlib.Path:
    source, script = folder / f"{soname}.s", folder / f"{soname}.map"
    source.write_text(assembly(symbols))
    script.write_text(version_script(symbols))
    options = ["-shared", "-nostdlib", f"-Wl,-soname,{soname}"]
    if symbols:
        options.append(f"-Wl,--version-script={script}")
    output("gcc", *options, source, "-o", folder / soname)
    return folder / soname


def write(limit: str, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for soname in ("libc.so.6", "libm.so.6"):
        real = output("gcc", f"-print-file-name={soname}").strip()
        listing = output("readelf", "-W", "--dyn-syms", real)
        made[soname] = link(folder, soname, newest_symbols(listing, limit))
    static = output("gcc", "-print-file-name=libc_nonshared.a").strip()
    loader = output("gcc", "-print-file-name=ld-linux-x86-64.so.2").strip()
    (folder / "libc.so").write_text(f"GROUP ( {made['libc.so.6']} {static} {loader} )\n")
    (folder / "libm.so").write_text(f"INPUT ( {made['libm.so.6']} )\n")
    # Libraries of their own until 2.34: to be named among the needed ones, their symbols are found
    # wherever the loader has them.
    for soname in APART:
        link(folder, soname, {})


if __name__ == "__main__":
    write(sys.argv[1], pathlib.Path(sys.argv[2]).resolve())
