/* TokenTexts: the tokens of words; see `findspot.text.tokens`. */
#include "words.h"

#define MOST_ENDINGS 64

typedef struct {
    unsigned char cut[8], instead[8];
    size_t cut_size, instead_size;
    int doubles;
} Ending;

typedef struct {
    PyObject_HEAD
    PyObject *missing;
    Ending endings[MOST_ENDINGS];
    size_t endings_used;
    Memory memory;
} TokenTexts;

/* Write the stem of a part, which is never longer, and return its length; see `stem`. */
static size_t stem_of(const TokenTexts *self, const unsigned char *word, size_t size, unsigned char *stem) {
    memcpy(stem, word, size);
    for (size_t at = 0; at < self->endings_used; at++) {
        const Ending *ending = &self->endings[at];
        size_t cut = ending->cut_size;
        if (cut > size || size - cut + ending->instead_size < 3 || memcmp(word + size - cut, ending->cut, cut))
            continue;
        if (cut == 1 && ending->cut[0] == 's' && size >= 2 && word[size - 2] == 's')
            return size;
        memcpy(stem + size - cut, ending->instead, ending->instead_size);
        size = size - cut + ending->instead_size;
        if (ending->doubles && size > 3 && stem[size - 1] == stem[size - 2])
            return size - 1;
        return size;
    }
    return size;
}

static int add_token(Bytes *text, const unsigned char *token, size_t size) {
    if (text->size && add_bytes(text, " ", 1) < 0)
        return -1;
    return add_bytes(text, token, size);
}

/* Write the tokens of an ASCII word, joined by spaces. */
static int tokens_of(const TokenTexts *self, const unsigned char *word, size_t size, Bytes *text) {
    Parts parts;
    unsigned char stem[LONGEST_WORD];
    parts_of(word, size, &parts);
    if (parts.count == 0)
        return 0;
    size_t first = 0, last = size;
    while (word[first] == '_')
        first++;
    while (word[last - 1] == '_')
        last--;
    size_t length = stem_of(self, parts.lower + parts.part[0].at, parts.part[0].size, stem);
    if (parts.count > 1 || length != last - first || memcmp(stem, parts.lower + first, length)) {
        if (add_token(text, parts.lower + first, last - first) < 0)
            return -1;
    }
    for (size_t at = 0; at < parts.count; at++) {
        length = stem_of(self, parts.lower + parts.part[at].at, parts.part[at].size, stem);
        if (add_token(text, stem, length) < 0)
            return -1;
    }
    return 0;
}

/* Write the tokens of a run that is not ASCII, as Python finds them. */
static int tokens_from_python(TokenTexts *self, const Runs *runs, Bytes *text) {
    PyObject *found = ask_python(self->missing, runs);
    Utf8 utf8;
    int result = utf8_of_str(found, &utf8, "the tokens of a word must be a str");
    if (result == 0) {
        result = add_bytes(text, utf8.at, (size_t)utf8.size);
        Py_XDECREF(utf8.owner);
        if (result < 0)
            PyErr_NoMemory();
    }
    Py_XDECREF(found);
    return result;
}

static int find_tokens(void *self, const Runs *runs, Bytes *text) {
    if (!runs->is_ascii)
        return tokens_from_python(self, runs, text);
    int result = tokens_of(self, runs->run, runs->size, text);
    if (result < 0)
        PyErr_NoMemory();
    return result;
}

static int join_text(TokenTexts *self, PyObject *part, Bytes *joined, Bytes *room) {
    Utf8 utf8;
    if (utf8_of_str(part, &utf8, "join() takes a tuple of str") < 0)
        return -1;
    Runs runs = {.at = utf8.at, .end = utf8.at + utf8.size};
    Span tokens;
    int result = 0;
    while (result == 0 && next_run(&runs)) {
        result = find_value(&self->memory, &runs, room, &tokens, self, find_tokens);
        if (result == 0 && tokens.size && (result = add_token(joined, tokens.at, tokens.size)) < 0)
            PyErr_NoMemory();
    }
    Py_XDECREF(utf8.owner);
    return result;
}

