"""What a C++ file uses of the standard library's algorithms and small types, it includes, itself or
by our own headers: that one system header happens to include another ends with the next compiler.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

HEADERS = {
    "algorithm": "sort stable_sort partial_sort nth_element is_sorted find find_if find_if_not "
    "count count_if all_of any_of none_of fill fill_n copy copy_n copy_if copy_backward transform "
    "reverse rotate unique remove remove_if replace max_element min_element minmax_element min max "
    "minmax clamp equal mismatch lower_bound upper_bound binary_search equal_range for_each "
    "generate lexicographical_compare next_permutation shuffle merge push_heap pop_heap make_heap",
    "numeric": "accumulate iota partial_sum inner_product reduce gcd lcm exclusive_scan",
    "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared enable_shared_from_this",
    "optional": "optional nullopt",
    "variant": "variant visit holds_alternative monostate",
    "functional": "function hash reference_wrapper",
    "mutex": "mutex lock_guard unique_lock scoped_lock once_flag call_once recursive_mutex",
    "shared_mutex": "shared_mutex shared_lock",
    "condition_variable": "condition_variable",
    "thread": "thread this_thread jthread",
    "atomic": "atomic atomic_ref atomic_thread_fence",
    "chrono": "chrono",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set",
    "map": "map multimap",
    "set": "set multiset",
    "deque": "deque",
    "queue": "queue priority_queue",
    "array": "array",
    "span": "span",
    "bit": "bit_cast popcount countl_zero countr_zero bit_width bit_ceil bit_floor",
    "limits": "numeric_limits",
    "sstream": "ostringstream istringstream stringstream",
    "fstream": "ifstream ofstream fstream",
    "charconv": "from_chars to_chars",
    "filesystem": "filesystem",
    "regex": "regex",
    "new": "bad_alloc nothrow",
    "type_traits": "remove_reference remove_reference_t remove_cvref_t conditional_t",
    "random": "mt19937 mt19937_64 uniform_int_distribution uniform_real_distribution",
}
OF = {name: header for header, names in HEADERS.items() for name in names.split()}
USE = re.compile(r"\bstd::(?:ranges::)?(\w+)")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# A declaration of it comes with every header of strings and containers, by the standard.
WITH = {"hash": {"string", "string_view", "optional", "memory", "variant", "thread"}}


@functools.cache
def included(root: Path, path: Path) -> frozenset[str]:
    """System headers that a file includes, itself or by headers of ours."""
    found: set[str] = set()
    for quote, name in INCLUDE.findall((root / path).read_text()):
        if quote == "<":
            found.add(name)
            continue
        for folder in (path.parent, Path("lib"), Path("include"), Path(".")):
            if (root / folder / name).is_file() and folder / name != path:
                found |= included(root, folder / name)
                break
    return frozenset(found)


def check(root: Path, files: list[Path]) -> list[str]:
    faults = []
    for path in files:
        if path.suffix not in {".cc", ".h", ".cu"} or path.parts[0] not in {"lib", "tests"}:
            continue
        text = COMMENT.sub(lambda m: "\n" * m.group().count("\n"), (root / path).read_text())
        there, told = included(root, path), set()
        for match in USE.finditer(text):
            name = match.group(1)
            header = OF.get(name)
            if header is None or header in told | there or WITH.get(name, set()) & there:
                continue
            told.add(header)
            line = text.count("\n", 0, match.start()) + 1
            faults.append(f"{path}:{line}: std::{name} needs #include <{header}>")
    return faults
