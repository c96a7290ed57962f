"""Trees of tuples, lists, dicts and registered classes: flattened to leaves and a spec, and back.

Every container kind is one entry of `_KINDS`: how to take it apart and how to put it together."""

from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from typing import Any


def _dict_parts(tree):
    return list(tree.values()), list(tree)


def _dict_from(values, keys):
    return dict(zip(keys, values))


_dict_flatten, _dict_unflatten = _dict_parts, _dict_from  # torch's names, which packages call


@dataclass(frozen=True)
class MappingKey:
    """A place in a dictionary."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        return mapping[self.key]


def _dict_flatten_with_keys(tree):
    values, keys = _dict_parts(tree)
    return [(MappingKey(k), v) for k, v in zip(keys, values)], keys


_KINDS = {
    tuple: (lambda t: (list(t), None), lambda values, _: tuple(values)),
    list: (lambda t: (t, None), lambda values, _: list(values)),
    dict: (_dict_parts, _dict_from),
    OrderedDict: (_dict_parts, lambda values, keys: OrderedDict(zip(keys, values))),
    defaultdict: (
        lambda t: (list(t.values()), [t.default_factory, list(t)]),
        lambda values, about: defaultdict(about[0], zip(about[1], values)),
    ),
    deque: (lambda t: (list(t), t.maxlen), lambda values, maxlen: deque(values, maxlen=maxlen)),
}
_NAMED = "namedtuple"
_NAMED_KIND = lambda t: (list(t), type(t)), lambda values, cls: cls(*values)  # noqa: E731


@dataclass(frozen=True)
class TreeSpec:
    """The shape of a tree: the container's kind, what it needs to be rebuilt, the specs below."""

    type: Any
    _context: Any
    _children: list = field(default_factory=list)

    context = property(lambda self: self._context)

    def children(self):
        return list(self._children)

    num_children = property(lambda self: len(self._children))
    num_leaves = property(lambda self: sum(c.num_leaves for c in self._children))
    num_nodes = property(lambda self: 1 + sum(c.num_nodes for c in self._children))

    def is_leaf(self):
        return False

    def unflatten(self, leaves):
        return tree_unflatten(leaves, self)

    def __repr__(self):
        below = ",\n  ".join(repr(c).replace("\n", "\n  ") for c in self._children)
        name = _NAMED if self.type == _NAMED else self.type.__name__
        return f"TreeSpec({name}, {self._context}, [{below}])"


class LeafSpec(TreeSpec):
    """The shape of a leaf."""

    def __init__(self):
        super().__init__(None, None, [])

    num_leaves = num_nodes = 1

    def is_leaf(self):
        return True

    def __repr__(self):
        return "*"


PyTreeSpec = TreeSpec


def register_pytree_node(cls, flatten_fn, unflatten_fn, **names):
    """Makes instances of `cls` containers: `flatten_fn(x)` gives (children, context), and
    `unflatten_fn(children, context)` builds one."""
    if cls in _KINDS:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _KINDS[cls] = flatten_fn, unflatten_fn


_register_pytree_node = register_pytree_node


def _kind(tree, is_leaf):
    if is_leaf is not None and is_leaf(tree):
        return None
    kind = type(tree)
    if kind in _KINDS:
        return kind
    return _NAMED if issubclass(kind, tuple) and hasattr(kind, "_fields") else None


def _parts(tree, kind):
    return (_NAMED_KIND if kind == _NAMED else _KINDS[kind])[0](tree)


def tree_flatten(tree, is_leaf=None):
    """(leaves, spec): the leaves from left to right, and what `tree_unflatten` needs."""
    leaves = []
    return leaves, _spec_of(tree, is_leaf, leaves)


def _spec_of(node, is_leaf, leaves):
    kind = _kind(node, is_leaf)
    if kind is None:
        leaves.append(node)
        return LeafSpec()
    children, context = _parts(node, kind)
    return TreeSpec(kind, context, [_spec_of(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves, treespec):
    """The tree of this shape with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but "
            f"got item of type {type(treespec)}."
        )
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec "
            f"refers to a pytree that holds {treespec.num_leaves} items ({treespec})."
        )
    return _built(treespec, iter(leaves))


def _built(spec, rest):
    if spec.is_leaf():
        return next(rest)
    make = (_NAMED_KIND if spec.type == _NAMED else _KINDS[spec.type])[1]
    return make([_built(child, rest) for child in spec._children], spec._context)


def tree_iter(tree, is_leaf=None):
    """The leaves, one by one."""
    yield from tree_flatten(tree, is_leaf)[0]


def tree_leaves(tree, is_leaf=None):
    """The leaves as a list."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    """The spec alone."""
    return tree_flatten(tree, is_leaf)[1]


def _matching(tree, spec):
    """What stands in `tree` where `spec` has its leaves."""
    if spec.is_leaf():
        return [tree]
    kind = _kind(tree, None)
    if kind != spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {type(tree)!r}.")
    children, context = _parts(tree, kind)
    if kind in (dict, OrderedDict):  # the order of keys does not matter
        if set(context) != set(spec._context):
            raise ValueError(f"Node keys mismatch; expected {spec._context}, but got {context}.")
        children = [tree[key] for key in spec._context]
    if len(children) != len(spec._children):
        raise ValueError(
            f"Node arity mismatch; expected {len(spec._children)}, but got {len(children)}."
        )
    return [x for child, below in zip(children, spec._children) for x in _matching(child, below)]


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree of `func(leaf, ...)`, over one tree or several of the same shape."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [_matching(rest, spec) for rest in rests]
    return tree_unflatten([func(*parts) for parts in zip(leaves, *others)], spec)


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls `func` on every leaf and returns the tree as it is."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _only(kinds, func):
    """`func` on leaves of the kinds (a class, several, or a question), others as they are."""
    is_class = isinstance(kinds, (type, tuple))
    return lambda x: func(x) if (isinstance(x, kinds) if is_class else kinds(x)) else x


def map_only(type_or_types_or_pred, /):
    """A decorator: the function sees leaves of these kinds only."""
    return lambda func: _only(type_or_types_or_pred, func)


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """`tree_map` that leaves other kinds of leaves alone."""
    return tree_map(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether `pred` holds for every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether `pred` holds for some leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether `pred` holds for every leaf of these kinds."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether `pred` holds for some leaf of these kinds."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))
