"""Functions that a declaration brings along: FLAM_INPLACE and FLAM_OUT the forms that write into
what is there, FLAM_NUMBER those that take numbers in place of tensors, FLAM_LAYER the module that
holds an operation's options, the release of a handle type its `retain` and `keep`.

`link` then names what each function's shim calls: a form with numbers has its tensor's form as
target, and two functions of one operation (FLAM_EXTENDS) have one.
"""

from __future__ import annotations

import dataclasses
import re

from model import Function, Param

WRITTEN = ("inplace", "out")
OWNERS = ("retain", "keep")
_NUMBERS = {"f64": ("double", "double"), "i64": ("int", "int64_t")}  # by form: kind and type


def of(f: Function) -> list[Function]:
    if f.name.endswith("_release") and f.namespace == "capi" and len(f.params) == 1:
        return [_retain(f), _keep(f)]
    written = ([_inplace(f)] if f.inplace else []) + ([_out(f)] if f.out else [])
    marked = next((p.number for p in f.params if p.number), "").split()
    kinds = [kind for kind in _NUMBERS if kind in marked]
    plain = [f, *(g for g in written if g.form == "inplace")]
    made = written + [_with_numbers(g, kind) for kind in kinds for g in plain]
    return made + ([] if f.layer is None else [_layer(f)])


def takes_numbers(f: Function) -> bool:
    return any(p.wrapped for p in f.params)


def link(functions: list[Function]) -> None:
    """Names targets; what a function lacks of its target's parameters has its default there."""
    by_name = {f.name: f for f in functions}
    for f in functions:
        f.target = f.extends.removeprefix("flam_") if f.extends else f.target or f.op
        if f.extends in by_name:
            by_name[f.extends].whole = f.params
    for f in functions:
        f.whole = f.whole or by_name[f"flam_{f.target}"].whole if takes_numbers(f) else f.whole


def extended(functions: list[Function]) -> set[str]:
    """Those whose target has more parameters: another function's declaration says them all."""
    return {f.extends for f in functions if f.extends}


def _derived(f: Function, name: str, form: str, operand: str | None, **more) -> Function:
    """A form of `f`; `operand` is the one whose own handle it returns."""
    return dataclasses.replace(
        f,
        name=name,
        form=form,
        base=f.name,
        borrowed=operand,
        inplace=False,
        out=None,
        autocast={},
        layer=None,
        view=False,
        **more,
    )


def _suffixed(name: str | None, suffix: str) -> str | None:
    return name and name + suffix


def _with_numbers(f: Function, kind: str) -> Function:
    """`f`, plain or in place, with numbers of that kind for what FLAM_NUMBER marks. The name's
    underscore stays last: flam_fill_f64_."""
    plain = f.name.removesuffix("_")
    base = f.base or f.name
    made = {"kind": _NUMBERS[kind][0], "type": _NUMBERS[kind][1]}
    made |= {"nullable": False, "default": None, "number": None, "wrapped": True}
    params, c_params = (
        [dataclasses.replace(p, **made) if p.number else p for p in given]
        for given in (f.params, f.c_params)
    )
    told = {p.name: "a number." for p in f.params if p.number}
    stand = "is a number, which takes" if len(told) == 1 else "are numbers, which take"
    g = _derived(
        f,
        f"{plain}_{kind}{f.name[len(plain) :]}",
        kind if f.form is None else f"{kind}_{f.form}",
        f.borrowed,
        params=params,
        c_params=c_params,
        torch=[],
        target=f.op,
        doc=dict(
            f.doc,
            brief=f"`{f.name}` where {' and '.join(f'`{name}`' for name in told)} {stand} part in "
            "promotion by category only.",
            params=f.doc["params"] | told,
        ),
    )
    g.base = base
    return g


def _uncapitalized(text: str) -> str:
    return text[:1].lower() + text[1:]


def _inplace(f: Function) -> Function:
    params, c_params = ([dataclasses.replace(p) for p in given] for given in (f.params, f.c_params))
    for first in (params[0], c_params[0]):
        first.type = first.type.replace("const ", "")
        first.or_number = False  # a number is no place to write to
        first.mutable = True
    operand = params[0].name
    return _derived(
        f,
        f.name + "_",
        "inplace",
        operand,
        params=params,
        c_params=c_params,
        torch=[t + "_" for t in f.torch if t.startswith(("Tensor.", "torch."))],
        result=dict(f.result, operand=operand),
        doc=dict(
            f.doc,
            brief=f"In-place form of `{f.name}`: {_uncapitalized(f.doc['brief'])}",
            returns=f"`{operand}` itself, without another count.",
        ),
        extends=_suffixed(f.extends, "_"),
    )


