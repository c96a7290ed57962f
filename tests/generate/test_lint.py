"""The headers' lint: every rule is proven by a header that breaks it and no other."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bindings" / "generate"))
import headers  # noqa: E402

OPENING = """/* A header.
 * namespace: ops
 */
#include "flambeau/common.h"
"""
DOC = """/** Does something.
 *
 * - `x`: any shape.
 * - returns: a tensor.
 * - errors: `FLAM_ERROR_SHAPE` where it does not fit.
 */
"""
API = "FLAM_API FLAM_SINCE(0, 1) "
RELEASE = """/** Releases a tensor.
 *
 * - `tensor`: the tensor, or `NULL`.
 */
FLAM_API FLAM_SINCE(0, 1) void flam_tensor_release(FLAM_NULLABLE flam_tensor *tensor);
"""
RELEASE += RELEASE.replace("tensor", "module")


def doc(*params, returns=True, errors=True):
    lines = [f" * - `{p}`: something; default of it." for p in params]
    lines += [" * - returns: it."] * returns + [" * - errors: `FLAM_ERROR_SHAPE`."] * errors
    return "\n".join(["/** Does something.", " *", *lines, " */"]) + "\n"


def faults(tmp_path, text, opening=OPENING):
    """What the generator says about one header beside common.h, without the place."""
    folder = tmp_path / "include" / "flambeau"
    folder.mkdir(parents=True)
    (folder / "common.h").write_text((ROOT / "include" / "flambeau" / "common.h").read_text())
    (folder / "x.h").write_text(opening + RELEASE + text)
    try:
        headers.read(tmp_path / "include")
    except headers.HeaderError as e:
        return str(e).splitlines()
    return []


OPTIONS = """/** Options. */
typedef struct flam_o_options {
  size_t struct_size; /**< sizeof(flam_o_options) */
  double lr FLAM_DEFAULT(1); /**< rate; default 1 */
  const int64_t *k FLAM_DEFAULT(2); /**< sizes; default 2 */
  size_t n_k;
} flam_o_options;
"""
FILLED = """  flam_bool on FLAM_DEFAULT(0); /**< whether; default false */
  int32_t reserved; /**< 0 */
} flam_o_options;"""


def options(old, new, rest=""):
    """The good header with options, one thing changed in it."""
    text = GOOD["options"]
    assert old in text
    return text.replace(old, new) + rest


GOOD = {
    "tensor": DOC + API + "flam_tensor *flam_f(const flam_tensor *x);",
    "lists": doc("x", "dims") + API + "flam_tensor *flam_f(const flam_tensor *const *x, size_t n_x,"
    " FLAM_NULLABLE const int64_t *dims FLAM_DEFAULT(NULL), size_t n_dims);",
    "optional number": doc("x", "p") + API + "flam_tensor *flam_f(const flam_tensor *x,"
    " FLAM_NULLABLE const double *p FLAM_DEFAULT(NULL));",
    "outs": doc("x", "out_a", "out_b")
    + API
    + "flam_status flam_f(const flam_tensor *x, flam_tensor **out_a, double *out_b);",
    "enum": doc("x", "r") + API + "flam_tensor *flam_f(const flam_tensor *x, flam_reduction r"
    " FLAM_DEFAULT(FLAM_REDUCTION_MEAN));",
    "never fails": doc("x", errors=False) + API + "int64_t flam_f(const flam_tensor *x);",
    "borrowed": doc("x", errors=False)
    + API
    + "FLAM_BORROWED(x) const char *flam_f(const flam_tensor *x);",
    "one number for a list": doc("x", "k")
    + API
    + "flam_tensor *flam_f(const flam_tensor *x, const int64_t *k FLAM_DEFAULT(1), size_t n_k);",
    "text": doc("x", "s")
    + API
    + 'flam_tensor *flam_f(const flam_tensor *x, const char *s FLAM_DEFAULT("a"));',
    "options": OPTIONS
    + doc("x")
    + API
    + "flam_tensor *flam_f(const flam_tensor *x, const flam_o_options *options);",
    "options that fill their struct": OPTIONS.replace("} flam_o_options;", FILLED)
    + doc("x")
    + API
    + "flam_tensor *flam_f(const flam_tensor *x, const flam_o_options *options);",
    "options told by the function": OPTIONS
    + doc("x", "lr", "options")
    + API
    + "flam_tensor *flam_f(const flam_tensor *x FLAM_AFTER(lr), const flam_o_options *options);",
    "no version": DOC + "FLAM_API flam_tensor *flam_f(const flam_tensor *x);",
    "numbers": doc("input", "low", "high")
    + API
    + "FLAM_INPLACE flam_tensor *flam_f(const flam_tensor *input, FLAM_NUMBER(f64 i64) "
    "FLAM_NULLABLE const flam_tensor *low FLAM_DEFAULT(NULL), FLAM_NUMBER(f64 i64) const "
    "flam_tensor *high);",
    "extended": doc("input")
    + API
    + 'FLAM_INPLACE FLAM_TORCH("torch") flam_tensor *flam_f(const flam_tensor *input);\n'
    + doc("input", "alpha")
    + API
    + "FLAM_EXTENDS(flam_f) FLAM_INPLACE flam_tensor *flam_f_scaled(const flam_tensor *input, "
    "double alpha FLAM_DEFAULT(1));",
    "forms": doc("input")
    + API
    + 'FLAM_INPLACE FLAM_OUT FLAM_TORCH("torch Tensor F torch.special.f")'
    " flam_tensor *flam_f(const flam_tensor *input);",
    "a module": OPTIONS
    + doc("x", "weight", "options")
    + API
    + 'FLAM_LAYER("F(lr=[lr], [k or k=])") flam_tensor *flam_f(const flam_tensor *x, '
    "FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL), const flam_o_options *options);",
}


@pytest.mark.parametrize("name", GOOD)
def test_regular_declarations_pass(tmp_path, name):
    assert faults(tmp_path, GOOD[name]) == []


TENSOR = "const flam_tensor *x"
EXTENDED = DOC + API + f"flam_tensor *flam_f({TENSOR});\n" + doc("x", "a") + API


def more(declaration, name="flam_f"):
    return EXTENDED + f"FLAM_EXTENDS({name}) {declaration}"


BAD = [
    # two functions of one operation, and numbers for tensors
    (
        EXTENDED.replace(" * - `a`: something; default of it.\n", "")
        + f"FLAM_EXTENDS(flam_f) flam_tensor *flam_g({TENSOR});",
        "its parameters come first, alike, and then",
    ),
    (
        more(f"flam_tensor *flam_g(double a FLAM_DEFAULT(1), {TENSOR});"),
        "its parameters come first, alike, and then",
    ),
    (more(f"flam_tensor *flam_g({TENSOR}, double a);"), "FLAM_DEFAULT says which number makes it"),
    (
        more(f"flam_tensor *flam_g({TENSOR}, double a FLAM_DEFAULT(1));", "flam_h"),
        "names no function declared before it",
    ),
    (
        more(f"FLAM_INPLACE flam_tensor *flam_g({TENSOR}, double a FLAM_DEFAULT(1));"),
        "result, FLAM_INPLACE and FLAM_OUT are those of flam_f",
    ),
    (
        more(f'FLAM_TORCH("torch") flam_tensor *flam_g({TENSOR}, double a FLAM_DEFAULT(1));'),
        "FLAM_TORCH and FLAM_AUTOCAST stand before flam_f",
    ),
    (DOC + API + f"flam_tensor *flam_f(FLAM_NUMBER(f32) {TENSOR});", "write f64 i64, or one of"),
    (
        doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, FLAM_OR_NUMBER double a);",
        "FLAM_OR_NUMBER is for a tensor that an operation reads",
    ),
    (
        DOC + API + f"flam_tensor *flam_f(FLAM_OR_NUMBER {TENSOR});",
        "FLAM_OR_NUMBER is for operations that FLAM_TORCH names",
    ),
    (
        doc("n") + API + "FLAM_VIEW flam_tensor *flam_f(int64_t n);",
        "FLAM_VIEW is for operations (namespace: ops) that take a tensor, or a list",
    ),
    (
        doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, FLAM_NUMBER(f64) double a);",
        "FLAM_NUMBER is for a tensor that an operation reads",
    ),
    (
        doc("x", "y")
        + API
        + f"flam_tensor *flam_f(FLAM_NUMBER(f64) {TENSOR}, FLAM_NUMBER(i64) const flam_tensor *y);",
        "FLAM_NUMBER names the same kinds for all operands",
    ),
    # documentation
    (API + f"flam_tensor *flam_f({TENSOR});", "no doc comment"),
    (doc() + API + f"flam_tensor *flam_f({TENSOR});", "parameter `x` is not documented"),
    (
        doc("x", "y") + API + f"flam_tensor *flam_f({TENSOR});",
        "`y` is documented and is no parameter",
    ),
    (
        DOC.replace("any shape.", "") + API + f"flam_tensor *flam_f({TENSOR});",
        "the bullet of `x` is empty",
    ),
    (
        doc("x", returns=False) + API + f"flam_tensor *flam_f({TENSOR});",
        'no bullet "- returns: ..."',
    ),
    (doc("x", errors=False) + API + f"flam_tensor *flam_f({TENSOR});", 'no bullet "- errors: ..."'),
    (doc("x", "x") + API + f"flam_tensor *flam_f({TENSOR});", "two bullets for `x`"),
    (
        DOC.replace("any shape.", "any\n * shape.") + API + f"flam_tensor *flam_f({TENSOR});",
        '"shape." goes on from a bullet without indentation',
    ),
    (
        DOC.replace(" */", " * - Error: x.\n */") + API + f"flam_tensor *flam_f({TENSOR});",
        'the bullet "- Error: x." is not',
    ),
    (
        doc("x", "a").replace("`a`: something; default of it", "`a`: a factor")
        + API
        + f"flam_tensor *flam_f({TENSOR}, double a FLAM_DEFAULT(2));",
        "does not name its default, 2",
    ),
    # the function
    (DOC + "FLAM_SINCE(0, 1) " + f"flam_tensor *flam_f({TENSOR});", "not marked FLAM_API"),
    (
        DOC + "FLAM_API FLAM_SINCE(99, 0) " + f"flam_tensor *flam_f({TENSOR});",
        "FLAM_SINCE(99, 0) is after",
    ),
    (
        DOC + "FLAM_API FLAM_SINCE(a, b) " + f"flam_tensor *flam_f({TENSOR});",
        "FLAM_SINCE(a.b): write",
    ),
    (DOC + API + f"flam_tensor *flam_Foo({TENSOR});", "names are flam_ and lower case"),
    (DOC + API + f"flam_tensor *flam_xor({TENSOR});", "`xor` is a keyword"),
    (DOC + API + f"flam_tensor *flam_library_load({TENSOR});", "this name is the entry of load.h"),
    (DOC + API + f"flam_tensor *flam_f({TENSOR}, ...);", "no variable arguments"),
    (doc(errors=False) + API + "int64_t flam_f();", "`()` is no prototype"),
    (
        DOC + API + f'FLAM_META("typo") flam_tensor *flam_f({TENSOR});',
        'the annotation "typo" means nothing',
    ),
    (DOC + API + f'FLAM_TORCH("") flam_tensor *flam_f({TENSOR});', "names no spelling"),
    (
        DOC + API + f'FLAM_TORCH("numpy.f") flam_tensor *flam_f({TENSOR});',
        "`numpy.f` is no spelling",
    ),
    (2 * (DOC + API + f"flam_tensor *flam_f({TENSOR});\n"), "flam_f: declared, and also in x.h:"),
    (
        DOC
        + API
        + f"FLAM_INPLACE flam_tensor *flam_f({TENSOR});\n"
        + DOC
        + API
        + f"FLAM_BORROWED(x) flam_tensor *flam_f_({TENSOR});",
        "flam_f_: declared",
    ),
    (
        DOC + API + f"flam_tensor *flam_f_({TENSOR});",
        "an in-place form gives its first operand back: FLAM_BORROWED(x)",
    ),
    # results
    (doc("x", errors=False) + API + f"float flam_f({TENSOR});", "returns the unknown type float"),
    (
        doc("x", errors=False) + API + f"const char *flam_f({TENSOR});",
        "does not say how long it lives",
    ),
    (doc("x") + API + f"double *flam_f({TENSOR});", "which is no handle"),
    (doc("x") + API + f"const flam_tensor *flam_f({TENSOR});", "an owned handle is not const"),
    (doc("x") + API + f"flam_stream *flam_f({TENSOR});", "there is no flam_stream_release"),
    (
        doc("x", errors=False) + API + f"FLAM_BORROWED(y) const char *flam_f({TENSOR});",
        "FLAM_BORROWED(y) names neither",
    ),
    (
        doc("x", errors=False) + API + f"FLAM_BORROWED(x) int64_t flam_f({TENSOR});",
        "FLAM_BORROWED on int64_t",
    ),
    (
        doc("x", errors=False) + API + f"FLAM_NULLABLE int64_t flam_f({TENSOR});",
        "FLAM_NULLABLE on the result int64_t",
    ),
    (
        doc("x", "out_y") + API + f"flam_tensor *flam_f({TENSOR}, double *out_y);",
        "out_ parameters belong to functions",
    ),
    # parameters
    (
        doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, long a);",
        "`a`: the type long is not of the dialect",
    ),
    (doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, float a);", "`a`: numbers are double"),
    (doc("x") + API + f"flam_tensor *flam_f({TENSOR}, double);", "number 2 has no name"),
    (
        doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, const int64_t *a);",
        "`a`: a list is followed by its count",
    ),
    (
        doc("x") + API + "flam_tensor *flam_f(const flam_tensor *const *x);",
        "`x`: a list is followed by its count",
    ),
    (
        doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, const double *a, int64_t n_a);",
        "`n_a`: a count is a size_t",
    ),
    (
        doc("x", "n_a") + API + f"flam_tensor *flam_f({TENSOR}, size_t n_a);",
        "`n_a`: counts nothing",
    ),
    (
        doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, double *a);",
        "named out_*, as in `double *out_a`",
    ),
    (
        doc("x", "a") + API + f"flam_status flam_f({TENSOR}, flam_stream **a);",
        "as in `flam_stream **out_a`",
    ),
    (
        doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, FLAM_NULLABLE double a);",
        "FLAM_NULLABLE on double",
    ),
    (
        doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, FLAM_CONSUMES double a);",
        "FLAM_CONSUMES on double",
    ),
    (
        doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, FLAM_VARIADIC double a);",
        "FLAM_VARIADIC is for lists",
    ),
    (DOC + API + f'flam_tensor *flam_f(FLAM_META("typo") {TENSOR});', '`x`: the annotation "typo"'),
    (
        doc("x", "drop")
        + API
        + f"flam_tensor *flam_f({TENSOR}, FLAM_NULLABLE void (*drop)(void *));",
        "`drop` drops",
    ),
    # defaults
    (doc("x") + API + f"flam_tensor *flam_f({TENSOR} FLAM_DEFAULT(NULL));", "not FLAM_NULLABLE"),
    (
        doc("x") + API + f"flam_tensor *flam_f(FLAM_NULLABLE {TENSOR} FLAM_DEFAULT(3));",
        "the only default of const flam_tensor *",
    ),
    (
        doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, flam_bool a FLAM_DEFAULT(true));",
        "a flam_bool is 0 or 1",
    ),
    (
        doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, flam_dtype a FLAM_DEFAULT(1));",
        "write an enumerator",
    ),
    (
        doc("x", "a")
        + API
        + f"flam_tensor *flam_f({TENSOR}, flam_reduction a FLAM_DEFAULT(MEAN));",
        "write an enumerator",
    ),
    (
        doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, flam_device a FLAM_DEFAULT(1));",
        "0, unspecified",
    ),
    (
        doc("x", "a") + API + f"flam_tensor *flam_f({TENSOR}, double a FLAM_DEFAULT(one));",
        "FLAM_DEFAULT(one) is no number",
    ),
    # derived forms
    (
        doc("n") + API + "FLAM_INPLACE flam_tensor *flam_f(int64_t n);",
        "FLAM_INPLACE needs a tensor as first",
    ),
    (doc("x") + API + f"FLAM_OUT flam_status flam_f({TENSOR});", "FLAM_OUT is for operations"),
    (
        doc("x", "out") + API + f"FLAM_OUT flam_tensor *flam_f({TENSOR}, flam_tensor *out);",
        "FLAM_OUT adds a parameter",
    ),
    (
        doc("x") + API + f'FLAM_LAYER("F()") flam_status flam_f({TENSOR});',
        "whose first result is a tensor",
    ),
    (
        doc("x", "a") + API + f'FLAM_LAYER("F([b=])") flam_tensor *flam_f({TENSOR}, double a);',
        "FLAM_LAYER: [b] names no parameter",
    ),
    (
        doc("x") + API + f'FLAM_LAYER("f") flam_tensor *flam_f({TENSOR});',
        'FLAM_LAYER("f"): write a class and what it shows',
    ),
    (
        doc("x", "name")
        + API
        + f'FLAM_LAYER("F()") flam_tensor *flam_f({TENSOR}, const char *name);',
        "FLAM_LAYER: a module cannot hold name",
    ),
    (
        OPTIONS.replace(
            "size_t n_k;",
            "size_t n_k;\n  flam_bool training FLAM_DEFAULT(0); /**< it */\n  int32_t reserved;",
        )
        + doc("x", "options")
        + API
        + f'FLAM_LAYER("F()") flam_tensor *flam_f({TENSOR}, const flam_o_options *options);',
        "FLAM_LAYER: `training` is the module's mode",
    ),
    # types
    (
        "/** An enum. */\ntypedef int32_t flam_e;\nenum { FLAM_E_A = 1, FLAM_E_B = 2 };\n",
        "no enumerator is 0",
    ),
    (
        "/** An enum. */\ntypedef int32_t flam_e;\nenum { FLAM_E_A = 0, FLAM_E_B = 0 };\n",
        "numbers are never reused",
    ),
    ("/** An enum. */\ntypedef int32_t flam_e;\nenum { E_A = 0 };\n", "lacks the prefix"),
    ("typedef int32_t flam_e;\nenum { FLAM_E_A = 0 };\n", "no doc comment"),
    # options
    (OPTIONS, "no function takes it"),
    (options(" FLAM_DEFAULT(1)", ""), "field `lr`: no FLAM_DEFAULT"),
    (options("/**< rate; default 1 */", ""), "field `lr`: no comment"),
    (options("rate; default 1", "rate"), "field `lr`: the comment does not name the default, 1"),
    (options("rate; default 1", "default 1"), "field `lr`: the comment says what it is by default"),
    (
        options(
            "k FLAM_DEFAULT(2); /**< sizes; default 2 */\n  size_t n_k;",
            "k FLAM_DEFAULT(2); /**< sizes; default 2 */\n  double n_k FLAM_DEFAULT(0); /**< x */",
        ),
        "a count is a size_t",
    ),
    (options("FLAM_DEFAULT(1)", "FLAM_DEFAULT(one)"), "field `lr`: FLAM_DEFAULT(one)"),
    (options("size_t struct_size; /**", "double first; /**"), "the first field must be"),
    (options("*x,", "*x FLAM_AFTER(y),"), "FLAM_AFTER(y) names no other parameter"),
    (options("*options)", "*how)"), "options are one parameter, the last"),
    (
        doc("x", "a", "b")
        + API
        + f"flam_tensor *flam_f({TENSOR}, double a FLAM_DEFAULT(0), flam_bool b FLAM_DEFAULT(0));",
        "the options a, b stand in a struct",
    ),
    (
        doc("x", "dtype", "b")
        + API
        + f"flam_tensor *flam_f({TENSOR}, flam_dtype dtype FLAM_DEFAULT(FLAM_F32), "
        "flam_bool b FLAM_DEFAULT(0));",
        "the options b stand in a struct",
    ),
    (
        options("} flam_o_options;", FILLED.replace("  int32_t reserved; /**< 0 */\n", "")),
        "ends in 4 bytes of padding",
    ),
    (
        options(
            "  double lr",
            "  int64_t reserved; /**< 0 */\n  double lr",
        ),
        "`reserved` is an int32_t",
    ),
    (
        doc(*"abcdefghi")
        + API
        + f"flam_tensor *flam_f({', '.join(f'double {n}' for n in 'abcdefghi')});",
        "takes 9 arguments, and 8 are the most",
    ),
    (
        doc("device", "dtype") + API + "flam_tensor *flam_f(flam_device device, flam_dtype dtype);",
        "`dtype` stands before `device`",
    ),
    (
        "/** A table. */\ntypedef struct flam_t { size_t struct_size; void *user;"
        " void (*call)(void *); } flam_t;\n",
        "callbacks need a field `drop`",
    ),
    (
        "/** A table. */\ntypedef struct flam_t { void *user; void (*drop)(void *); } flam_t;\n",
        "the first field must be",
    ),
]


@pytest.mark.parametrize(("text", "expected"), BAD, ids=[e for _, e in BAD])
def test_each_fault_is_reported_alone(tmp_path, text, expected):
    found = faults(tmp_path, text)
    assert len(found) == 1, found
    assert expected in found[0]
    assert found[0].startswith("include/flambeau/x.h:")


SWITCH = doc("on", returns=False, errors=False) + API


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SWITCH + "void flam_set_x_enabled(flam_bool on);", "`flam_bool flam_x_enabled(void)`"),
        (SWITCH + "void flam_use_x(flam_bool on);", "a switch is called flam_set_<x>_enabled"),
    ],
)
def test_a_switch_has_a_name_and_can_be_read(tmp_path, text, expected):
    found = faults(tmp_path, text, OPENING.replace("ops", "capi"))
    assert len(found) == 1 and expected in found[0], found


def test_what_is_encoded_is_an_operations(tmp_path):
    text = (
        doc("x", "a")
        + API
        + (f"flam_tensor *flam_f({TENSOR}, FLAM_ENCODED const int64_t *a, size_t n_a);")
    )
    assert not faults(tmp_path / "ops", text)
    found = faults(tmp_path / "capi", text, OPENING.replace("ops", "capi"))
    assert any("FLAM_ENCODED is for operations" in fault for fault in found), found


def test_a_fault_names_its_line(tmp_path):
    text = (
        DOC
        + API
        + f"flam_tensor *flam_good({TENSOR});\n"
        + API
        + f"flam_tensor *flam_bad({TENSOR});\n"
    )
    line = (OPENING + RELEASE + text).splitlines().index(
        API + f"flam_tensor *flam_bad({TENSOR});"
    ) + 1
    assert faults(tmp_path, text)[0].startswith(f"include/flambeau/x.h:{line}: flam_bad: ")


def test_all_faults_are_reported_at_once(tmp_path):
    text = "".join(API + f"flam_tensor *flam_f{i}({TENSOR});\n" for i in range(3))
    assert [f.split(": ")[1] for f in faults(tmp_path, text)] == ["flam_f0", "flam_f1", "flam_f2"]


def test_headers_need_a_namespace(tmp_path):
    found = faults(tmp_path, "", opening=OPENING.replace(" * namespace: ops\n", ""))
    assert len(found) == 1 and "the opening comment lacks a line ` * namespace: ops`" in found[0]


def test_what_does_not_compile_is_reported_alone(tmp_path):
    found = faults(tmp_path, API + "flam_tensor *flam_f(flam_unheard_of *x);\n")
    assert len(found) == 1 and "flam_unheard_of" in found[0]
