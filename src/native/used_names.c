/* Which parts of a text use which names; see `findspot.chunk.dispatch`. */
#include "native.h"

typedef struct {
    const char *at; /* NULL: this place of the table is free */
    Py_ssize_t size;
    Py_ssize_t first; /* the first of its pairs; the others follow in `same` */
} Name;

typedef struct {
    Name *table; /* at most half of it is used */
    size_t size;
    uint64_t seed;
    Py_ssize_t *same; /* pair → the next pair with its name; -1: none */
    Py_ssize_t *part; /* pair → the last part that its name was found in, from 1 on */
} Names;

static Name *name_at(const Names *names, const char *at, Py_ssize_t size) {
    uint64_t hash = names->seed;
    for (Py_ssize_t place = 0; place < size; place++)
        hash = (hash ^ (unsigned char)at[place]) * 0x100000001b3u;
    for (size_t slot = (hash ^ hash >> 32) & (names->size - 1);; slot = (slot + 1) & (names->size - 1)) {
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
        PyErr_SetString(PyExc_TypeError, "used_names() takes a list of pairs that begin with a str");
        return NULL;
    }
    const char *at = PyUnicode_AsUTF8AndSize(text, size);
    if (at != NULL && *size != PyUnicode_GetLength(text)) {
        PyErr_SetString(PyExc_ValueError, "used_names() takes names in ASCII only");
        return NULL;
    }
    return at;
}

/* Return whether the character beyond ASCII that holds a byte is a letter or digit; -1 with an exception. */
static int is_letter(const char *at) {
    const unsigned char *byte = (const unsigned char *)at;
    while ((*byte & 0xc0) == 0x80)
        byte--;
    unsigned code = *byte < 0xe0 ? *byte & 0x1f : *byte < 0xf0 ? *byte & 0x0f : *byte & 0x07;
    for (int rest = *byte < 0xe0 ? 1 : *byte < 0xf0 ? 2 : 3; rest > 0; rest--)
        code = code << 6 | (*++byte & 0x3f);
    PyObject *character = PyUnicode_FromOrdinal((int)code);
    PyObject *answer = character == NULL ? NULL : PyObject_CallMethod(character, "isalnum", NULL);
    int is = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(character);
    Py_XDECREF(answer);
    return is;
}

typedef struct {
    const char *at, *end;
    const char *passed; /* up to here, there are `characters` */
    Py_ssize_t characters;
    int is_ascii;
} Text;

/* Return where a character is; NULL behind the end. */
static const char *place_in(Text *text, Py_ssize_t character) {
    if (text->is_ascii)
        return character <= text->end - text->at ? text->at + character : NULL;
    if (character < text->characters) {
        text->passed = text->at;
        text->characters = 0;
    }
    while (text->characters < character && text->passed < text->end) {
        do
            text->passed++;
        while (text->passed < text->end && (*text->passed & 0xc0) == 0x80);
        text->characters++;
    }
    return text->characters == character ? text->passed : NULL;
}

static int fill_names(Names *names, PyObject *pairs, Py_ssize_t number) {
    if (seed_of_process(&names->seed) < 0)
        return -1;
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
static PyObject *names_of_part(Names *names, PyObject *pairs, Py_ssize_t number, Py_ssize_t part,
                               const Text *text, const char *at, const char *end) {
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
        int joined = start > text->at && start[-1] & 0x80 ? is_letter(start - 1) : 0;
        if (joined == 0 && at < text->end && *at & 0x80)
            joined = is_letter(at);
        if (joined < 0)
            return NULL;
        if (joined)
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
    PyObject *of, *starts, *ends, *pairs, *used = NULL;
    Names names = {0};
    Utf8 utf8;
    if (!PyArg_ParseTuple(arguments, "UO!O!O!:used_names", &of, &PyList_Type, &starts, &PyList_Type, &ends,
                          &PyList_Type, &pairs))
        return NULL;
    Py_ssize_t parts = PyList_Size(starts), number = PyList_Size(pairs);
    if (PyList_Size(ends) != parts) {
        PyErr_SetString(PyExc_ValueError, "used_names() takes as many ends as starts");
        return NULL;
    }
    if (utf8_of(of, &utf8) < 0)
        return NULL;
    const char *first = (const char *)utf8.at;
    Text text = {first, first + utf8.size, first, 0, utf8.size == PyUnicode_GetLength(of)};
    if (fill_names(&names, pairs, number) == 0)
        used = PyList_New(0);
    for (Py_ssize_t part = 0; used != NULL && part < parts; part++) {
        Py_ssize_t start = PyLong_AsSsize_t(PyList_GetItem(starts, part));
        Py_ssize_t end = PyLong_AsSsize_t(PyList_GetItem(ends, part));
        PyObject *its = NULL;
        if (!PyErr_Occurred()) {
            const char *from = start < 0 || end < start ? NULL : place_in(&text, start);
            const char *to = from == NULL ? NULL : place_in(&text, end);
            if (to == NULL)
                PyErr_SetString(PyExc_ValueError, "used_names() takes parts of the text");
            else
                its = names_of_part(&names, pairs, number, part + 1, &text, from, to);
        }
        if (its == NULL || PyList_Append(used, its) < 0)
            Py_CLEAR(used);
        Py_XDECREF(its);
    }
    free(names.table);
    free(names.same);
    free(names.part);
    Py_XDECREF(utf8.owner);
    return used;
}

PyMethodDef used_names_functions[] = {
    {"used_names", used_names, METH_VARARGS, "Return for each part of a text the names that are words of it."},
    {NULL, NULL, 0, NULL},
};
