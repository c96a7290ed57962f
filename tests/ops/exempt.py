"""Functions of the op headers that need no row here, and where they are tested instead."""

REASONS = {
    "scalar_f64": "makes a wrapped number: tests/python/test_tensor.py",
    "scalar_i64": "makes a wrapped number: tests/python/test_tensor.py",
    "scalar_bool": "makes a wrapped number: tests/python/test_tensor.py",
    "gumbel_softmax": "draws noise: tests/python/test_layers_random.py",
}

# Whole headers whose functions have tests of their own; a header that is not named here needs rows.
HEADERS = {
    "attention.h": "tests/python/test_functions_golden.py",
    "conv.h": "tests/python/test_layers_ops.py",
    "creation.h": "tests/python/test_tensor.py",
    "distance.h": "tests/python/test_functions_golden.py",
    "embedding.h": "tests/python/test_functions_golden.py",
    "image.h": "tests/python/test_functions_golden.py",
    "index.h": "tests/kernels/index_test.cc",
    "margin.h": "tests/python/test_functions_golden.py",
    "matmul.h": "tests/python/test_layers_ops.py",
    "norm.h": "tests/python/test_layers_ops.py",
    "pad.h": "tests/python/test_functions_golden.py",
    "pool.h": "tests/python/test_layers_ops.py",
    "random.h": "tests/kernels/random_test.cc",
    "recurrent.h": "tests/python/test_layers_golden.py",
}
