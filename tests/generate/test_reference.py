"""The reference's pages hold every function and type once, and the guides say what is so: the C in
them compiles, the names in them exist, and the environment variables are those that are read.
"""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDES = sorted((ROOT / "bindings/reference/guides").glob("*.md"))
sys.path[:0] = [str(ROOT / "bindings/reference"), str(ROOT / "bindings/generate")]

AROUND = """#include <flambeau/flambeau.h>
#include <stdio.h>
void guide(flam_tensor *x, flam_tensor *a, flam_tensor *b, flam_tensor *target, flam_module *model,
           flam_dataset *dataset);
void guide(flam_tensor *x, flam_tensor *a, flam_tensor *b, flam_tensor *target, flam_module *model,
           flam_dataset *dataset) {
"""


@pytest.fixture(scope="module")
def pages():
    import headers
    import pages

    return pages.Pages(headers.read(ROOT / "include"))


def code(language):
    """Blocks of that language in the guides, without their indentation in tabs."""
    for guide in GUIDES:
        for m in re.finditer(rf"^( *)```{language}\n(.*?)^\1```", guide.read_text(), re.M | re.S):
            yield guide.name, re.sub(rf"^{m[1]}", "", m[2], flags=re.M)


def test_every_function_and_type_has_a_place(pages):
    text = {h: pages.page(h) for h in pages.headers()}
    for f in pages.api.functions:
        place = f"{{ #{f.base or f.name} }}"
        assert text[f.header].count(place) == 1, f"{f.name} on the page of {f.header}"
        assert f"{f.name}(" in text[f.header]
    for entry in (*pages.api.enums, *pages.api.structs):
        assert f"{{ #{entry['name']} }}" in text[entry["header"]]


def test_fields_and_enumerators_keep_what_is_said_about_them(pages):
    structs = {s["name"]: s for s in pages.api.structs}
    table = structs["flam_dataset_vtable"]["fields"]
    assert [f["name"] for f in table if not f["doc"]] == []
    cycle = next(e for e in pages.api.enums if e["name"] == "flam_cycle")
    told = {v["name"]: v["doc"] for v in cycle["values"]}
    assert told["FLAM_CYCLE_TRIANGULAR2"] == "halved each time"
    assert told["FLAM_CYCLE_UNSPECIFIED"] == ""


def test_every_header_has_a_group(pages):
    import pages as module

    assert "reference/conv.md" in module.contents(pages.headers(), GUIDES)


def test_signatures_come_from_the_package_and_the_crate(pages):
    shown = pages.page("activation.h")
    gelu = shown[shown.index("## flam_gelu {") :][:2500]
    assert re.search(r"flambeau.nn.functional.gelu\(\s*input: Tensor, *\s*approximate", gelu)
    assert "impl Tensor {" in gelu and "pub fn gelu(&self) -> Result<Tensor>" in gelu


def test_python_shows_its_defaults_and_a_parameter_a_line(pages):
    shown = pages.page("conv.h")
    conv = shown[shown.index("## flam_conv2d {") :]
    python = conv[: conv.index('=== "Rust"')]
    assert "        stride: int | Sequence[int] = 1,\n" in python
    assert "        bias: Tensor | None = None,\n" in python
    assert "flambeau.nn.functional.conv2d(...)  # as above" in python
    assert "crate::" not in shown
    whole = "".join(pages.page(header) for header in pages.headers())
    assert whole.count("= ...") < 200  # of stubs whose functions have another order


def test_names_in_guides_exist(pages):
    types = {h["name"] for h in pages.api.handles} | set(pages.api.scalars)
    for guide in GUIDES:
        for name in set(re.findall(r"\bflam_\w+\b", guide.read_text())):
            known = name in pages.places or name in types or name == "flam_library_load"
            known = known or name.removesuffix("_init") in pages.places
            assert known, f"{guide.name}: {name}"


def test_c_in_guides_compiles():
    for name, block in code("c"):
        whole = block if "int main" in block else AROUND + block + "(void)x, (void)a; }\n"
        if "int main" in block:
            whole = "#include <stdio.h>\n" + block
        elif re.search(r"^static ", block, re.M):  # a function of the program
            whole = "#include <flambeau/flambeau.h>\n" + block
        flags = ["-std=c99", "-fsyntax-only", "-Wall", "-Wno-unused", "-Werror", "-x", "c", "-"]
        done = subprocess.run(
            ["cc", f"-I{ROOT / 'include'}", *flags], input=whole, text=True, capture_output=True
        )
        assert done.returncode == 0, f"{name}:\n{block}\n{done.stderr}"


def test_environment_variables_are_those_that_are_read():
    guide = (ROOT / "bindings/reference/guides/environment.md").read_text()
    told = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b|\b(?:TERM|LANG|RANK)\b", guide))
    read = set()
    for path in (ROOT / "lib").rglob("*.cc"):
        text = path.read_text()
        read |= set(re.findall(r'getenv\("(\w+)"\)', text))
    assert read <= told, f"not in the guide: {sorted(read - told)}"
    ours = {name for name in told if name.startswith("FLAMBEAU_")}
    sources = "\n".join(
        p.read_text(errors="replace")
        for folder in ("lib", "tests/harness", "include", "bindings/rust/flambeau-sys")
        for p in (ROOT / folder).rglob("*")
        if p.suffix in (".cc", ".h", ".rs")
    )
    gone = sorted(name for name in ours if f'"{name}"' not in sources)
    assert not gone, f"in the guide, and nobody reads them: {gone}"
