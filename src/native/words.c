/* What is remembered of words, and how a word is taken apart.
 *
 * `findspot.text.tokens` says what a word and a token are, `findspot.embed.static_model` what a piece is. Here,
 * plain ASCII words are taken apart in the same way; runs with other characters are left to Python. What comes
 * out is remembered for each word. */
#include "words.h"

#define LONGEST_KEY 128       /* longer runs are not remembered */
#define LONGEST_VALUE 2048    /* nor those with so many tokens */
#define LARGEST_ARENA (32u << 20)

int make_room(Bytes *bytes, size_t more) {
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

void forget(Memory *memory) {
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

int remember(Memory *memory, uint32_t hash, const unsigned char *at, size_t size, const Bytes *value) {
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

int start_memory(Memory *memory, Py_ssize_t most) {
    if (seed_of_process(&memory->seed) < 0)
        return -1;
    memory->most = most < 1 ? 1 : most > (1 << 24) ? (1 << 24) : (size_t)most;
    return 0;
}

PyObject *ask_python(PyObject *function, const Runs *runs) {
    PyObject *run = PyUnicode_DecodeUTF8((const char *)runs->run, (Py_ssize_t)runs->size, "surrogatepass");
    if (run == NULL)
        return NULL;
    PyObject *answer = PyObject_CallFunctionObjArgs(function, run, NULL);
    Py_DECREF(run);
    return answer;
}

static int is_upper(unsigned char letter) { return letter >= 'A' && letter <= 'Z'; }
static int is_lower(unsigned char letter) { return letter >= 'a' && letter <= 'z'; }
static int is_digit(unsigned char letter) { return letter >= '0' && letter <= '9'; }

void parts_of(const unsigned char *word, size_t size, Parts *parts) {
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

void release(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    freefunc deallocate = (freefunc)PyType_GetSlot(type, Py_tp_free);
    deallocate(object);
    Py_DECREF(type);
}

int add_type(PyObject *module, PyType_Spec *spec, const char *name) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type == NULL)
        return -1;
    int result = PyModule_AddObjectRef(module, name, type);
    Py_DECREF(type);
    return result;
}

int add_words(PyObject *module) {
    return add_token_texts(module) < 0 ? -1 : add_word_vectors(module);
}
