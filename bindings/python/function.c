/* Functions and operators as torch shows them, as types of `flambeau._flambeau_owner`: a function
   of Python's, and where there is one the function of C that does the same for tensors alone.

   Invariant: called with as many tensors of the very class Tensor as C takes, and nothing else, it
   calls C at once, without a frame of Python, which would cost as much as a small operation. All
   else goes to the function of Python's, which alone knows numbers, options, `out`, mistakes and
   subclasses. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#include "owner.h"

/* Of the stable ABI since 3.12, with these meanings since 3.9. The function is there since 3.11. */
typedef PyObject *(*VectorCall)(PyObject *, PyObject *const *, size_t, PyObject *);
#define HAVE_VECTORCALL (1UL << 11)
#define METHOD_DESCRIPTOR (1UL << 17)
#define ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
__attribute__((weak)) PyObject *PyObject_Vectorcall(PyObject *, PyObject *const *, size_t,
                                                    PyObject *);

typedef struct {
  PyObject_HEAD
  VectorCall call;
  PyObject *function; /* Python's */
  PyObject *direct;   /* C's, by CFFI: handles of tensors -> that of a new one; or NULL */
  Py_ssize_t operands;
  PyObject *dict, *weak;
} Shown;

static PyObject *tensor_class, *raise_error, *method_type;

/* The handles of as many arguments, all of the class Tensor, as a tuple; NULL without an error
   where one is something else. */
static PyObject *handles(PyObject *const *arguments, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    if ((PyObject *)Py_TYPE(arguments[i]) != tensor_class) return NULL;
    PyObject *handle = ((Owner *)arguments[i])->handle;
    if (handle == NULL || handle == Py_None) return NULL;
  }
  PyObject *found = PyTuple_New(count);
  for (Py_ssize_t i = 0; i < count && found != NULL; ++i) {
    PyObject *handle = ((Owner *)arguments[i])->handle;
    Py_INCREF(handle);
    PyTuple_SetItem(found, i, handle);
  }
  return found;
}

static PyObject *direct_call(PyObject *direct, PyObject *operands) {
  PyObject *handle = PyObject_CallObject(direct, operands);
  PyObject *made = handle == NULL ? NULL : flambeau_owned(tensor_class, handle);
  if (made != Py_None) return made;
  Py_DECREF(made);
  return PyObject_CallObject(raise_error, NULL);
}

/* Positional arguments as a tuple, those after them by their names. */
static PyObject *call_by_tuple(PyObject *function, PyObject *const *arguments, Py_ssize_t n,
                               PyObject *names) {
  PyObject *given = PyTuple_New(n), *named = names == NULL ? NULL : PyDict_New();
  int failed = given == NULL || (names != NULL && named == NULL);
  for (Py_ssize_t i = 0; i < n && !failed; ++i) {
    Py_INCREF(arguments[i]);
    PyTuple_SetItem(given, i, arguments[i]);
  }
  for (Py_ssize_t i = 0; names != NULL && i < PyTuple_Size(names) && !failed; ++i)
    failed = PyDict_SetItem(named, PyTuple_GetItem(names, i), arguments[n + i]) != 0;
  PyObject *result = failed ? NULL : PyObject_Call(function, given, named);
  Py_XDECREF(given);
  Py_XDECREF(named);
  return result;
}

static PyObject *shown_call(PyObject *object, PyObject *const *arguments, size_t count,
                            PyObject *names) {
  Shown *self = (Shown *)object;
  const Py_ssize_t n = (Py_ssize_t)(count & ~ARGUMENTS_OFFSET);
  if (n == self->operands && names == NULL) {
    PyObject *operands = handles(arguments, n);
    if (operands != NULL) {
      PyObject *made = direct_call(self->direct, operands);
      Py_DECREF(operands);
      return made;
    }
    if (PyErr_Occurred()) return NULL;
  }
  if (self->function == NULL) { /* cleared with a dead cycle that another object of it calls from */
    PyErr_SetString(PyExc_ReferenceError, "the function is gone");
    return NULL;
  }
  if (PyObject_Vectorcall == NULL) return call_by_tuple(self->function, arguments, n, names);
  return PyObject_Vectorcall(self->function, arguments, count, names);
}

/* Where there is a tuple of arguments already, as in `f(*arguments)`. */
static PyObject *shown_call_tuple(PyObject *self, PyObject *arguments, PyObject *named) {
  PyObject *function = ((Shown *)self)->function;
  if (function == NULL) return shown_call(self, NULL, 0, NULL); /* says so */
  return PyObject_Call(function, arguments, named);
}

/* Type(function, direct=None, operands=0) */
static PyObject *shown_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
  PyObject *function, *direct = Py_None;
  Py_ssize_t operands = 0;
  static char *words[] = {"function", "direct", "operands", NULL};
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "O|On", words, &function, &direct, &operands))
    return NULL;
  Shown *self = (Shown *)PyType_GenericAlloc(type, 0);
  if (self == NULL) return NULL;
  self->call = shown_call;
  Py_INCREF(function);
  self->function = function;
  self->operands = -1; /* of no call */
  if (direct != Py_None) {
    Py_INCREF(direct);
    self->direct = direct;
    self->operands = operands;
  }
  return (PyObject *)self;
}

