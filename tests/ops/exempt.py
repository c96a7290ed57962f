"""Functions of the op headers that need no row here, and where they are tested instead."""

REASONS = {
    "scalar_f64": "makes a wrapped number: tests/python/test_tensor.py",
    "scalar_i64": "makes a wrapped number: tests/python/test_tensor.py",
    "scalar_bool": "makes a wrapped number: tests/python/test_tensor.py",
}

# Whole headers whose functions have tests of their own; a header that is not named here needs rows.
HEADERS = {
    "conv.h": "tests/python/test_layers_ops.py",
    "creation.h": "tests/python/test_tensor.py",
    "index.h": "tests/kernels/index_test.cc",
    "matmul.h": "tests/python/test_layers_ops.py",
    "norm.h": "tests/python/test_layers_ops.py",
    "pool.h": "tests/python/test_layers_ops.py",
    "random.h": "tests/kernels/random_test.cc",
}
