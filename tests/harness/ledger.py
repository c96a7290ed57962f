"""Reads bindings/api.jsonl, which the generator writes from the headers, one line a function."""

import functools
import json
import pathlib

PATH = pathlib.Path(__file__).resolve().parents[2] / "bindings/api.jsonl"
LISTS = {key: [] for key in ("torch", "forms", "operands", "options", "results", "errors")}


def rows(kind):
    """Rows of one kind by name: `handle`, `number`, `enum`, `struct` or `function`."""
    found = (json.loads(line) for line in PATH.read_text().splitlines())
    return {row[kind]: row for row in found if kind in row}


@functools.cache
def functions():
    """Functions by name; a list that a row leaves out is empty."""
    return {name: {**LISTS, **row} for name, row in rows("function").items()}


def parameters(row):
    """Operands and options in the order of a call in Python."""
    given = {p["name"]: p for p in row["operands"] + row["options"]}
    return [given[name] for name in row.get("order", given)]


def names(row):
    return [p["name"] for p in parameters(row)]


def in_place(row):
    """torch's spellings of the form that FLAM_INPLACE derives."""
    derived = "inplace" in row["forms"]
    return [s + "_" for s in row["torch"] if derived and s.startswith(("torch.", "Tensor."))]


@functools.cache
def ops():
    """Operations by name without `flam_`; one with two functions has the operands and options of
    the one that takes more.
    """
    found = {n: row for n, row in functions().items() if row["namespace"] == "ops"}
    for row in [row for row in found.values() if "extends" in row]:
        found[row["extends"]] = {**row, "function": row["extends"]}
        del found[row["function"]]
    return {name.removeprefix("flam_"): row for name, row in found.items()}
