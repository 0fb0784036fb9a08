/* WordVectors: the vectors of the pieces of words, added up; see `findspot.embed.static_model`. */
#include "words.h"

#include <float.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "sums of float must be rounded at each step, as NumPy does"
#endif

typedef struct {
    PyObject_HEAD
    PyObject *parts;                    /* asked for the parts of runs beyond ASCII */
    Py_buffer vocabulary, table;
    uint32_t *starts;                   /* of the entries in the vocabulary, whose sizes are: */
    uint16_t *sizes;
    uint32_t *slots;                    /* the number of an entry, plus one */
    size_t entries, slots_mask, longest;
    size_t stride, vector_at, scale_at, width;
    Memory memory;
} WordVectors;

#define FNV_START 0x811c9dc5u
#define FNV(hash, byte) (((hash) ^ (byte)) * 0x01000193u)

/* Return the slot of an entry: where it is, or where it belongs. */
static uint32_t *slot_of(const WordVectors *self, uint32_t hash, const unsigned char *first, size_t first_size,
                         const unsigned char *rest, size_t rest_size) {
    const unsigned char *words = self->vocabulary.buf;
    for (size_t slot = (hash ^ hash >> 15) & self->slots_mask;; slot = (slot + 1) & self->slots_mask) {
        uint32_t entry = self->slots[slot];
        if (entry == 0)
            return &self->slots[slot];
        const unsigned char *word = words + self->starts[entry - 1];
        if (self->sizes[entry - 1] == first_size + rest_size && memcmp(word, first, first_size) == 0 &&
            memcmp(word + first_size, rest, rest_size) == 0)
            return &self->slots[slot];
    }
}

static uint32_t hash_entry(const unsigned char *at, size_t size) {
    uint32_t hash = FNV_START;
    for (size_t byte = 0; byte < size; byte++)
        hash = FNV(hash, at[byte]);
    return hash;
}

static int add_id(Bytes *ids, uint32_t entry) {
    int32_t id = (int32_t)entry - 1;
    return add_bytes(ids, &id, sizeof id);
}

/* Write the ids of a lower-cased part: the whole if it is an entry, else its longest pieces, greedily. */
static int ids_of_part(const WordVectors *self, const unsigned char *part, size_t size, Bytes *ids) {
    uint32_t *hashes, few[4 * LONGEST_WORD];
    size_t longest = self->longest;
    if (size <= longest) {
        uint32_t whole = *slot_of(self, hash_entry(part, size), part, size, part, 0);
        if (whole)
            return add_id(ids, whole);
    }
    if (longest > sizeof few / sizeof *few)
        hashes = malloc(longest * sizeof *hashes);
    else
        hashes = few;
    if (hashes == NULL)
        return -1;
    int result = 0;
    for (size_t start = 0; start < size;) {
        size_t mark = start ? 2 : 0, most = size - start < longest ? size - start : longest;
        uint32_t hash = FNV_START, found = 0;
        for (size_t byte = 0; byte < mark; byte++)
            hash = FNV(hash, '#');
        for (size_t byte = 0; byte < most; byte++)
            hashes[byte] = hash = FNV(hash, part[start + byte]);
        size_t end = most;
        for (; end > 0; end--)
            if ((found = *slot_of(self, hashes[end - 1], (const unsigned char *)"##", mark, part + start, end)))
                break;
        if (found) {
            if ((result = add_id(ids, found)) < 0)
                break;
            start += end;
        } else
            do
                start++;
            while (start < size && (part[start] & 0xc0) == 0x80);
    }
    if (hashes != few)
        free(hashes);
    return result;
}

/* Write the ids of a run whose parts Python finds. */
static int ids_from_python(WordVectors *self, const Runs *runs, Bytes *ids) {
    PyObject *found = ask_python(self->parts, runs);
    if (found == NULL)
        return -1;
    int result = 0;
    if (!PyList_Check(found)) {
        PyErr_SetString(PyExc_TypeError, "the parts of a word must be a list");
        result = -1;
    }
    for (Py_ssize_t at = 0; result == 0 && at < PyList_Size(found); at++) {
        Utf8 utf8;
        if ((result = utf8_of_str(PyList_GetItem(found, at), &utf8, "a part must be a str")) == 0) {
            if ((result = ids_of_part(self, utf8.at, (size_t)utf8.size, ids)) < 0)
                PyErr_NoMemory();
            Py_XDECREF(utf8.owner);
        }
    }
    Py_DECREF(found);
    return result;
}

