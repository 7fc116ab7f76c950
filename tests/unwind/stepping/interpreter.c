// SPDX-License-Identifier: Apache-2.0
//
// Python for the stepping harness, as a library that was built with SFrame: calls that
// go from C to Python and back, a generator, an exception, a sort by a key.
#include <Python.h>

#include "stepping.h"

static const char text[] = "class Pair:\n"
                           "    def __init__(self, a, b):\n"
                           "        self.a, self.b = a, b\n"
                           "    def __lt__(self, other):\n"
                           "        return key(self) < key(other)\n"
                           "    def __repr__(self):\n"
                           "        return '<%s>' % [self.a, str(self.b)]\n"
                           "def key(pair):\n"
                           "    if pair.b is None:\n"
                           "        raise ValueError(repr(pair))\n"
                           "    return pair.b * 3 // 2\n"
                           "def pairs(n):\n"
                           "    for i in range(n):\n"
                           "        yield Pair(str(i), n - i)\n"
                           "found = sorted(pairs(3))\n"
                           "try:\n"
                           "    min(map(key, [found[0], Pair('x', None)]))\n"
                           "except ValueError as error:\n"
                           "    found = sum(map(len, str(error).split(',')), 0.5)\n";

static PyStatus start(void)
{
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    config.use_hash_seed = 1; // every run is alike
    config.module_search_paths_set = 1;
    PyWideStringList_Append(&config.module_search_paths, L"" PYTHON_LIBRARY);
    PyStatus status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    return status;
}

int main(void)
{
    if (PyStatus_Exception(start()))
        return 2;
    PyObject *code = Py_CompileString(text, "stepped", Py_file_input);
    PyObject *names = PyDict_New();
    if (code == NULL || names == NULL ||
        PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) != 0)
        return 2;
    stepping_begin();
    PyObject *done = PyEval_EvalCode(code, names, names);
    stepping_end();
    return done == NULL || PyDict_GetItemString(names, "found") == NULL;
}
