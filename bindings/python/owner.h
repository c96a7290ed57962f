/* What the parts of `flambeau._flambeau_owner` know of each other. */
#pragma once
#include <Python.h>

typedef struct {
  PyObject_HEAD
  PyObject *handle; /* CFFI's pointer; None or NULL where nothing is owned */
  int remembered;   /* whether `objects` may have an entry of it */
} Owner;

/* A new object of `cls`, a class of owners, that owns `handle`, whose count is stolen; None for a
   NULL pointer. */
PyObject *flambeau_owned(PyObject *cls, PyObject *handle);

/* Puts the types `Function` and `Method`, and what they need to be told, into the module. */
int flambeau_add_functions(PyObject *module);