static int find_ids(void *self, const Runs *runs, Bytes *ids) {
    if (!runs->is_ascii)
        return ids_from_python(self, runs, ids);
    Parts parts;
    parts_of(runs->run, runs->size, &parts);
    for (size_t at = 0; at < parts.count; at++)
        if (ids_of_part(self, parts.lower + parts.part[at].at, parts.part[at].size, ids) < 0) {
            PyErr_NoMemory();
            return -1;
        }
    return 0;
}

/* Note the ids of the words of a text in a set of bits. */
static int note_text(WordVectors *self, PyObject *text, uint64_t *noted, Bytes *room) {
    Utf8 utf8;
    if (utf8_of_str(text, &utf8, "sum() takes a list of tuples of str") < 0)
        return -1;
    Runs runs = {.at = utf8.at, .end = utf8.at + utf8.size};
    Span ids;
    int result = 0;
    while (result == 0 && next_run(&runs)) {
        result = find_value(&self->memory, &runs, room, &ids, self, find_ids);
        for (size_t at = 0; result == 0 && at < ids.size; at += sizeof(int32_t)) {
            int32_t id;
            memcpy(&id, ids.at + at, sizeof id);
            noted[id >> 6] |= (uint64_t)1 << (id & 63);
        }
    }
    Py_XDECREF(utf8.owner);
    return result;
}

#define LANES 8
#define BLOCK_ROWS 128
#define DEEPEST 32

static const int8_t *row_of(const WordVectors *self, int32_t id, float *scale) {
    const char *row = (const char *)self->table.buf + (size_t)id * self->stride;
    memcpy(scale, row + self->scale_at, sizeof *scale);
    return (const int8_t *)(row + self->vector_at);
}

static void set_row(const WordVectors *self, int32_t id, float *restrict total) {
    float scale;
    const int8_t *restrict row = row_of(self, id, &scale);
    for (size_t at = 0; at < self->width; at++)
        total[at] = (float)row[at] * scale;
}

static void add_row(const WordVectors *self, int32_t id, float *restrict total) {
    float scale;
    const int8_t *restrict row = row_of(self, id, &scale);
    for (size_t at = 0; at < self->width; at++)
        total[at] += (float)row[at] * scale;
}

static void add_floats(float *restrict total, const float *restrict more, size_t width) {
    for (size_t at = 0; at < width; at++)
        total[at] += more[at];
}

/* Write the sum of rows as NumPy adds many numbers: eight sums side by side, in blocks. `room` has space for the
 * lanes, then for one sum per level of halving; there are at least one row and one level. */
static void sum_pairwise(const WordVectors *self, const int32_t *ids, size_t count, float *total, float *room,
                         float *deeper) {
    size_t width = self->width;
    if (count > BLOCK_ROWS) {
        size_t middle = count / 2;
        middle -= middle % LANES;
        sum_pairwise(self, ids, middle, total, room, deeper + width);
        sum_pairwise(self, ids + middle, count - middle, deeper, room, deeper + width);
        add_floats(total, deeper, width);
        return;
    }
    size_t at = 0;
    if (count < LANES)
        set_row(self, ids[at++], total);
    else {
        size_t whole = count - count % LANES;
        for (; at < LANES; at++)
            set_row(self, ids[at], room + at * width);
        for (; at < whole; at++)
            add_row(self, ids[at], room + at % LANES * width);
        for (size_t step = 1; step < LANES; step *= 2)
            for (size_t lane = 0; lane < LANES; lane += 2 * step)
                add_floats(room + lane * width, room + (lane + step) * width, width);
        memcpy(total, room, width * sizeof *total);
    }
    for (; at < count; at++)
        add_row(self, ids[at], total);
}

