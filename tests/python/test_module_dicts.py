"""ParameterDict and ModuleDict: what Python's own dictionary does with the same entries, and what
is no entry of theirs."""

from collections import OrderedDict

import flambeau as torch
import pytest

NN = torch.nn
MAKE = {
    NN.ParameterDict: lambda: NN.Parameter(torch.randn(2)),
    NN.ModuleDict: lambda: NN.Linear(1, 1),
}


@pytest.fixture(params=MAKE, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def same(held, wanted):
    """The same keys in the same order, each of the same object, seen in every way."""
    assert len(held) == len(wanted)
    assert [*held] == [*held.keys()] == [*wanted] and [*reversed(held)] == [*reversed(wanted)]
    assert all(a is b for a, b in zip(held.values(), wanted.values()))
    assert all(k in held and held[k] is v for k, v in wanted.items())
    assert [k for k, _ in held.items()] == [*wanted]


def both(kind, names):
    entries = OrderedDict((name, MAKE[kind]()) for name in names)
    return kind(entries), dict(entries)


def test_entries_come_and_go_as_in_a_dictionary(kind):
    held, wanted = both(kind, "cab")
    for name in "ad":
        held[name] = wanted[name] = MAKE[kind]()
    more = OrderedDict((name, MAKE[kind]()) for name in "fce")
    held.update(more), wanted.update(more)
    same(held, wanted)
    pairs = [(name, MAKE[kind]()) for name in "gb"]
    held.update(pairs), wanted.update(pairs)
    same(held, wanted)
    assert held.pop("c") is wanted.pop("c")
    del held["a"], wanted["a"]
    same(held, wanted)
    with pytest.raises(KeyError if kind is NN.ModuleDict else AttributeError):
        held.pop("a")
    held.clear()
    same(held, {})


def test_parameters_have_the_rest_of_the_protocol():
    held, wanted = both(NN.ParameterDict, "cab")
    copy = held.copy()
    assert type(copy) is NN.ParameterDict
    copy["z"] = MAKE[NN.ParameterDict]()
    same(held, wanted)
    assert held.setdefault("c", copy["z"]) is wanted["c"]
    assert held.setdefault("d", copy["z"]) is wanted.setdefault("d", copy["z"])
    same(held, wanted)
    assert held.popitem() == wanted.popitem()
    assert held.get("b") is wanted["b"] and held.get("x") is None and held.get("x", 1) == 1
    other, others = both(NN.ParameterDict, "xa")
    same(held | other, wanted | others)
    same(other | held, others | wanted)
    same(held, wanted)
    before = held
    held |= other
    wanted |= others
    assert held is before
    same(held, wanted)
    assert dict(held.fromkeys("pq").items()) == {"p": None, "q": None}
    filled = held.fromkeys("pq", torch.ones(1))
    assert type(filled["p"]) is NN.Parameter and type(filled) is NN.ParameterDict
    with pytest.raises(KeyError):
        NN.ParameterDict().popitem()


@pytest.mark.parametrize("key", [1, None, (1, 2), torch.ones(1)])
def test_keys_of_parameters_are_strings(key):
    held = NN.ParameterDict()
    for use in (
        lambda: held.__setitem__(key, torch.ones(1)),
        lambda: held[key],
        lambda: held.update([(key, torch.ones(1))]),
    ):
        with pytest.raises(TypeError, match="cannot be used as a key as it is not a string"):
            use()
    assert len(held) == 0 and not [*held.parameters()]


@pytest.mark.parametrize(
    "entries, error, words",
    [
        (3, TypeError, "should be called with an iterable of key/value pairs, but got int"),
        (None, TypeError, "key/value pairs, but got NoneType"),
        ([1], TypeError, "element #0 should be Iterable"),
        ([("a",)], ValueError, "element #0 has length 1; 2 is required"),
        ([("a", 1, 2)], ValueError, "element #0 has length 3; 2 is required"),
        ("ab", ValueError, "element #0 has length 1; 2 is required"),
    ],
)
def test_what_is_no_entry_is_named(kind, entries, error, words):
    with pytest.raises(error, match=words):
        kind().update(entries)
