/* The words of texts: where they begin and end, their tokens, and the vectors of their pieces.
 *
 * `findspot.text.tokens` says what a word and a token are, `findspot.embed.static_model` what a piece is. Here,
 * plain ASCII words are taken apart in the same way; runs with other characters are left to Python. What comes
 * out is remembered for each word. */
#include "native.h"

#include <float.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "sums of float must be rounded at each step, as NumPy does"
#endif

#define LONGEST_WORD 64       /* MAX_TOKEN_CHARS */
#define LONGEST_KEY 128       /* longer runs are not remembered */
#define LONGEST_VALUE 2048    /* nor those with so many tokens */
#define LARGEST_ARENA (32u << 20)
#define MOST_ENDINGS 64

/* ---- bytes that grow ---- */

typedef struct {
    unsigned char *at;
    size_t size, room;
} Bytes;

static int make_room(Bytes *bytes, size_t more) {
    if (bytes->room - bytes->size >= more)
        return 0;
    if (more > PY_SSIZE_T_MAX / 4 || bytes->size > PY_SSIZE_T_MAX / 4)
        return -1;
    size_t room = bytes->room ? bytes->room : 256;
    while (room - bytes->size < more)
        room *= 2;
    unsigned char *at = realloc(bytes->at, room);
    if (at == NULL)
        return -1;
    bytes->at = at;
    bytes->room = room;
    return 0;
}

static int add_bytes(Bytes *bytes, const void *more, size_t size) {
    if (make_room(bytes, size) < 0)
        return -1;
    if (size)
        memcpy(bytes->at + bytes->size, more, size);
    bytes->size += size;
    return 0;
}

/* ---- what is remembered: bytes by bytes ---- */

typedef struct {
    uint32_t hash, key, key_size, value_size; /* in the arena; the value follows the key */
} Entry;

typedef struct {
    uint32_t *slots; /* of each slot: the number of its entry, plus one */
    size_t size;     /* of the slots; a power of two */
    Entry *entries;
    size_t used, room, most;
    Bytes arena;
    uint64_t seed;
} Memory;

