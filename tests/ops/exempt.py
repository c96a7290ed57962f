"""Functions of the op headers that need no row, and where they are tested instead. Nothing else may be missing."""

REASONS = {
    "scalar_f64": "makes a wrapped number: tests/python",
    "scalar_i64": "makes a wrapped number: tests/python",
    "scalar_bool": "makes a wrapped number: tests/python",
}
