/* How often each word occurs in each text; see `findspot.store.word_counts`. */
#include "native.h"

#define MOST_OF_A_WORD 255

typedef struct {
    const unsigned char *at; /* NULL: this place of the table is free */
    Py_ssize_t size;
    size_t entry;
} Place;

typedef struct {
    Place *places; /* a hash table over the words of one text; at most half of it is used */
    size_t size;
    uint32_t *words; /* of all texts so far */
    uint32_t *counts;
    size_t used, room;
} Counted;

#define SMALLEST_TABLE 512

/* Return the place of a word: where it is, or where it belongs. */
static Place *place_of(Counted *counted, uint32_t hash, const unsigned char *at, Py_ssize_t size) {
    size_t mask = counted->size - 1, slot = hash & mask;
    for (;; slot = (slot + 1) & mask) {
        Place *place = &counted->places[slot];
        if (place->at == NULL)
            return place;
        if (counted->words[place->entry] == hash && place->size == size &&
            memcmp(place->at, at, (size_t)size) == 0)
            return place;
    }
}

/* Empty the table for the next text. */
static int start_table(Counted *counted) {
    if (counted->places == NULL) {
        counted->places = malloc(SMALLEST_TABLE * sizeof(Place));
        if (counted->places == NULL)
            return -1;
    }
    counted->size = SMALLEST_TABLE;
    memset(counted->places, 0, counted->size * sizeof(Place));
    return 0;
}

static int grow_table(Counted *counted) {
    Place *old = counted->places;
    size_t old_size = counted->size;
    if (old_size > SIZE_MAX / 2 / sizeof(Place))
        return -1;
    counted->places = calloc(old_size * 2, sizeof(Place));
    if (counted->places == NULL) {
        counted->places = old;
        return -1;
    }
    counted->size = old_size * 2;
    for (size_t slot = 0; slot < old_size; slot++)
        if (old[slot].at != NULL)
            *place_of(counted, counted->words[old[slot].entry], old[slot].at, old[slot].size) = old[slot];
    free(old);
    return 0;
}

static int grow_words(Counted *counted) {
    size_t room = counted->room ? counted->room * 2 : 4096;
    uint32_t *words = realloc(counted->words, room * sizeof(uint32_t));
    if (words == NULL)
        return -1;
    counted->words = words;
    uint32_t *counts = realloc(counted->counts, room * sizeof(uint32_t));
    if (counts == NULL)
        return -1;
    counted->counts = counts;
    counted->room = room;
    return 0;
}

/* `first` is how many words there were before this text. */
static int count_word(Counted *counted, size_t first, const unsigned char *at, Py_ssize_t size) {
    uint32_t hash = crc32_of(at, size);
    Place *place = place_of(counted, hash, at, size);
    if (place->at != NULL) {
        counted->counts[place->entry]++;
        return 0;
    }
    if (counted->used == counted->room && grow_words(counted) < 0)
        return -1;
    *place = (Place){at, size, counted->used};
    counted->words[counted->used] = hash;
    counted->counts[counted->used++] = 1;
    return (counted->used - first) * 2 > counted->size ? grow_table(counted) : 0;
}

/* Count the words of one text, and return how many there are; -1 without memory. */
static Py_ssize_t count_text(Counted *counted, const unsigned char *at, Py_ssize_t size) {
    const unsigned char *end = at + size;
    Py_ssize_t total = 0;
    size_t first = counted->used;
    if (start_table(counted) < 0)
        return -1;
    while (at < end) {
        Py_ssize_t space = space_at(at, end);
        if (space) {
            at += space;
            continue;
        }
        const unsigned char *start = at;
        do
            at++;
        while (at < end && !space_at(at, end));
        if (count_word(counted, first, start, at - start) < 0)
            return -1;
        total++;
    }
    return total;
}

/* count_words(texts: list[str]) → starts (int64), lengths (uint32), words (uint32), counts (uint8) as bytearrays */
static PyObject *count_words(PyObject *self, PyObject *texts) {
    (void)self;
    if (!PyList_Check(texts)) {
        PyErr_SetString(PyExc_TypeError, "count_words() takes a list of str");
        return NULL;
    }
    Counted counted = {0};
    PyObject *result = NULL, *starts = NULL, *lengths = NULL, *words = NULL, *counts = NULL;
    Py_ssize_t number = PyList_Size(texts);
    starts = PyByteArray_FromStringAndSize(NULL, (number + 1) * (Py_ssize_t)sizeof(int64_t));
    lengths = PyByteArray_FromStringAndSize(NULL, number * (Py_ssize_t)sizeof(uint32_t));
    if (starts == NULL || lengths == NULL)
        goto done;
    int64_t *start = (int64_t *)PyByteArray_AsString(starts);
    uint32_t *length = (uint32_t *)PyByteArray_AsString(lengths);
    *start++ = 0;
    for (Py_ssize_t at = 0; at < number; at++) {
        Utf8 utf8;
        if (utf8_of_str(PyList_GetItem(texts, at), &utf8, "count_words() takes a list of str") < 0)
            goto done;
        Py_ssize_t total = count_text(&counted, utf8.at, utf8.size);
        Py_XDECREF(utf8.owner);
        if (total < 0) {
            PyErr_NoMemory();
            goto done;
        }
        *length++ = (uint32_t)total;
        *start++ = (int64_t)counted.used;
    }
    words = PyByteArray_FromStringAndSize((char *)counted.words, (Py_ssize_t)(counted.used * sizeof(uint32_t)));
    counts = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)counted.used);
    if (words == NULL || counts == NULL)
        goto done;
    unsigned char *count = (unsigned char *)PyByteArray_AsString(counts);
    for (size_t at = 0; at < counted.used; at++)
        count[at] = (unsigned char)(counted.counts[at] < MOST_OF_A_WORD ? counted.counts[at] : MOST_OF_A_WORD);
    result = PyTuple_Pack(4, starts, lengths, words, counts);
done:
    free(counted.places);
    free(counted.words);
    free(counted.counts);
    Py_XDECREF(starts);
    Py_XDECREF(lengths);
    Py_XDECREF(words);
    Py_XDECREF(counts);
    return result;
}

PyMethodDef word_counts_functions[] = {
    {"count_words", count_words, METH_O, "Return where the words of each text start, how many they are, and how often each occurs."},
    {NULL, NULL, 0, NULL},
};