static int shown_traverse(PyObject *object, visitproc visit, void *arg) {
  Shown *self = (Shown *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->function);
  Py_VISIT(self->direct);
  Py_VISIT(self->dict);
  return 0;
}

static int shown_clear(PyObject *object) {
  Shown *self = (Shown *)object;
  self->operands = -1;
  Py_CLEAR(self->function);
  Py_CLEAR(self->direct);
  Py_CLEAR(self->dict);
  return 0;
}

static void shown_dealloc(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (((Shown *)object)->weak != NULL) PyObject_ClearWeakRefs(object);
  shown_clear(object);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyObject *shown_repr(PyObject *self) {
  PyObject *name = PyObject_GetAttrString(self, "__name__");
  PyObject *text = name == NULL ? NULL : PyUnicode_FromFormat("<function %S at %p>", name, self);
  Py_XDECREF(name);
  return text;
}

static PyObject *function_get(PyObject *self, PyObject *instance, PyObject *type) {
  (void)instance, (void)type;
  Py_INCREF(self);
  return self;
}

static PyObject *method_get(PyObject *self, PyObject *instance, PyObject *type) {
  if (instance == NULL || instance == Py_None) return function_get(self, instance, type);
  return PyObject_CallFunctionObjArgs(method_type, self, instance, NULL);
}

static PyObject *shown_signature(PyObject *self, void *unused) {
  (void)unused;
  PyObject *inspect = PyImport_ImportModule("inspect"), *found = NULL;
  if (inspect != NULL)
    found = PyObject_CallMethod(inspect, "signature", "O", ((Shown *)self)->function);
  Py_XDECREF(inspect);
  return found;
}

static PyObject *shown_function(PyObject *self, void *unused) {
  (void)unused;
  PyObject *function = ((Shown *)self)->function;
  Py_INCREF(function);
  return function;
}

/* From now on every call is the new function's. */
static int shown_set_function(PyObject *self, PyObject *value, void *unused) {
  (void)unused;
  if (value == NULL) {
    PyErr_SetString(PyExc_AttributeError, "func cannot be deleted");
    return -1;
  }
  PyObject *before = ((Shown *)self)->function;
  Py_INCREF(value);
  ((Shown *)self)->operands = -1;
  ((Shown *)self)->function = value;
  Py_XDECREF(before);
  return 0;
}

static PyGetSetDef shown_members[] = {
    {"__signature__", shown_signature, NULL, NULL, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {"func", shown_function, shown_set_function, "The function of Python's.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef shown_offsets[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Shown, call), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(Shown, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Shown, weak), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

#define SHOWN_SLOTS(doc, get)                                                                \
  {Py_tp_doc, doc}, {Py_tp_new, shown_new}, {Py_tp_traverse, shown_traverse},                \
      {Py_tp_clear, shown_clear}, {Py_tp_dealloc, shown_dealloc}, {Py_tp_repr, shown_repr},  \
      {Py_tp_descr_get, get}, {Py_tp_call, shown_call_tuple}, {Py_tp_getset, shown_members}, \
      {Py_tp_members, shown_offsets}, {                                                      \
    0, NULL                                                                                  \
  }

static PyType_Slot function_slots[] = {
    SHOWN_SLOTS("A function under the name that torch shows it by; no method of a class that "
                "holds it.",
                function_get)};
static PyType_Slot method_slots[] = {
    SHOWN_SLOTS("The same as a method of the class that holds it.", method_get)};

#define FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE | HAVE_VECTORCALL)

static PyType_Spec function_spec = {
    .name = "flambeau._flambeau_owner.Function",
    .basicsize = sizeof(Shown),
    .flags = FLAGS,
    .slots = function_slots,
};

static PyType_Spec method_spec = {
    .name = "flambeau._flambeau_owner.Method",
    .basicsize = sizeof(Shown),
    .flags = FLAGS | METHOD_DESCRIPTOR,
    .slots = method_slots,
};

static PyObject *call_with(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *cls, *raise;
  if (!PyArg_ParseTuple(arguments, "OO", &cls, &raise)) return NULL;
  Py_INCREF(cls);
  Py_INCREF(raise);
  tensor_class = cls;
  raise_error = raise;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"call_with", call_with, METH_VARARGS,
     "call_with(Tensor, raise_error): the class of what functions called directly return, and "
     "what\n"
     "raises the error where they have none. Before that none is called directly."},
    {NULL, NULL, 0, NULL},
};

int flambeau_add_functions(PyObject *module) {
  PyObject *types = PyImport_ImportModule("types");
  if (types != NULL) method_type = PyObject_GetAttrString(types, "MethodType");
  Py_XDECREF(types);
  PyObject *function = PyType_FromSpec(&function_spec), *method = PyType_FromSpec(&method_spec);
  if (method_type == NULL || function == NULL || method == NULL) return -1;
  if (PyModule_AddObjectRef(module, "Function", function) != 0) return -1;
  if (PyModule_AddObjectRef(module, "Method", method) != 0) return -1;
  Py_DECREF(function);
  Py_DECREF(method);
  return PyModule_AddFunctions(module, functions);
}
