"""The rule against inner functions that hold themselves finds them, alone and in pairs."""

import importlib.util
from pathlib import Path

_SPEC = importlib.util.spec_from_file_location("cycles", Path(__file__).with_name("cycles.py"))
rule = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(rule)


def test_a_function_that_calls_itself_is_found():
    text = "def f(x):\n    def g(y):\n        return [g(z) for z in y]\n    return g(x)\n"
    assert rule.cycles(text) == [(2, "g")]


def test_two_that_call_each_other_are_found():
    text = "def f():\n  if 1:\n    def g(): return h()\n    def h(): return g()\n  return g\n"
    assert rule.cycles(text) == [(3, "g"), (4, "h")]


def test_functions_of_the_module_and_methods_may():
    text = "def f(x):\n    return f(x)\nclass C:\n    def g(self):\n        return self.g()\n"
    assert rule.cycles(text + "def h():\n    def k(): return f(1)\n    return k\n") == []
