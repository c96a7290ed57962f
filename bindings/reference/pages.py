"""Writes the pages of the reference's site: `pages.py FOLDER`. The guides beside this file are
copied, a page per header is made from the headers, and mkdocs.yml gets the table of contents.

Every function stands once, with C, Python and Rust side by side; nothing here names one. A header
that no group has ends the run, so that no page is lost.
"""

from __future__ import annotations

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "bindings" / "generate")]

import emit_ledger  # noqa: E402
import headers  # noqa: E402
import signatures  # noqa: E402
import text  # noqa: E402
from model import Api, Function  # noqa: E402

GROUPS = {
    "Basics": "common error warning tensor creation device generator environment",
    "Element by element": "pointwise binary compare ternary activation special bessel polynomial "
    "numeric probability complex",
    "Sums and statistics": "reduce running moments sort search matrix distance",
    "Shapes and indices": "shape join arrange index pad",
    "Linear algebra": "matmul contract linalg window",
    "Networks": "conv pool norm attention recurrent embedding image loss margin random init",
    "Modules and training": "module layers blocks transformer optim optim_step schedule autograd saved amp",
    "Data and files": "data io state",
    "Many processes": "store distributed ddp communication",
    "Memory, streams and tools": "memory stream graph monitor profiler progress plot tuning",
}


class Pages:
    def __init__(self, api: Api):
        self.api = api
        self.python, self.rust = signatures.python(), signatures.rust()
        self.defaults = signatures.python_defaults()
        self.forms: dict[str, list[Function]] = {}
        for f in api.functions:
            if f.form:
                self.forms.setdefault(f.base, []).append(f)
        self.places = self._places()

    def _places(self) -> text.Places:
        found = {}
        for entry in (*self.api.enums, *self.api.structs):
            found[entry["name"]] = _place(entry["header"], entry["name"])
            for v in entry.get("values", []):
                found[v["name"]] = _place(entry["header"], entry["name"])
        for f in self.api.functions:
            found[f.name] = _place(f.header, f.base or f.name)
        return found

    def headers(self) -> list[str]:
        entries = (*self.api.enums, *self.api.structs)
        return sorted({f.header for f in self.api.functions} | {e["header"] for e in entries})

    # ---- a function ----------------------------------------------------------------------------

    def function(self, f: Function) -> str:
        forms = self.forms.get(f.name, [])
        blocks = [f"## {f.name} {{ #{f.name} }}", self.tabs(f, forms), f.doc["text"]]
        blocks += [self.bullets(f), _facts(f)]
        return "\n\n".join(b for b in blocks if b)

    def tabs(self, f: Function, forms: list[Function]) -> str:
        c = "\n".join(_c(g) for g in (f, *forms))
        spellings = [(s, g.op) for g in (f, *forms) for s in g.torch]
        python = signatures.python_text(spellings, self.python, self.defaults)
        listed = [d for g in (f, *forms) for d in self.rust.get(g.name, [])]
        rust = signatures.rust_text(list(dict.fromkeys(listed)))
        return "\n\n".join(
            (
                _tab("C", "c", c),
                _tab("Python", "python", python, "The package's own classes call it."),
                _tab("Rust", "rust", rust, "The crate's own types call it."),
            )
        )

    def bullets(self, f: Function) -> str:
        lines = []
        for p in f.params:
            told = f.doc["params"].get(p.name)
            if told:
                null = " May be `NULL`." if p.nullable and "NULL" not in told else ""
                lines.append(f"- `{p.name}`: {told}{null}")
        for word in ("returns", "errors", "source"):
            if f.doc[word]:
                lines.append(f"- **{word}**: {f.doc[word]}")
        return "\n".join(lines)

    # ---- a header ------------------------------------------------------------------------------

    def page(self, header: str) -> str:
        blocks = [f"# {header.removesuffix('.h')}", _introduction(header)]
        blocks.append(f"```c\n#include <flambeau/{header}>\n```")
        for e in self.api.enums:
            if e["header"] == header:
                rows = [(f"`{v['name']}`", str(v["value"]), v["doc"]) for v in e["values"]]
                blocks.append(_type(e, ("enumerator", "number", ""), rows))
        options = []  # behind the functions, which name them
        for s in self.api.structs:
            if s["header"] == header:
                rows = [(f"`{x['name']}`", f"`{x['type']}`", _with_default(x)) for x in s["fields"]]
                place = options if s["name"].endswith("_options") else blocks
                place.append(_type(s, ("field", "type", ""), rows))
        blocks += [
            self.function(f) for f in self.api.functions if f.header == header and not f.form
        ]
        whole = "\n\n".join(b for b in (*blocks, *options) if b)
        return text.linked(whole + "\n", self.places, "../")

    def index(self) -> str:
        """All functions by letter."""
        letters: dict[str, list[str]] = {}
        for f in sorted(self.api.functions, key=lambda f: f.name):
            letters.setdefault(f.name.removeprefix("flam_")[0].upper(), []).append(f.name)
        rows = [
            f"## {letter}\n\n" + " · ".join(f"[`{n}`](../{self.places[n]})" for n in names)
            for letter, names in letters.items()
        ]
        head = (
            f"# All functions\n\nVersion {self.api.version}: {len(self.api.functions)} functions."
        )
        return "\n\n".join([head, *rows]) + "\n"


