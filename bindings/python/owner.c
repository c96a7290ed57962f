/* What Python objects that own a handle of libflambeau are made of, as `flambeau._flambeau_owner`,
   and the functions that take them.

   Invariant: a handle that a call returns has an owner before Python runs another instruction, and
   its release is no instruction of Python either. An interrupt (Ctrl-C) is raised between two of
   them: between the call and its owner it would leak the handle, within a `__del__` it would be
   printed and lost.

   What a tensor's hooks refer to is for Python's garbage collector what the tensor refers to, as
   long as nothing but the object owns the tensor: else a model whose hook knows the model would
   never be freed. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

#include "owner.h"

static PyTypeObject *owner_type, *tensor_type;
static PyObject *release_name; /* the class attribute that holds the release function */
static PyObject *objects;      /* by handle: weakly, those that views were taken of, and leaves */

static PyObject *alive; /* what the library refers to; unseen by the collector */
static int64_t (*use_count)(const void *tensor);

/* An owner of a tensor. */
typedef struct {
  Owner owner;
  const void *tensor; /* where `hung` is, the handle's address */
  PyObject *hung;     /* a list of what hooks of the tensor are kept by; NULL before the first */
} TensorOwner;

/* What `objects` has for a handle: an object, Py_None for one that is gone, NULL for nothing. */
static PyObject *known(PyObject *handle) {
  PyObject *reference = PyDict_GetItemWithError(objects, handle);
  return reference == NULL ? NULL : PyWeakref_GetObject(reference);
}

/* The object is without its handle first: what the release frees may run code that sees the object.
   Weak references to it are dead by now; a live one is of another owner of the handle. */
static void release(PyTypeObject *type, Owner *self) {
  PyObject *kind, *value, *traceback, *done = NULL, *handle = self->handle;
  PyErr_Fetch(&kind, &value, &traceback);
  self->handle = NULL;
  if (self->remembered && known(handle) == Py_None) PyDict_DelItem(objects, handle);
  PyObject *function = PyObject_GetAttr((PyObject *)type, release_name);
  if (function != NULL) done = PyObject_CallFunctionObjArgs(function, handle, NULL);
  if (done == NULL) PyErr_WriteUnraisable((PyObject *)type);
  Py_XDECREF(done);
  Py_XDECREF(function);
  Py_DECREF(handle);
  PyErr_Restore(kind, value, traceback);
}

/* Here and in no finalizer: a class may define `__del__`, and other objects of a dead cycle use a
   tensor in theirs. */
static void dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject *handle = ((Owner *)self)->handle;
  if (handle != NULL && handle != Py_None) release(type, (Owner *)self);
  Py_XDECREF(((Owner *)self)->handle);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

/* Whether the tensor has hooks and ends with this object. */
static int ends_alone(TensorOwner *self) {
  return self->hung != NULL && self->owner.handle != NULL && use_count(self->tensor) == 1;
}

/* One count more where `alive` has the hook, too: this tensor is who it is alive for. A hook that
   was removed is in `hung` alone. */
static int tensor_traverse(PyObject *object, visitproc visit, void *arg) {
  TensorOwner *self = (TensorOwner *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->hung);
  if (!ends_alone(self)) return 0;
  for (Py_ssize_t i = 0; i < PyList_Size(self->hung); ++i) {
    PyObject *kept = PyList_GetItem(self->hung, i);
    if (Py_REFCNT(kept) > 1) Py_VISIT(kept);
  }
  return 0;
}

static int tensor_clear(PyObject *object) {
  TensorOwner *self = (TensorOwner *)object;
  if (!ends_alone(self)) return 0;
  release(Py_TYPE(object), &self->owner);
  Py_CLEAR(self->hung);
  return 0;
}

static void tensor_dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  Py_CLEAR(((TensorOwner *)object)->hung); /* `alive` has what the tensor still needs */
  dealloc(object);
}

