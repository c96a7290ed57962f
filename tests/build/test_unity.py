"""Files that are compiled as one share no private name, in whatever form of C++ it is declared."""

import importlib.util
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("unity", ROOT / "lib" / "build" / "unity.py")
unity = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(unity)

DECLARATIONS = {
    "Plain": "struct Plain { int x; };",
    "Final": "class Final final { int x; };",
    "Derived": "class Derived : public Base { int x; };",
    "Closed": "struct Closed final : public Base { int x; };",
    "Shape": "template <class T> class Shape final : Base<T> {};",
    "Kind": "enum class Kind : int8_t { one, two };",
    "Short": "using Short = std::vector<int>;",
    "number": "constexpr int number = 3;",
    "table": "std::atomic<int> table[3]{};",
    "twice": "int twice(int x) { return 2 * x; }",
}


def test_every_form_of_a_private_name_is_seen():
    for name, text in DECLARATIONS.items():
        assert name in unity.private_names(f"namespace {{\n{text}\n}}\n"), text


def test_no_group_has_a_private_class_twice():
    files = sorted(str(f) for f in (ROOT / "lib").rglob("*.cc") if ".kernel." not in f.name)
    declared = re.compile(r"^(?:class|struct|enum class) (\w+)[^;]*\{", re.MULTILINE)
    for group, members in unity.groups(str(ROOT / "lib"), files).items():
        seen = {}
        for member in members:
            text = pathlib.Path(member).read_text()
            for region in re.finditer(r"^namespace \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
                for name in declared.findall(region[1]):
                    assert seen.setdefault(name, member) == member, (group, name)


def test_the_program_prints_each_file_once():
    files = [str(f) for f in (ROOT / "lib" / "capi").glob("*.cc")]
    command = ["python3", str(ROOT / "lib" / "build" / "unity.py"), str(ROOT / "lib"), *files]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert sorted(f for line in printed.splitlines() for f in line.split()[1:]) == sorted(files)
