"""Functions of the op headers that have no row here, and the tests they have instead."""

FUNCTIONS = {}

# Whole headers; a header that is not named here needs rows.
HEADERS = {
    "attention.h": "tests/python/test_functions_golden.py",
    "distance.h": "tests/python/test_functions_golden.py",
    "embedding.h": "tests/python/test_functions_golden.py",
    "image.h": "tests/python/test_functions_golden.py",
    "margin.h": "tests/python/test_functions_golden.py",
    "pad.h": "tests/python/test_functions_golden.py",
    "recurrent.h": "tests/python/test_layers_golden.py",
}