/* The first row plus the pairwise sum of the others, as `np.add.reduceat` adds them. */
static void sum_rows(const WordVectors *self, const int32_t *ids, size_t count, float *total, float *room) {
    if (count == 0) {
        memset(total, 0, self->width * sizeof *total);
        return;
    }
    if (count == 1) {
        set_row(self, ids[0], total);
        return;
    }
    float *others = room + LANES * self->width;
    sum_pairwise(self, ids + 1, count - 1, others, room, others + self->width);
    set_row(self, ids[0], total);
    add_floats(total, others, self->width);
}

/* sum(texts: list[tuple[str, ...]], rows) writes the sum of the vectors of each text's distinct pieces to its row */
static PyObject *word_vectors_sum(PyObject *object, PyObject *args) {
    WordVectors *self = (WordVectors *)object;
    PyObject *texts, *result = NULL;
    Py_buffer rows;
    if (!PyArg_ParseTuple(args, "O!w*", &PyList_Type, &texts, &rows))
        return NULL;
    size_t bits = (self->entries + 63) / 64, row_bytes = self->width * sizeof(float);
    Py_ssize_t count = PyList_Size(texts);
    Bytes value = {0};
    uint64_t *noted = calloc(bits + 1, sizeof *noted);
    int32_t *ids = malloc((self->entries + 1) * sizeof *ids);
    float *room = malloc((LANES + DEEPEST) * row_bytes + 1);
    if (noted == NULL || ids == NULL || room == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if ((size_t)rows.len != (size_t)count * row_bytes || (uintptr_t)rows.buf % sizeof(float)) {
        PyErr_SetString(PyExc_ValueError, "there must be one row per text");
        goto done;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *parts = PyList_GetItem(texts, at);
        if (parts == NULL)
            goto done;
        if (!PyTuple_Check(parts)) {
            PyErr_SetString(PyExc_TypeError, "sum() takes a list of tuples of str");
            goto done;
        }
        Py_INCREF(parts);
        int failed = 0;
        for (Py_ssize_t part = 0; !failed && part < PyTuple_Size(parts); part++)
            failed = note_text(self, PyTuple_GetItem(parts, part), noted, &value) < 0;
        Py_DECREF(parts);
        if (failed)
            goto done;
        size_t found = 0;
        for (size_t word = 0; word < bits; word++)
            if (noted[word]) {
                for (int bit = 0; bit < 64; bit++)
                    if (noted[word] >> bit & 1)
                        ids[found++] = (int32_t)(word * 64 + (size_t)bit);
                noted[word] = 0;
            }
        sum_rows(self, ids, found, (float *)((char *)rows.buf + (size_t)at * row_bytes), room);
    }
    result = Py_NewRef(Py_None);
done:
    free(noted);
    free(ids);
    free(room);
    free(value.at);
    PyBuffer_Release(&rows);
    return result;
}

static Py_ssize_t word_vectors_length(PyObject *object) {
    return (Py_ssize_t)((WordVectors *)object)->entries;
}

/* Find the entries of the vocabulary, which has one per line. */
static int read_vocabulary(WordVectors *self) {
    const char *words = self->vocabulary.buf;
    size_t size = (size_t)self->vocabulary.len, count = 0;
    for (size_t at = 0; at < size; at++)
        count += words[at] == '\n' || at + 1 == size;
    size_t slots = 16;
    while (slots < count * 3)
        slots *= 2;
    self->starts = malloc((count + 1) * sizeof *self->starts);
    self->sizes = malloc((count + 1) * sizeof *self->sizes);
    self->slots = calloc(slots, sizeof *self->slots);
    self->slots_mask = slots - 1;
    if (self->starts == NULL || self->sizes == NULL || self->slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t at = 0; at < size;) {
        const char *line = memchr(words + at, '\n', size - at);
        size_t next = line ? (size_t)(line - words) + 1 : size, end = line ? next - 1 : size;
        if (end > at && words[end - 1] == '\r')
            end--;
        if (end - at > UINT16_MAX || size > UINT32_MAX || count > INT32_MAX) {
            PyErr_SetString(PyExc_ValueError, "the vocabulary is too large");
            return -1;
        }
        self->starts[self->entries] = (uint32_t)at;
        self->sizes[self->entries++] = (uint16_t)(end - at);
        if (end - at > self->longest)
            self->longest = end - at;
        const unsigned char *entry = (const unsigned char *)words + at;
        *slot_of(self, hash_entry(entry, end - at), entry, end - at, entry, 0) = (uint32_t)self->entries;
        at = next;
    }
    return 0;
}

/* WordVectors(vocabulary, table, (stride, vector_at, scale_at, width), parts, most) */
static PyObject *word_vectors_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *vocabulary, *table, *parts;
    Py_ssize_t stride, vector_at, scale_at, width, most;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "OO(nnnn)On", &vocabulary, &table, &stride, &vector_at, &scale_at, &width, &parts,
                          &most))
        return NULL;
    if (width < 1 || vector_at < 0 || scale_at < 0 || stride < 1 || width > 1 << 20 || width > stride ||
        vector_at > stride - width || scale_at > stride - (Py_ssize_t)sizeof(float)) {
        PyErr_SetString(PyExc_ValueError, "a row of the table must hold a vector and a scale");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    WordVectors *self = (WordVectors *)allocate(type, 0);
    if (self == NULL)
        return NULL;
    self->parts = Py_NewRef(parts);
    self->stride = (size_t)stride;
    self->vector_at = (size_t)vector_at;
    self->scale_at = (size_t)scale_at;
    self->width = (size_t)width;
    if (start_memory(&self->memory, most) < 0 || PyObject_GetBuffer(vocabulary, &self->vocabulary, PyBUF_SIMPLE) < 0 ||
        PyObject_GetBuffer(table, &self->table, PyBUF_SIMPLE) < 0 || read_vocabulary(self) < 0)
        goto failed;
    if ((size_t)self->table.len / self->stride != self->entries || (size_t)self->table.len % self->stride) {
        PyErr_Format(PyExc_ValueError, "%zd words but %zd vectors", (Py_ssize_t)self->entries,
                     self->table.len / stride);
        goto failed;
    }
    return (PyObject *)self;
failed:
    Py_DECREF(self);
    return NULL;
}

