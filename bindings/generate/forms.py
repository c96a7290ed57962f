"""Functions that a declaration brings along: FLAM_INPLACE and FLAM_OUT the forms that write into
what is there, the release of a handle type its `retain` and `keep`.
"""

from __future__ import annotations

import dataclasses

from model import Function, Param


def of(f: Function) -> list[Function]:
    if f.name.endswith("_release") and f.namespace == "capi" and len(f.params) == 1:
        return [_retain(f), _keep(f)]
    return ([_inplace(f)] if f.inplace else []) + ([_out(f)] if f.out else [])


def _derived(f: Function, name: str, form: str, operand: str | None, **more) -> Function:
    """A form of `f`; `operand` is the one whose own handle it returns."""
    return dataclasses.replace(
        f,
        name=name,
        form=form,
        base=f.name,
        borrowed=operand,
        inplace=False,
        out=False,
        autocast={},
        **more,
    )


def _inplace(f: Function) -> Function:
    params, c_params = ([dataclasses.replace(p) for p in given] for given in (f.params, f.c_params))
    for first in (params[0], c_params[0]):
        first.type = first.type.replace("const ", "")
        first.mutable = True
    operand, brief = params[0].name, f.doc["brief"]
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
            brief=f"In-place form of `{f.name}`: {brief[:1].lower()}{brief[1:]}",
            returns=f"`{operand}` itself, without another count.",
        ),
    )


def _out(f: Function) -> Function:
    out = Param("out", "flam_tensor *", "tensor", mutable=True)
    plain = f.c_params[:-1] if f.options else f.c_params
    return _derived(
        f,
        f.name + "_out",
        "out",
        "out",
        params=[*f.params, out],
        c_params=[*plain, out, *f.c_params[len(plain) :]],
        torch=[],
        result=dict(f.result, operand="out"),
        doc=dict(
            f.doc,
            params=f.doc["params"] | {"out": "the destination; resized where its shape differs."},
            brief=f"`{f.name}` into an existing tensor.",
            returns="`out` itself, without another count.",
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
