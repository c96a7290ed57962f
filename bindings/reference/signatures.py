"""How the functions of the headers look in Python and in Rust, read from what the generator wrote:
the stubs of the package and the sources of the crate. Names meet through the ledger's torch
spellings and through the C function that a Rust body calls.
"""

from __future__ import annotations

import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bindings/python/flambeau"
CRATE = ROOT / "bindings/rust/flambeau/src"
STUBS = {  # a spelling's beginning -> its stub and its name in full
    "torch.": ("__init__.pyi", "flambeau."),
    "F.": ("nn/functional.pyi", "flambeau.nn.functional."),
    "Tensor.": ("_tensor.pyi", "Tensor."),
}


def python() -> dict[str, list[str]]:
    """Declarations by spelling; several where a name is overloaded."""
    found: dict[str, list[str]] = {}
    for place, (stub, name) in STUBS.items():
        for line in (PACKAGE / stub).read_text().splitlines():
            m = re.fullmatch(r"\s*def (\w+)(\(.*\) -> .*): \.\.\.", line)
            if m:
                plain = re.sub(r"\b_(bool|float|int)\b", r"\1", m[2])
                plain = re.sub(r"^\(self(?:, )?", "(", plain)
                found.setdefault(place + m[1], []).append(_broken(name + m[1] + plain))
    return found


def _broken(line: str) -> str:
    """Over several lines where one would have to be scrolled."""
    if len(line) <= 96:
        return line
    head, _, rest = line.partition("(")
    inner, _, result = rest.rpartition(")")
    lines = textwrap.wrap(inner.replace(": ", ":\0"), 88, break_long_words=False)
    return f"{head}(\n    " + "\n    ".join(lines).replace("\0", " ") + f"\n){result}"


def python_of(spelling: str, declared: dict[str, list[str]]) -> list[str]:
    full = re.sub(r"^torch\.", "flambeau.", re.sub(r"^F\.", "flambeau.nn.functional.", spelling))
    return declared.get(spelling, [full + "(...)"])


class _Crate:
    """Functions of one Rust source with the C functions in their bodies."""

    def __init__(self, text: str):
        self.called: dict[str, list[tuple[str, str]]] = {}  # C function -> (type, declaration)
        self.forwards: dict[tuple[str, str], list[tuple[str, str]]] = {}  # to (type, name)
        self.inside = ""
        starts = list(
            re.finditer(r"^(\s*)pub (?:unsafe )?fn (\w+|r#\w+)[<(]|^impl[^{]*\{", text, re.M)
        )
        for m, following in zip(starts, [*starts[1:], None]):
            body = text[m.start() : following.start() if following else len(text)]
            if m[0].lstrip().startswith("impl"):
                self.inside = re.sub(r"^impl(?:<[^>]*>)?\s*|\s*\{$|<[^>]*>", "", m[0])
            else:
                self._function(m[2], self.inside if m[1] else "", body)

    def _function(self, name: str, inside: str, body: str) -> None:
        head, _, rest = body.partition("{\n")
        declared = " ".join(head.split()).replace("( ", "(").replace(", )", ")")
        for c in dict.fromkeys(re.findall(r"\bsys::(flam_\w+)\(", rest)):
            self.called.setdefault(c, []).append((inside, declared))
        m = re.match(r"\s*(?:self\.|Self::)?(\w+_with_?)\(", rest)
        if m:
            self.forwards.setdefault((inside, m[1]), []).append((inside, declared))


def rust() -> dict[str, list[tuple[str, str]]]:
    """(type, declaration) by C function: what is generated, and else what is written by hand."""
    found: dict[str, list[tuple[str, str]]] = {}
    generated, by_hand = sorted(CRATE.glob("gen/**/*.rs")), sorted(CRATE.glob("*.rs"))
    for path in (*generated, *by_hand):
        crate = _Crate(path.read_text())
        for c, listed in crate.called.items():
            if c in found and path in by_hand:
                continue
            for inside, declared in listed:
                name = re.search(r"fn (?:r#)?(\w+)", declared)[1]
                short = crate.forwards.get((inside, name), [])
                found.setdefault(c, []).extend([*short, (inside, declared)])
    return found


def rust_text(listed: list[tuple[str, str]]) -> str:
    """Declarations as a reader knows them, inside their types."""
    lines, before = [], ""
    for inside, declared in sorted(listed, key=lambda d: d[0]):
        if inside != before:
            lines += (["}"] if before else []) + ([f"impl {inside} {{"] if inside else [])
            before = inside
        lines.append(_wrapped(declared, "    " if inside else ""))
    return "\n".join(lines + (["}"] if before else []))


def _wrapped(declared: str, indent: str) -> str:
    if len(indent + declared) <= 96:
        return indent + declared
    m = re.fullmatch(r"(.*?fn [^(]*)\((.*)\)( -> .*)?", declared)
    if not m:
        return indent + declared
    parts = re.split(r",\s*(?![^<\[(]*[>\])])", m[2])
    listed = "".join(f"{indent}    {p},\n" for p in parts if p)
    return f"{indent}{m[1]}(\n{listed}{indent}){m[3] or ''}"
