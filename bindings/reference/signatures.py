"""How the functions of the headers look in Python and in Rust, read from what the generator wrote:
the stubs of the package and the sources of the crate. Names meet through the ledger's torch
spellings and through the C function that a Rust body calls.
"""

from __future__ import annotations

import pathlib
import re

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
                found.setdefault(place + m[1], []).append(name + m[1] + plain)
    return found


def python_defaults() -> dict[str, dict[str, str]]:
    """What stubs leave out: by operation, the defaults of its parameters."""
    found = {}
    files = sorted((PACKAGE / "_gen").glob("ops*.py"))
    text = "".join(file.read_text() for file in files)
    for name, listed in re.findall(r"^def _(\w+)\((.*)\):$", text, re.M):
        parts = (p.partition("=") for p in re.split(r", (?![^()]*\))", listed))
        found[name] = {name: value for name, _, value in parts if value}
    return found


def _broken(line: str) -> str:
    """A parameter a line where one would have to be scrolled."""
    if len(line) <= 96:
        return line
    head, _, rest = line.partition("(")
    inner, _, result = rest.rpartition(")")
    parts = re.split(r", (?![^\[]*\])", inner)
    return f"{head}(\n" + "".join(f"    {p},\n" for p in parts) + f"){result}"


def python_text(spellings: list[tuple[str, str]], declared, defaults) -> str:
    """Declarations of (spelling, operation); one that differs by its place only is named."""
    lines: list[str] = []
    seen: set[str] = set()
    for spelling, op in spellings:
        full = re.sub(r"^torch\.", "flambeau.", spelling)
        full = re.sub(r"^F\.", "flambeau.nn.functional.", full)
        known = defaults.get(op, {})
        for line in declared.get(spelling, [full + "(...)"]):
            line = re.sub(
                r"(\w+)(: [^=,]*(?:\[[^=]*\][^=,]*)?) = \.\.\.",
                lambda m, known=known: f"{m[1]}{m[2]} = {known.get(m[1], '...')}",
                line,
            )
            arguments = line[line.index("(") :]
            if arguments in seen and arguments != "(...)":
                lines.append(f"{full}(...)  # as above")
            else:
                seen.add(arguments)
                lines.append(_broken(line))
    return "\n".join(lines)


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
        head = head.replace("crate::", "")
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