def _place(header: str, anchor: str) -> str:
    return f"reference/{header.removesuffix('.h')}.md#{anchor}"


def _tab(title: str, language: str, code: str, otherwise: str = "") -> str:
    body = f"```{language}\n{code}\n```" if code else otherwise
    return f'=== "{title}"\n\n' + "\n".join(f"    {line}" for line in body.splitlines())


def _c(f: Function) -> str:
    line = emit_ledger.prototype(f) + ";"
    if len(line) <= 96:
        return line
    head, _, rest = line.partition("(")
    parts = re.split(r", (?!size_t n_)(?![^()]*\)\()(?![^(]*\),)", rest.removesuffix(");"))
    return head + "(\n    " + ",\n    ".join(parts) + ");"


def _facts(f: Function) -> str:
    facts = []
    if f.blocks:
        facts.append("May wait for a device, another thread or a callback.")
    if f.borrowed:
        thread = f.borrowed in ("thread", "process")
        whose = "from the library" if thread else f"and lives as long as `{f.borrowed}`"
        facts.append(f"The result is borrowed {whose}.")
    if not f.raises:
        facts.append("Never fails.")
    return " ".join(facts)


def _with_default(x: dict) -> str:
    told = x["doc"]
    if x.get("default") and "efault" not in told:
        told += f"; default `{x['default']}`" if told else f"default `{x['default']}`"
    return told


def _type(entry: dict, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    name = entry["name"]
    head = f"## {name} {{ #{name} }}\n\n{entry['doc']}"
    table = f"| {' | '.join(columns)} |\n|---|---|---|\n" + "\n".join(
        f"| {' | '.join(map(text.cell, row))} |" for row in rows
    )
    return f"{head}\n\n{table}" if rows else head


def _introduction(header: str) -> str:
    """The header's opening comment, without the line that the generator reads."""
    opening = (ROOT / "include/flambeau" / header).read_text().split("*/")[0].removeprefix("/*")
    lines = [re.sub(r"^ \*? ?", "", line).strip() for line in opening.split("\n")]
    return "\n".join(line for line in lines if not line.startswith("namespace:")).strip()


def contents(found: list[str], guides: list[pathlib.Path]) -> str:
    """The site's navigation, in YAML."""
    grouped = [f"{name}.h" for names in GROUPS.values() for name in names.split()]
    lost = sorted(set(found) - set(grouped))
    if lost:
        sys.exit(f"{pathlib.Path(__file__).name}: {', '.join(lost)}: no group in GROUPS has it")
    lines = ["nav:", "  - Home: index.md", "  - Guides:"]
    lines += [f"      - guides/{g.name}" for g in guides if g.stem != "index"]
    lines += ["  - Reference:", "      - All functions: reference/all.md"]
    for title, names in GROUPS.items():
        pages = [n for n in names.split() if f"{n}.h" in found]
        if pages:
            lines += [f"      - {title}:"] + [f"          - reference/{n}.md" for n in pages]
    return "\n".join(lines) + "\n"


def write(folder: pathlib.Path) -> None:
    pages = Pages(headers.read(ROOT / "include"))
    (folder / "pages/guides").mkdir(parents=True, exist_ok=True)
    (folder / "pages/reference").mkdir(exist_ok=True)
    (folder / "pages/assets").mkdir(exist_ok=True)
    (folder / "pages/assets/iframe-worker.js").write_text((HERE / "worker.js").read_text())
    guides = sorted((HERE / "guides").glob("*.md"))
    for guide in guides:
        home = guide.stem == "index"
        told = text.linked(guide.read_text(), pages.places, "" if home else "../")
        name = "index.md" if home else f"guides/{guide.name}"
        (folder / "pages" / name).write_text(told)
    for header in pages.headers():
        name = f"pages/reference/{header.removesuffix('.h')}.md"
        (folder / name).write_text(pages.page(header))
    (folder / "pages/reference/all.md").write_text(pages.index())
    config = (HERE / "mkdocs.yml").read_text()
    (folder / "mkdocs.yml").write_text(config + contents(pages.headers(), guides))


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
