/* What the classes about words share: bytes that grow, what is remembered of each word, the runs of characters
 * that may be words, and the parts of a word. */
#ifndef FINDSPOT_WORDS_H
#define FINDSPOT_WORDS_H

#include "native.h"

#define LONGEST_WORD 64 /* MAX_TOKEN_CHARS */

/* ---- bytes that grow ---- */

typedef struct {
    unsigned char *at;
    size_t size, room;
} Bytes;

/* Return 0, or -1 where there is no memory. */
int make_room(Bytes *bytes, size_t more);

static inline int add_bytes(Bytes *bytes, const void *more, size_t size) {
    if (bytes->room - bytes->size < size && make_room(bytes, size) < 0)
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

/* Return 0, or -1 with an exception. At most `most` values are remembered. */
int start_memory(Memory *memory, Py_ssize_t most);

/* Remember a value, unless it is too large; all others are forgotten first where there are too many. Return -1
 * where there is no memory. */
int remember(Memory *memory, uint32_t hash, const unsigned char *at, size_t size, const Bytes *value);
void forget(Memory *memory);

static inline uint32_t hash_of(const Memory *memory, const unsigned char *at, size_t size) {
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

static inline const Entry *remembered(const Memory *memory, uint32_t hash, const unsigned char *at, size_t size) {
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

static inline const unsigned char *value_of(const Memory *memory, const Entry *entry) {
    return memory->arena.at + entry->key + entry->key_size;
}

/* ---- runs of characters that may be words ---- */

/* Return the length of a character beyond ASCII that is surely not part of a word: a space or usual
 * punctuation. 0 for all others, which are for Python to decide. */
static inline size_t separator_at(const unsigned char *at, const unsigned char *end) {
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
static inline int next_run(Runs *runs) {
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
PyObject *ask_python(PyObject *function, const Runs *runs);

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

void parts_of(const unsigned char *word, size_t size, Parts *parts);

/* ---- the classes ---- */

/* Free an object of a class of ours, after what it holds. */
void release(PyObject *object);

int add_token_texts(PyObject *module);
int add_word_vectors(PyObject *module);
int add_type(PyObject *module, PyType_Spec *spec, const char *name);

#endif