static PyMemberDef members[] = {
    {"_h", T_OBJECT_EX, offsetof(Owner, handle), READONLY, "The handle, a CFFI pointer."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot owner_slots[] = {
    {Py_tp_doc, "Owns the handle `_h`, which the class's `_release_handle` releases."},
    {Py_tp_members, members},
    {Py_tp_dealloc, dealloc},
    {0, NULL},
};

static PyType_Spec owner_spec = {
    .name = "flambeau._flambeau_owner.Owner",
    .basicsize = sizeof(Owner),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = owner_slots,
};

static PyType_Slot tensor_slots[] = {
    {Py_tp_doc, "Owns a tensor, and shows the collector what hooks of it refer to."},
    {Py_tp_traverse, tensor_traverse},
    {Py_tp_clear, tensor_clear},
    {Py_tp_dealloc, tensor_dealloc},
    {0, NULL},
};

static PyType_Spec tensor_spec = {
    .name = "flambeau._flambeau_owner.TensorOwner",
    .basicsize = sizeof(TensorOwner),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = tensor_slots,
};

PyObject *flambeau_owned(PyObject *cls, PyObject *handle) {
  int there = PyObject_IsTrue(handle);
  if (there <= 0) {
    Py_DECREF(handle);
    if (there < 0) return NULL;
    Py_RETURN_NONE;
  }
  PyObject *self = PyType_GenericAlloc((PyTypeObject *)cls, 0);
  if (self == NULL) {
    Py_DECREF(handle);
    return NULL;
  }
  ((Owner *)self)->handle = handle;
  return self;
}

static int is_owner_class(PyObject *cls) {
  if (PyType_Check(cls) && PyType_IsSubtype((PyTypeObject *)cls, owner_type)) return 1;
  PyErr_SetString(PyExc_TypeError, "argument 1 must be a class of owners");
  return 0;
}

/* `arguments[0](*arguments[1:])`. */
static PyObject *called(PyObject *const *arguments, Py_ssize_t count) {
  PyObject *rest = PyTuple_New(count - 1);
  if (rest == NULL) return NULL;
  for (Py_ssize_t i = 1; i < count; ++i) {
    Py_INCREF(arguments[i]);
    PyTuple_SetItem(rest, i - 1, arguments[i]);
  }
  PyObject *result = PyObject_CallObject(arguments[0], rest);
  Py_DECREF(rest);
  return result;
}

static int enough(Py_ssize_t count, Py_ssize_t wanted) {
  if (count < wanted) PyErr_Format(PyExc_TypeError, "at least %zd arguments are needed", wanted);
  return count >= wanted;
}

static PyObject *own(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
  (void)module;
  if (!enough(count, 2) || !is_owner_class(arguments[0])) return NULL;
  PyObject *handle = called(arguments + 1, count - 1);
  return handle == NULL ? NULL : flambeau_owned(arguments[0], handle);
}

/* Weakly, in `objects`, until it ends: a tensor, or those of a list. */
static int remember(PyObject *shown) {
  int failed = 0;
  if (PyObject_TypeCheck(shown, owner_type)) {
    Owner *self = (Owner *)shown;
    if (self->handle == NULL || known(self->handle) == shown) return 0;
    PyObject *reference = PyWeakref_NewRef(shown, NULL);
    if (reference == NULL) return -1;
    self->remembered = 1;
    failed = PyDict_SetItem(objects, self->handle, reference);
    Py_DECREF(reference);
  } else if (PyList_Check(shown) || PyTuple_Check(shown)) {
    for (Py_ssize_t i = 0; i < PySequence_Size(shown) && !failed; ++i) {
      PyObject *one = PySequence_GetItem(shown, i);
      failed = one == NULL || remember(one) != 0 ? -1 : 0;
      Py_XDECREF(one);
    }
  }
  return failed;
}

static PyObject *remember_one(PyObject *module, PyObject *shown) {
  (void)module;
  if (remember(shown) != 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject *own_view(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
  (void)module;
  if (!enough(count, 3) || !is_owner_class(arguments[0])) return NULL;
  PyObject *handle = called(arguments + 2, count - 2);
  PyObject *view = handle == NULL ? NULL : flambeau_owned(arguments[0], handle);
  if (view != NULL && view != Py_None && remember(arguments[1]) != 0) Py_CLEAR(view);
  return view;
}

/* What `cells`, each an array of one value, hold, as a tuple: owners, or where there is None for a
   class the values. */
static PyObject *taken(PyObject *classes, PyObject *const *cells, Py_ssize_t count) {
  PyObject *made = PyTuple_New(count), *zero = PyLong_FromLong(0);
  for (Py_ssize_t i = 0; i < count && made != NULL; ++i) {
    PyObject *cls = PyTuple_GetItem(classes, i), *one = PyObject_GetItem(cells[i], zero);
    if (one != NULL && cls != Py_None) one = flambeau_owned(cls, one);
    if (one == NULL)
      Py_CLEAR(made);
    else
      PyTuple_SetItem(made, i, one);
  }
  Py_XDECREF(zero);
  return made;
}

static PyObject *own_each(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
  (void)module;
  const Py_ssize_t cells = count > 0 ? PyTuple_Size(arguments[0]) : 0;
  if (cells < 0 || !enough(count, cells + 2)) return NULL;
  for (Py_ssize_t i = 0; i < cells; ++i) {
    PyObject *cls = PyTuple_GetItem(arguments[0], i);
    if (cls != Py_None && !is_owner_class(cls)) return NULL;
  }
  PyObject *status = called(arguments + 1, count - 1);
  const int failed = status == NULL ? -1 : PyObject_IsTrue(status);
  Py_XDECREF(status);
  if (failed < 0) return NULL;
  if (failed) Py_RETURN_NONE;
  return taken(arguments[0], arguments + count - cells, cells);
}

/* The list with one more, without those of removed hooks, so that a program which sets and removes
   one a step keeps few. A new list: what goes may run code that hangs more here. */
static PyObject *hung_with(PyObject *hung, PyObject *kept) {
  PyObject *made = PyList_New(0);
  const Py_ssize_t n = hung == NULL ? 0 : PyList_Size(hung);
  for (Py_ssize_t i = 0; i < n && made != NULL; ++i) {
    PyObject *one = PyList_GetItem(hung, i);
    if (Py_REFCNT(one) > 1 && PyList_Append(made, one) != 0) Py_CLEAR(made);
  }
  if (made != NULL && PyList_Append(made, kept) != 0) Py_CLEAR(made);
  return made;
}

static PyObject *count_uses_by(PyObject *module, PyObject *address) {
  (void)module;
  void *function = PyLong_AsVoidPtr(address);
  if (function == NULL) return NULL;
  use_count = (int64_t (*)(const void *))(uintptr_t)function;
  Py_RETURN_NONE;
}

static PyObject *hang(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *object, *kept;
  unsigned long long tensor;
  if (!PyArg_ParseTuple(arguments, "OOK", &object, &kept, &tensor)) return NULL;
  if (!PyObject_TypeCheck(object, tensor_type)) {
    PyErr_SetString(PyExc_TypeError, "argument 1 must be an owner of a tensor");
    return NULL;
  }
  TensorOwner *self = (TensorOwner *)object;
  self->tensor = (const void *)(uintptr_t)tensor;
  PyObject *before = self->hung, *now = hung_with(before, kept);
  if (now == NULL) return NULL;
  self->hung = now;
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

/* Two tensors' owners exchange what they own, and what its hooks are kept by. */
static PyObject *exchange(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *one, *other;
  if (!PyArg_ParseTuple(arguments, "OO", &one, &other)) return NULL;
  if (!PyObject_TypeCheck(one, tensor_type) || !PyObject_TypeCheck(other, tensor_type)) {
    PyErr_SetString(PyExc_TypeError, "both arguments must be owners of tensors");
    return NULL;
  }
  TensorOwner *a = (TensorOwner *)one, *b = (TensorOwner *)other;
  const TensorOwner before = *a;
  a->owner.handle = b->owner.handle, a->owner.remembered = b->owner.remembered;
  a->tensor = b->tensor, a->hung = b->hung;
  b->owner.handle = before.owner.handle, b->owner.remembered = before.owner.remembered;
  b->tensor = before.tensor, b->hung = before.hung;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"own", (PyCFunction)(void (*)(void))own, METH_FASTCALL,
     "own(cls, function, *args): an object of `cls` that owns the handle which `function(*args)`\n"
     "returns; None for NULL."},
    {"own_view", (PyCFunction)(void (*)(void))own_view, METH_FASTCALL,
     "own_view(cls, shown, function, *args): the same of views of `shown`, a tensor or a list of\n"
     "them, which `objects` remembers."},
    {"hang", hang, METH_VARARGS,
     "hang(tensor, kept, address): `kept`, which is in `alive`, keeps a hook of the tensor, whose\n"
     "handle has this address."},
    {"count_uses_by", count_uses_by, METH_O,
     "count_uses_by(address): of the library's function that counts how often a tensor is used."},
    {"exchange", exchange, METH_VARARGS,
     "exchange(one, other): each of two tensors owns what the other did."},
    {"remember", remember_one, METH_O, "remember(tensor): puts it into `objects`."},
    {"own_each", (PyCFunction)(void (*)(void))own_each, METH_FASTCALL,
     "own_each(classes, function, *args): a tuple of owners of what `function` puts into its last\n"
     "arguments, one cell a class: None for NULL, and the value itself where the class is None.\n"
     "None where the status is no success."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    "flambeau._flambeau_owner",
    "Owners of handles.",
    -1,
    functions,
    NULL,
    NULL,
    NULL,
    NULL,
};

/* One name more in `module`, which gets a count of its own. */
static int add(PyObject *module, const char *name, PyObject *value) {
  Py_XINCREF(value);
  if (value != NULL && PyModule_AddObject(module, name, value) == 0) return 0;
  Py_XDECREF(value);
  return -1;
}

PyMODINIT_FUNC PyInit__flambeau_owner(void) {
  PyObject *module = PyModule_Create(&module_def);
  if (module == NULL) return NULL;
  owner_type = (PyTypeObject *)PyType_FromSpec(&owner_spec);
  release_name = PyUnicode_InternFromString("_release_handle");
  objects = PyDict_New();
  PyObject *bases = owner_type == NULL ? NULL : PyTuple_Pack(1, owner_type);
  if (bases != NULL) tensor_type = (PyTypeObject *)PyType_FromSpecWithBases(&tensor_spec, bases);
  Py_XDECREF(bases);
  alive = PySet_New(NULL);
  if (alive != NULL) PyObject_GC_UnTrack(alive);
  if (release_name == NULL || add(module, "TensorOwner", (PyObject *)tensor_type) != 0 ||
      add(module, "alive", alive) != 0 || add(module, "Owner", (PyObject *)owner_type) != 0 ||
      add(module, "objects", objects) != 0 || flambeau_add_functions(module) != 0)
    Py_CLEAR(module);
  return module;
}