/* join(texts: tuple[str, ...]) → the tokens of all words of the texts, joined by spaces */
static PyObject *token_texts_join(PyObject *object, PyObject *texts) {
    TokenTexts *self = (TokenTexts *)object;
    Bytes joined = {0}, room = {0};
    PyObject *result = NULL;
    if (!PyTuple_Check(texts)) {
        PyErr_SetString(PyExc_TypeError, "join() takes a tuple of str");
        return NULL;
    }
    for (Py_ssize_t at = 0; at < PyTuple_Size(texts); at++)
        if (join_text(self, PyTuple_GetItem(texts, at), &joined, &room) < 0)
            goto done;
    result = PyUnicode_DecodeUTF8((const char *)joined.at, (Py_ssize_t)joined.size, "surrogatepass");
done:
    free(joined.at);
    free(room.at);
    return result;
}

static int read_ending(PyObject *given, Ending *ending) {
    const char *cut, *instead;
    Py_ssize_t cut_size, instead_size;
    if (!PyArg_ParseTuple(given, "s#s#p", &cut, &cut_size, &instead, &instead_size, &ending->doubles))
        return -1;
    if (cut_size < 1 || cut_size > 8 || instead_size > cut_size) {
        PyErr_SetString(PyExc_ValueError, "an ending has at most eight letters, and none more instead");
        return -1;
    }
    memcpy(ending->cut, cut, (size_t)cut_size);
    memcpy(ending->instead, instead, (size_t)instead_size);
    ending->cut_size = (size_t)cut_size;
    ending->instead_size = (size_t)instead_size;
    return 0;
}

/* TokenTexts(missing, endings, most): `missing` is asked about runs beyond ASCII, `most` runs are remembered */
static PyObject *token_texts_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *missing, *endings;
    Py_ssize_t most;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "OOn", &missing, &endings, &most))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    TokenTexts *self = (TokenTexts *)allocate(type, 0);
    if (self == NULL)
        return NULL;
    self->missing = Py_NewRef(missing);
    if (start_memory(&self->memory, most) < 0)
        goto failed;
    Py_ssize_t count = PySequence_Size(endings);
    if (count < 0)
        goto failed;
    if (count > MOST_ENDINGS) {
        PyErr_SetString(PyExc_ValueError, "too many endings");
        goto failed;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *given = PySequence_GetItem(endings, at);
        int result = given == NULL ? -1 : 0;
        if (given != NULL && !PyTuple_Check(given)) {
            PyErr_SetString(PyExc_TypeError, "an ending must be a tuple");
            result = -1;
        } else if (given != NULL)
            result = read_ending(given, &self->endings[at]);
        Py_XDECREF(given);
        if (result < 0)
            goto failed;
        self->endings_used++;
    }
    return (PyObject *)self;
failed:
    Py_DECREF(self);
    return NULL;
}

static int token_texts_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((TokenTexts *)object)->missing);
    return 0;
}

static int token_texts_clear(PyObject *object) {
    Py_CLEAR(((TokenTexts *)object)->missing);
    return 0;
}

static void token_texts_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    token_texts_clear(object);
    forget(&((TokenTexts *)object)->memory);
    release(object);
}

static PyMethodDef token_texts_methods[] = {
    {"join", token_texts_join, METH_O, "Return the tokens of all words of some texts, joined by spaces."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot token_texts_slots[] = {
    {Py_tp_doc, "The tokens of words, remembered for each word."},
    {Py_tp_new, (void *)token_texts_new},
    {Py_tp_dealloc, (void *)token_texts_dealloc},
    {Py_tp_traverse, (void *)token_texts_traverse},
    {Py_tp_clear, (void *)token_texts_clear},
    {Py_tp_methods, token_texts_methods},
    {0, NULL},
};

static PyType_Spec token_texts_spec = {
    .name = "findspot._native.TokenTexts",
    .basicsize = sizeof(TokenTexts),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = token_texts_slots,
};

int add_token_texts(PyObject *module) {
    return add_type(module, &token_texts_spec, "TokenTexts");
}
