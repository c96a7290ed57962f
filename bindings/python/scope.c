/* Scopes of libflambeau for Python, as `flambeau._flambeau_scope`: modes for the length of a block
   or of a call.

   Invariant: a scope is begun and noted, and ended and forgotten, without an instruction of Python
   in between: an interrupt (Ctrl-C), which is raised between two of them, never leaves a mode on
   after its block. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *begin_name, *tokens_name, *failed_name;
static PyObject *end_scope; /* flam_scope_pop */

/* The token of the scope that `begin`, a tuple of a function and its arguments, opens: what the
   function returns, or the one entry of a tuple. None where there is nothing to do. */
static PyObject *begun(PyObject *self, PyObject *begin) {
  if (begin == Py_None) Py_RETURN_NONE;
  PyObject *function = PyTuple_GetItem(begin, 0);
  PyObject *rest = function == NULL ? NULL : PyTuple_GetSlice(begin, 1, PyTuple_Size(begin));
  PyObject *token = rest == NULL ? NULL : PyObject_CallObject(function, rest);
  Py_XDECREF(rest);
  if (token == Py_None) {
    Py_DECREF(token);
    return PyObject_CallMethodObjArgs(self, failed_name, NULL);
  }
  if (token != NULL && PyTuple_Check(token)) {
    PyObject *only = PyTuple_GetItem(token, 0);
    Py_XINCREF(only);
    Py_DECREF(token);
    token = only;
  }
  return token;
}

static PyObject *enter(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *begin = PyObject_GetAttr(self, begin_name);
  PyObject *tokens = begin == NULL ? NULL : PyObject_GetAttr(self, tokens_name);
  PyObject *token = tokens == NULL ? NULL : begun(self, begin);
  PyObject *entry = token == NULL ? NULL : Py_BuildValue("kN", PyThread_get_thread_ident(), token);
  const int failed = entry == NULL ? -1 : PyList_Append(tokens, entry);
  Py_XDECREF(begin);
  Py_XDECREF(tokens);
  Py_XDECREF(entry);
  if (failed) return NULL;
  Py_INCREF(self);
  return self;
}

/* Where the last of this thread's tokens is: threads may share an object. The last of all where
   there is none, for a thread's work may go on on another one. */
static Py_ssize_t last_of_thread(PyObject *tokens, Py_ssize_t count) {
  const unsigned long here = PyThread_get_thread_ident();
  for (Py_ssize_t i = count; i-- > 0;) {
    PyObject *ident = PyTuple_GetItem(PyList_GetItem(tokens, i), 0);
    if (ident != NULL && PyLong_AsUnsignedLong(ident) == here) return i;
  }
  return count - 1;
}

/* The token of the block that ends, taken out; None where there is none. */
static PyObject *taken(PyObject *tokens) {
  const Py_ssize_t count = PyList_Size(tokens);
  if (count < 0) return NULL;
  if (count == 0) Py_RETURN_NONE;
  const Py_ssize_t last = last_of_thread(tokens, count);
  PyObject *token = PyTuple_GetItem(PyList_GetItem(tokens, last), 1);
  Py_XINCREF(token);
  if (token != NULL && PyList_SetSlice(tokens, last, last + 1, NULL) != 0) Py_CLEAR(token);
  return token;
}

static PyObject *leave(PyObject *self, PyObject *exception) {
  (void)exception;
  PyObject *tokens = PyObject_GetAttr(self, tokens_name);
  PyObject *token = tokens == NULL ? NULL : taken(tokens);
  Py_XDECREF(tokens);
  if (token == NULL || token == Py_None) return token;
  PyObject *status = PyObject_CallFunctionObjArgs(end_scope, token, NULL);
  Py_DECREF(token);
  const int failed = status == NULL ? -1 : PyObject_IsTrue(status);
  Py_XDECREF(status);
  if (failed < 0) return NULL;
  if (failed) return PyObject_CallMethodObjArgs(self, failed_name, NULL);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, "Begins as `_begin` says: a function and its arguments."},
    {"__exit__", leave, METH_VARARGS,
     "Ends what this thread began last; `_tokens` has threads and tokens."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A mode for the length of a block."},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "flambeau._flambeau_scope.Scope",
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

/* A block around a call; the call's own exception wins over one from the block's end. */
static PyObject *within(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
  (void)module;
  if (count != 6) return PyErr_Format(PyExc_TypeError, "6 arguments are needed, got %zd", count);
  PyObject *type, *value, *traceback;
  PyObject *token = PyObject_CallFunctionObjArgs(arguments[1], arguments[2], NULL);
  if (token == NULL) return NULL;
  PyObject *result = PyObject_Call(arguments[3], arguments[4], arguments[5]);
  PyErr_Fetch(&type, &value, &traceback);
  PyObject *status = PyObject_CallFunctionObjArgs(end_scope, token, NULL);
  Py_DECREF(token);
  PyObject *done = status;
  if (status != NULL && PyObject_IsTrue(status)) {
    done = PyObject_CallFunctionObjArgs(arguments[0], NULL);
    Py_DECREF(status);
  }
  if (done == NULL) Py_CLEAR(result);
  Py_XDECREF(done);
  if (type != NULL) PyErr_Restore(type, value, traceback);
  return result;
}

/* Told by the package: the function lies in CFFI's module. */
static PyObject *ends_with(PyObject *module, PyObject *function) {
  (void)module;
  Py_INCREF(function);
  Py_XDECREF(end_scope);
  end_scope = function;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"ends_with", ends_with, METH_O, "ends_with(function): what ends a scope, given its token."},
    {"within", (PyCFunction)(void (*)(void))within, METH_FASTCALL,
     "within(unbalanced, begin, subject, function, args, kwargs): `function(*args, **kwargs)` in\n"
     "the scope that `begin(subject)` opens; `unbalanced()` is called where the function left one\n"
     "of its own open."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    "flambeau._flambeau_scope",
    "Scopes.",
    -1,
    functions,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__flambeau_scope(void) {
  begin_name = PyUnicode_InternFromString("_begin");
  tokens_name = PyUnicode_InternFromString("_tokens");
  failed_name = PyUnicode_InternFromString("_failed");
  PyObject *module = PyModule_Create(&module_def), *type = PyType_FromSpec(&spec);
  if (module != NULL && type != NULL && failed_name != NULL &&
      PyModule_AddObject(module, "Scope", type) == 0)
    return module;
  Py_XDECREF(type);
  Py_XDECREF(module);
  return NULL;
}
