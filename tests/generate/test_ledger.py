"""The ledger says what the headers say: a C compiler reads its declarations beside theirs, and its
lines beside the parsed headers; words of doc comments become facts, or stay words."""

import pathlib
import shutil
import subprocess
import sys

import pytest

from tests.harness import ledger

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings/generate"))
import facts  # noqa: E402
import headers  # noqa: E402


@pytest.fixture(scope="module")
def api():
    return headers.read(ROOT / "include")


def test_a_compiler_finds_the_ledgers_declarations_in_the_headers(tmp_path):
    rows = ledger.rows
    text = '#include "flambeau/flambeau.h"\n'
    text += "".join(f"extern {f['c']};\n" for f in ledger.functions().values())
    for name, row in rows("enum").items():
        text += "".join(
            f'_Static_assert({v} == {n}, "{name}");\n' for v, n in row["values"].items()
        )
    for name, row in rows("number").items():
        text += f"extern {name} a_{name};\nextern {row['type']} a_{name};\n"
    for name, row in rows("struct").items():
        members = "".join(f"{member(m)}; " for m in row["fields"])
        text += f"struct as_listed_{name} {{ {members}}};\n"
        text += f'_Static_assert(sizeof({name}) == sizeof(struct as_listed_{name}), "{name}");\n'
    source = tmp_path / "ledger.c"
    source.write_text(text)
    command = [shutil.which("cc") or "gcc", "-std=c11", "-fsyntax-only", f"-I{ROOT / 'include'}"]
    result = subprocess.run([*command, str(source)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def member(field):
    if "(*)" in field["type"]:
        return field["type"].replace("(*)", f"(*{field['name']})")
    return f"{field['type']} {field['name']}"


def test_every_function_has_its_line(api):
    plain = {f.name: f for f in api.functions if f.form in (None, "layer")}
    listed = ledger.functions()
    assert list(listed) == [f for f in listed if f in plain] and len(listed) == len(plain)
    for name, row in listed.items():
        f = plain[name]
        given = [p for p in f.params if not p.count_of and p.kind != "out"]
        assert ledger.names(row) == [p.name for p in given], name
        defaults = {p["name"]: p["default"] for p in row["options"]}
        assert defaults.items() <= {p.name: p.default for p in given}.items(), name
        assert [p["name"] for p in row["results"]] == [p.name for p in f.params if p.kind == "out"]
        assert (row["torch"], row.get("autocast", {})) == (f.torch, f.autocast), name
        assert (row.get("since"), row.get("blocks", False)) == (f.since, f.blocks), name
        forms = [g.form for g in api.functions if g.base == name]
        assert row["forms"] == forms, name
        assert (row.get("layer_of"), row.get("layer")) == (f.base, f.layer), name


def test_types_have_their_lines(api):
    assert set(ledger.rows("handle")) == {h["name"] for h in api.handles}
    assert set(ledger.rows("struct")) == {s["name"] for s in api.structs}
    assert set(ledger.rows("enum")) == {e["name"] for e in api.enums}


@pytest.mark.parametrize(
    "text, dtypes, shape",
    [
        ("any shape; floating point.", ["floating"], "any shape"),
        (
            "[n, c, h, w] or [c, h, w], floating point or int64.",
            ["floating", "i64"],
            "[n, c, h, w] or [c, h, w]",
        ),
        ("[o], dtype of `input`; default none.", ["=input"], "[o]"),
        ("any shape and dtype.", ["floating", "integral", "bool"], "any shape"),
        ("[n], integers, not negative.", ["integral"], "[n]"),
        ("what to differentiate by; each requires grad.", None, None),
        ("floats, more or less.", None, None),
    ],
)
def test_words_about_a_tensor(text, dtypes, shape):
    assert (facts.dtypes(text), facts.shape(text)) == (dtypes, shape)


@pytest.mark.parametrize(
    "text, interval",
    [
        ("probability, from 0 to 1; default 0.5.", "[0, 1]"),
        ("share of the rise, in [0, 1].", "[0, 1]"),
        ("in (0, 1]; default 1.", "(0, 1]"),
        ("temperature, above 0; default 1.", "(0, inf)"),
        ("above 0, below 1; default 0.5.", "(0, 1)"),
        ("relative tolerance, at least 0; default 1e-5.", "[0, inf)"),
        ("the rate, positive.", "(0, inf)"),
        ("factor below 0; default 0.01.", None),
        ("which diagonal: 0 the main, above 0 above it, below 0 below.", None),
        ("negative from the end.", None),
    ],
)
def test_words_about_a_number(text, interval):
    assert facts.interval(text) == interval