def _out(f: Function) -> Function:
    out = Param("out", "flam_tensor *", "tensor", mutable=True)
    dtype = ", of the result's dtype" if f.out == "exact" else ""
    plain = f.c_params[:-1] if f.options else f.c_params
    return _derived(
        f,
        f.name + "_out",
        "out",
        "out",
        exact=f.out == "exact",
        params=[*f.params, out],
        c_params=[*plain, out, *f.c_params[len(plain) :]],
        torch=[],
        result=dict(f.result, operand="out"),
        doc=dict(
            f.doc,
            params=f.doc["params"]
            | {"out": f"the destination{dtype}; resized where its shape differs."},
            brief=f"`{f.name}` into an existing tensor.",
            returns="`out` itself, without another count.",
        ),
        extends=_suffixed(f.extends, "_out"),
    )


def inputs_of(f: Function) -> list[Param]:
    """What the module of an operation takes when it is called: its tensors but the optional ones,
    which are buffers."""
    return [p for p in f.params if p.kind == "tensor" and not p.nullable]


def layer_name(f: Function) -> str:
    """The operation's own where the class has it (GELU of gelu), else the class in words, as
    Upsample of interpolate and BCELoss of binary_cross_entropy."""
    kind = f.layer.split("(")[0]
    if kind.lower() == f.op.replace("_", ""):
        return f.op
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kind).lower()


def _layer(f: Function) -> Function:
    """The module's constructor: it takes what its forward does not. Whether it trains is its
    mode."""
    left_out = {p.name for p in inputs_of(f)} | {"training"}
    params = [
        dataclasses.replace(p) for p in f.params if p.name not in left_out and p.kind != "out"
    ]
    options = [p for p in params if p.option and not p.count_of]
    alone = f.options and len(options) == 1 and not any(p.count_of for p in params if p.option)
    for p in params:
        p.option = p.option and not alone
        p.after = None
    names = {p.name for p in params if not p.option}
    plain = [dataclasses.replace(p) for p in params if p.name in names]
    held = [p for p in f.c_params if f.is_options(p) and not alone and options]
    brief = f.doc["brief"]
    return _derived(
        f,
        "flam_nn_" + layer_name(f),
        "layer",
        None,
        namespace="nn",
        target=f.op,
        extends=None,
        blocks=False,
        torch=[],
        params=params,
        c_params=plain + held,
        options=f.options if held else None,
        result={"kind": "handle", "type": "flam_module *", "nullable": False},
        doc=dict(
            f.doc,
            brief=f"`{f.name}` as a module: {brief[:1].lower()}{brief[1:]}",
            text="",
            returns="the module.",
            errors="`FLAM_ERROR_INVALID_ARGUMENT` for an option out of range.",
        ),
    )


def _retain(release: Function) -> Function:
    return _owner(
        release,
        "retain",
        borrowed=False,
        brief="Adds a count, which is the caller's, whatever frames are open.",
        returns="the same handle, which then needs one more release.",
    )


def _keep(release: Function) -> Function:
    return _owner(
        release,
        "keep",
        borrowed=True,
        brief="Moves a handle from the innermost frame to the one around it, or to the caller.",
        returns=f"`{release.params[0].name}` itself, without another count.",
    )


def _owner(release: Function, verb: str, borrowed: bool, **doc: str) -> Function:
    x, base = release.params[0], release.name.removesuffix("_release")
    constant = "" if borrowed else "const "
    param = dataclasses.replace(x, type=f"{constant}{base} *", nullable=False, mutable=borrowed)
    result = {"kind": "handle", "type": f"{base} *", "nullable": False}
    errors = "none but those of a failed operand."
    return _derived(
        release,
        f"{base}_{verb}",
        verb,
        x.name if borrowed else None,
        params=[param],
        c_params=[param],
        result=result | ({"operand": x.name} if borrowed else {}),
        blocks=False,
        doc=dict(release.doc, text="", params={x.name: "the handle."}, errors=errors, **doc),
    )
