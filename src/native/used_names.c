/* Which parts of a text use which names; see `findspot.chunk.capsule`. */
#include "native.h"

typedef struct {
    const char *at; /* NULL: this place of the table is free */
    Py_ssize_t size;
    Py_ssize_t first; /* the first of its pairs; the others follow in `same` */
} Name;

typedef struct {
    Name *table; /* at most half of it is used */
    size_t size;
    Py_ssize_t *same; /* pair → the next pair with its name; -1: none */
    Py_ssize_t *part; /* pair → the last part that its name was found in, from 1 on */
} Names;

static unsigned char in_words[256];

static void fill_in_words(void) {
    for (int byte = 0; byte < 128; byte++)
        in_words[byte] = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                         (byte >= '0' && byte <= '9') || byte == '_';
}

static Name *name_at(const Names *names, const char *at, Py_ssize_t size) {
    uint32_t hash = 2166136261u;
    for (Py_ssize_t place = 0; place < size; place++)
        hash = (hash ^ (unsigned char)at[place]) * 16777619u;
    for (size_t slot = hash & (names->size - 1);; slot = (slot + 1) & (names->size - 1)) {
        Name *name = &names->table[slot];
        if (name->at == NULL || (name->size == size && memcmp(name->at, at, (size_t)size) == 0))
            return name;
    }
}

/* Return the text of an ASCII str, which lives as long as the str does; NULL with an exception. */
static const char *ascii_of(PyObject *text, Py_ssize_t *size) {
    if (text == NULL)
        return NULL;
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "used_names() takes a str, two lists of int and a list of pairs");
        return NULL;
    }
    const char *at = PyUnicode_AsUTF8AndSize(text, size);
    if (at != NULL && *size != PyUnicode_GetLength(text)) {
        PyErr_SetString(PyExc_ValueError, "used_names() takes ASCII only");
        return NULL;
    }
    return at;
}

static int fill_names(Names *names, PyObject *pairs, Py_ssize_t number) {
    names->size = 16;
    while (names->size < 2 * (size_t)number)
        names->size *= 2;
    names->table = calloc(names->size, sizeof(Name));
    names->same = malloc(((size_t)number + 1) * sizeof(Py_ssize_t));
    names->part = calloc((size_t)number + 1, sizeof(Py_ssize_t));
    if (!names->table || !names->same || !names->part) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t pair = number - 1; pair >= 0; pair--) {
        PyObject *item = PyList_GetItem(pairs, pair);
        if (item != NULL && !PyTuple_Check(item)) {
            PyErr_SetString(PyExc_TypeError, "used_names() takes a list of pairs");
            return -1;
        }
        Py_ssize_t size;
        const char *at = item == NULL ? NULL : ascii_of(PyTuple_GetItem(item, 0), &size);
        if (at == NULL)
            return -1;
        Name *name = name_at(names, at, size);
        names->same[pair] = name->at == NULL ? -1 : name->first;
        *name = (Name){at, size, pair};
    }
    return 0;
}

/* Return the pairs whose names are words of a part, in the order of the pairs. */
static PyObject *names_of_part(Names *names, PyObject *pairs, Py_ssize_t number, Py_ssize_t part, const char *at,
                               const char *end) {
    Py_ssize_t found = 0;
    while (at < end) {
        if (!in_words[(unsigned char)*at]) {
            at++;
            continue;
        }
        const char *start = at;
        while (at < end && in_words[(unsigned char)*at])
            at++;
        Name *name = name_at(names, start, at - start);
        if (name->at == NULL || names->part[name->first] == part)
            continue;
        for (Py_ssize_t pair = name->first; pair >= 0; pair = names->same[pair]) {
            names->part[pair] = part;
            found++;
        }
    }
    PyObject *used = PyList_New(0);
    for (Py_ssize_t pair = 0; used != NULL && found > 0 && pair < number; pair++) {
        if (names->part[pair] != part)
            continue;
        PyObject *item = PyList_GetItem(pairs, pair);
        if (item == NULL || PyList_Append(used, item) < 0)
            Py_CLEAR(used);
    }
    return used;
}

/* used_names(text: str, starts: list[int], ends: list[int], names: list[tuple[str, …]]) → the names of each part */
static PyObject *used_names(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *text, *starts, *ends, *pairs, *used = NULL;
    Names names = {0};
    Py_ssize_t size;
    if (!PyArg_ParseTuple(arguments, "OO!O!O!:used_names", &text, &PyList_Type, &starts, &PyList_Type, &ends,
                          &PyList_Type, &pairs))
        return NULL;
    const char *at = ascii_of(text, &size);
    Py_ssize_t parts = PyList_Size(starts), number = PyList_Size(pairs);
    if (at == NULL)
        return NULL;
    if (PyList_Size(ends) != parts) {
        PyErr_SetString(PyExc_ValueError, "used_names() takes as many ends as starts");
        return NULL;
    }
    if (fill_names(&names, pairs, number) == 0)
        used = PyList_New(0);
    for (Py_ssize_t part = 0; used != NULL && part < parts; part++) {
        Py_ssize_t start = PyLong_AsSsize_t(PyList_GetItem(starts, part));
        Py_ssize_t end = PyLong_AsSsize_t(PyList_GetItem(ends, part));
        PyObject *its = NULL;
        if (!PyErr_Occurred()) {
            if (start < 0 || end < start || end > size)
                PyErr_SetString(PyExc_ValueError, "used_names() takes parts of the text");
            else
                its = names_of_part(&names, pairs, number, part + 1, at + start, at + end);
        }
        if (its == NULL || PyList_Append(used, its) < 0)
            Py_CLEAR(used);
        Py_XDECREF(its);
    }
    free(names.table);
    free(names.same);
    free(names.part);
    return used;
}

static PyMethodDef functions[] = {
    {"used_names", used_names, METH_VARARGS, "Return for each part of a text the names that are words of it."},
    {NULL, NULL, 0, NULL},
};

int add_used_names(PyObject *module) {
    fill_in_words();
    return PyModule_AddFunctions(module, functions);
}