static uint32_t hash_of(const Memory *memory, const unsigned char *at, size_t size) {
    uint64_t hash = memory->seed ^ (size * 0x9e3779b97f4a7c15u), eight = 0;
    for (; size >= 8; at += 8, size -= 8) {
        memcpy(&eight, at, 8);
        hash = (hash ^ eight) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    eight = 0;
    memcpy(&eight, at, size);
    hash = (hash ^ eight) * 0xc4ceb9fe1a85ec53u;
    return (uint32_t)(hash >> 32);
}

static const Entry *remembered(const Memory *memory, uint32_t hash, const unsigned char *at, size_t size) {
    if (memory->size == 0)
        return NULL;
    size_t mask = memory->size - 1;
    for (size_t slot = hash & mask; memory->slots[slot]; slot = (slot + 1) & mask) {
        const Entry *entry = &memory->entries[memory->slots[slot] - 1];
        if (entry->hash == hash && entry->key_size == size &&
            memcmp(memory->arena.at + entry->key, at, size) == 0)
            return entry;
    }
    return NULL;
}

static const unsigned char *value_of(const Memory *memory, const Entry *entry) {
    return memory->arena.at + entry->key + entry->key_size;
}

static void forget(Memory *memory) {
    free(memory->slots);
    free(memory->entries);
    free(memory->arena.at);
    memory->slots = NULL;
    memory->entries = NULL;
    memory->arena = (Bytes){0};
    memory->size = memory->used = memory->room = 0;
}

static int grow_memory(Memory *memory) {
    size_t size = memory->size ? memory->size * 2 : 1024;
    uint32_t *slots = calloc(size, sizeof(uint32_t));
    if (slots == NULL)
        return -1;
    Entry *entries = realloc(memory->entries, size / 2 * sizeof(Entry));
    if (entries == NULL) {
        free(slots);
        return -1;
    }
    for (size_t at = 0; at < memory->used; at++) {
        size_t slot = entries[at].hash & (size - 1);
        while (slots[slot])
            slot = (slot + 1) & (size - 1);
        slots[slot] = (uint32_t)at + 1;
    }
    free(memory->slots);
    memory->slots = slots;
    memory->entries = entries;
    memory->size = size;
    memory->room = size / 2;
    return 0;
}

/* Remember a value, unless it is too large; all others are forgotten first where there are too many. */
static int remember(Memory *memory, uint32_t hash, const unsigned char *at, size_t size, const Bytes *value) {
    if (size > LONGEST_KEY || value->size > LONGEST_VALUE || remembered(memory, hash, at, size))
        return 0;
    if (memory->used >= memory->most || memory->arena.size > LARGEST_ARENA)
        forget(memory);
    if (memory->used == memory->room && grow_memory(memory) < 0)
        return -1;
    size_t key = memory->arena.size;
    if (make_room(&memory->arena, size + value->size) < 0)
        return -1;
    add_bytes(&memory->arena, at, size);
    add_bytes(&memory->arena, value->at, value->size);
    memory->entries[memory->used++] = (Entry){hash, (uint32_t)key, (uint32_t)size, (uint32_t)value->size};
    size_t slot = hash & (memory->size - 1);
    while (memory->slots[slot])
        slot = (slot + 1) & (memory->size - 1);
    memory->slots[slot] = (uint32_t)memory->used;
    return 0;
}

static int start_memory(Memory *memory, Py_ssize_t most) {
    if (seed_of_process(&memory->seed) < 0)
        return -1;
    memory->most = most < 1 ? 1 : most > (1 << 24) ? (1 << 24) : (size_t)most;
    return 0;
}

/* ---- runs of characters that may be words ---- */

/* Return the length of a character beyond ASCII that is surely not part of a word: a space or usual
 * punctuation. 0 for all others, which are for Python to decide. */
static size_t separator_at(const unsigned char *at, const unsigned char *end) {
    switch (at[0]) {
    case 0xc2: /* U+0080 to U+00BF, but letters and numbers such as ª and ½ */
        if (end - at < 2)
            return 0;
        switch (at[1]) {
        case 0xaa: case 0xb2: case 0xb3: case 0xb5: case 0xb9: case 0xba: case 0xbc: case 0xbd: case 0xbe:
            return 0;
        default:
            return 2;
        }
    case 0xe2: /* U+2000 to U+206F */
        return end - at >= 3 && (at[1] == 0x80 || (at[1] == 0x81 && at[2] <= 0xaf)) ? 3 : 0;
    case 0xe3: /* U+3000 to U+3004, U+3008 to U+3020 */
        return end - at >= 3 && at[1] == 0x80 && (at[2] <= 0x84 || (at[2] >= 0x88 && at[2] <= 0xa0)) ? 3 : 0;
    case 0xef: /* U+FF01 to U+FF0F */
        return end - at >= 3 && at[1] == 0xbc && at[2] >= 0x81 && at[2] <= 0x8f ? 3 : 0;
    default:
        return 0;
    }
}

typedef struct {
    const unsigned char *at, *end; /* the rest of the text */
    const unsigned char *run;
    size_t size;
    int is_ascii;
} Runs;

/* Go to the next run; return 0 at the end of the text. */
static int next_run(Runs *runs) {
    const unsigned char *at = runs->at, *end = runs->end;
    size_t separator;
    for (;;) {
        if (at == end)
            return 0;
        if (*at < 0x80) {
            if (in_words[*at])
                break;
            at++;
        } else if ((separator = separator_at(at, end)))
            at += separator;
        else
            break;
    }
    runs->run = at;
    runs->is_ascii = 1;
    while (at < end) {
        if (*at < 0x80) {
            if (!in_words[*at])
                break;
        } else if (separator_at(at, end))
            break;
        else
            runs->is_ascii = 0;
        at++;
    }
    runs->size = (size_t)(at - runs->run);
    runs->at = at;
    return 1;
}

/* Return what a function in Python says about a run. */
static PyObject *ask_python(PyObject *function, const Runs *runs) {
    PyObject *run = PyUnicode_DecodeUTF8((const char *)runs->run, (Py_ssize_t)runs->size, "surrogatepass");
    if (run == NULL)
        return NULL;
    PyObject *answer = PyObject_CallFunctionObjArgs(function, run, NULL);
    Py_DECREF(run);
    return answer;
}

typedef struct {
    const unsigned char *at;
    size_t size;
} Span;

/* Find the value of a run, which stays until the next one is found: what is remembered, or else what `find`
 * writes to `room`. Return -1 with an exception. */
static ALWAYS_INLINE int find_value(Memory *memory, const Runs *runs, Bytes *room, Span *value, void *self,
                                    int (*find)(void *self, const Runs *runs, Bytes *room)) {
    uint32_t hash = hash_of(memory, runs->run, runs->size);
    const Entry *known = remembered(memory, hash, runs->run, runs->size);
    if (known) {
        *value = (Span){value_of(memory, known), known->value_size};
        return 0;
    }
    room->size = 0;
    if (find(self, runs, room) < 0)
        return -1;
    if (remember(memory, hash, runs->run, runs->size, room) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    *value = (Span){room->at, room->size};
    return 0;
}

/* ---- the parts of an ASCII word, as `word_parts` finds them ---- */

typedef struct {
    unsigned char lower[LONGEST_WORD];
    size_t count;
    struct {
        size_t at, size;
    } part[LONGEST_WORD];
} Parts;

static int is_upper(unsigned char letter) { return letter >= 'A' && letter <= 'Z'; }
static int is_lower(unsigned char letter) { return letter >= 'a' && letter <= 'z'; }
static int is_digit(unsigned char letter) { return letter >= '0' && letter <= '9'; }

static void parts_of(const unsigned char *word, size_t size, Parts *parts) {
    parts->count = 0;
    if (size > LONGEST_WORD)
        return;
    for (size_t at = 0; at < size; at++)
        parts->lower[at] = is_upper(word[at]) ? (unsigned char)(word[at] + 32) : word[at];
    for (size_t at = 0, next; at < size; at = next) {
        size_t kept = 0; /* the plural ending of an acronym is left out */
        next = at;
        if (is_upper(word[at])) {
            while (next < size && is_upper(word[next]))
                next++;
            size_t capitals = next - at;
            int before_lower = next < size && is_lower(word[next]);
            if (capitals >= 2 && before_lower && word[next] == 's' &&
                !(next + 1 < size && is_lower(word[next + 1]))) {
                kept = capitals; /* URLs */
                next++;
            } else if (capitals >= 2 && before_lower)
                next--; /* HTTP in HTTPServer */
            else {
                while (next < size && is_lower(word[next])) /* Server */
                    next++;
                while (next < size && is_digit(word[next])) /* V2 */
                    next++;
            }
        } else if (is_lower(word[at])) {
            while (next < size && is_lower(word[next]))
                next++;
            while (next < size && is_digit(word[next]))
                next++;
        } else if (is_digit(word[at])) {
            while (next < size && is_digit(word[next]))
                next++;
        } else {
            next++;
            continue;
        }
        parts->part[parts->count].at = at;
        parts->part[parts->count++].size = kept ? kept : next - at;
    }
}

/* ---- TokenTexts ---- */

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

static void release(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    freefunc deallocate = (freefunc)PyType_GetSlot(type, Py_tp_free);
    deallocate(object);
    Py_DECREF(type);
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

/* ---- WordVectors ---- */

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

/* knows(part: str) → whether it is an entry of the vocabulary */
static PyObject *word_vectors_knows(PyObject *object, PyObject *part) {
    WordVectors *self = (WordVectors *)object;
    Utf8 utf8;
    if (utf8_of_str(part, &utf8, "knows() takes a str") < 0)
        return NULL;
    size_t size = (size_t)utf8.size;
    int known = size <= self->longest && *slot_of(self, hash_entry(utf8.at, size), utf8.at, size, utf8.at, 0);
    Py_XDECREF(utf8.owner);
    return PyBool_FromLong(known);
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
    {"knows", word_vectors_knows, METH_O, "Return whether a lower-cased part is an entry."},
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

static int add_type(PyObject *module, PyType_Spec *spec, const char *name) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type == NULL)
        return -1;
    int result = PyModule_AddObjectRef(module, name, type);
    Py_DECREF(type);
    return result;
}

int add_words(PyObject *module) {
    if (add_type(module, &token_texts_spec, "TokenTexts") < 0)
        return -1;
    return add_type(module, &word_vectors_spec, "WordVectors");
}