static int word_vectors_traverse(PyObject *object, visitproc visit, void *arg) {
    WordVectors *self = (WordVectors *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->parts);
    return 0; /* what lends us its memory must not be cleared before us */
}

static int word_vectors_clear(PyObject *object) {
    Py_CLEAR(((WordVectors *)object)->parts);
    return 0;
}

static void word_vectors_dealloc(PyObject *object) {
    WordVectors *self = (WordVectors *)object;
    PyObject_GC_UnTrack(object);
    word_vectors_clear(object);
    forget(&self->memory);
    free(self->starts);
    free(self->sizes);
    free(self->slots);
    PyBuffer_Release(&self->vocabulary); /* does nothing where there is none */
    PyBuffer_Release(&self->table);
    release(object);
}

static PyMethodDef word_vectors_methods[] = {
    {"sum", word_vectors_sum, METH_VARARGS, "Write the sum of the vectors of each text's pieces to its row."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot word_vectors_slots[] = {
    {Py_tp_doc, "A table of vectors of pieces of words; the pieces are remembered for each word."},
    {Py_tp_new, (void *)word_vectors_new},
    {Py_tp_dealloc, (void *)word_vectors_dealloc},
    {Py_tp_traverse, (void *)word_vectors_traverse},
    {Py_tp_clear, (void *)word_vectors_clear},
    {Py_tp_methods, word_vectors_methods},
    {Py_sq_length, (void *)word_vectors_length},
    {0, NULL},
};

static PyType_Spec word_vectors_spec = {
    .name = "findspot._native.WordVectors",
    .basicsize = sizeof(WordVectors),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = word_vectors_slots,
};

int add_word_vectors(PyObject *module) {
    return add_type(module, &word_vectors_spec, "WordVectors");
}
