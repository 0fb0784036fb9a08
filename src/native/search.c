/* What a question looks up: how near vectors are, which words chunks hold, which chunks stand together. */
#include "native.h"

#define MOST_DIMENSIONS 65536

/* Return whether a buffer holds a whole number of items of a size, each where such items may be. */
static int holds_items(const Py_buffer *buffer, size_t size) {
    if (buffer->len == 0 || ((size_t)buffer->len % size == 0 && (uintptr_t)buffer->buf % size == 0))
        return 1;
    PyErr_SetString(PyExc_ValueError, "not an array of such numbers");
    return 0;
}

/* Processors with instructions for products of bytes take a third of the time. */
#if defined(__aarch64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#include <sys/auxv.h>
#define FAST __attribute__((target("arch=armv8.2-a+dotprod")))
#define IS_FAST() ((getauxval(AT_HWCAP) >> 20) & 1)
#elif defined(__x86_64__) && defined(__GNUC__)
#define FAST __attribute__((target("avx2")))
#define IS_FAST() __builtin_cpu_supports("avx2")
#else
#define FAST
#define IS_FAST() 0
#endif

typedef struct {
    const int8_t *rows, *query;
    const float *scales;
    const int64_t *keep;
    float *scores;
    Py_ssize_t size, count, wanted;
} Scan;

#define ROWS 4

static ALWAYS_INLINE Py_ssize_t scan(const Scan *it) {
    Py_ssize_t at = 0, size = it->size;
    const int8_t *restrict query = it->query;
    while (at < it->wanted) {
        Py_ssize_t rows = it->wanted - at < ROWS ? it->wanted - at : ROWS;
        const int8_t *row[ROWS];
        for (Py_ssize_t each = 0; each < ROWS; each++) {
            int64_t place = it->keep[at + (each < rows ? each : 0)];
            if (place < 0 || place >= it->count)
                return -1;
            row[each] = it->rows + place * size;
        }
        const int8_t *restrict one = row[0], *restrict two = row[1], *restrict three = row[2], *restrict four = row[3];
        int32_t sums[ROWS] = {0};
        for (Py_ssize_t place = 0; place < size; place++) {
            sums[0] += (int32_t)one[place] * query[place];
            sums[1] += (int32_t)two[place] * query[place];
            sums[2] += (int32_t)three[place] * query[place];
            sums[3] += (int32_t)four[place] * query[place];
        }
        for (Py_ssize_t each = 0; each < rows; each++, at++)
            it->scores[at] = (float)sums[each] * it->scales[it->keep[at]];
    }
    return 0;
}

static FAST Py_ssize_t scan_fast(const Scan *it) {
    return scan(it);
}

static Py_ssize_t scan_anywhere(const Scan *it) {
    return scan(it);
}

/* row_scores(rows, scales, query, keep, out): the product of each row `keep` and the query, by the row's scale. */
static PyObject *row_scores(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer rows, scales, query, keep, out;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*", &rows, &scales, &query, &keep, &out))
        return NULL;
    PyObject *result = NULL;
    if (!holds_items(&scales, 4) || !holds_items(&keep, 8) || !holds_items(&out, 4))
        goto done;
    Py_ssize_t size = query.len, count = scales.len / 4, wanted = keep.len / 8;
    if (size < 1 || size > MOST_DIMENSIONS || rows.len / size != count || rows.len % size || out.len / 4 != wanted) {
        PyErr_SetString(PyExc_ValueError, "arrays of different lengths");
        goto done;
    }
    Scan it = {rows.buf, query.buf, scales.buf, keep.buf, out.buf, size, count, wanted};
    Py_ssize_t failed;
    Py_BEGIN_ALLOW_THREADS
    failed = IS_FAST() ? scan_fast(&it) : scan_anywhere(&it);
    Py_END_ALLOW_THREADS
    if (failed)
        PyErr_SetString(PyExc_IndexError, "no such row");
    else
        result = Py_NewRef(Py_None);
done:
    release_buffers(&rows, &scales, &query, &keep, &out, NULL);
    return result;
}

/* word_columns(words, counts, starts, rows, hashes, out): how often each of the chunks `rows` holds each hash.
 * `starts` says where the words of a chunk begin. */
static PyObject *word_columns(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer words, counts, starts, rows, hashes, out;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*w*", &words, &counts, &starts, &rows, &hashes, &out))
        return NULL;
    PyObject *result = NULL;
    if (!holds_items(&words, 4) || !holds_items(&starts, 8) || !holds_items(&rows, 8) || !holds_items(&hashes, 4) ||
        !holds_items(&out, 8))
        goto done;
    Py_ssize_t total = words.len / 4, chunks = starts.len / 8 - 1, wanted = rows.len / 8, columns = hashes.len / 4;
    if (counts.len != total || columns < 1 || out.len / 8 / columns != wanted || out.len / 8 % columns) {
        PyErr_SetString(PyExc_ValueError, "arrays of different lengths");
        goto done;
    }
    const uint32_t *word = words.buf, *hash = hashes.buf;
    const uint8_t *count = counts.buf;
    const int64_t *start = starts.buf, *row = rows.buf;
    double *column = out.buf;
    uint8_t likely[8192] = {0};
    for (Py_ssize_t at = 0; at < columns; at++)
        likely[(hash[at] & 0xffff) >> 3] |= (uint8_t)(1 << (hash[at] & 7));
    memset(column, 0, (size_t)out.len);
    Py_ssize_t at = 0;
    Py_BEGIN_ALLOW_THREADS
    for (; at < wanted && row[at] >= 0 && row[at] < chunks; at++, column += columns) {
        int64_t begin = start[row[at]], end = start[row[at] + 1];
        if (begin < 0 || end > total)
            break;
        for (int64_t place = begin; place < end; place++) {
            uint32_t low = word[place] & 0xffff;
            if (!(likely[low >> 3] & 1 << (low & 7)))
                continue;
            for (Py_ssize_t each = 0; each < columns; each++)
                if (hash[each] == word[place])
                    column[each] = count[place];
        }
    }
    Py_END_ALLOW_THREADS
    if (at < wanted)
        PyErr_SetString(PyExc_IndexError, "no such chunk");
    else
        result = Py_NewRef(Py_None);
done:
    release_buffers(&words, &counts, &starts, &rows, &hashes, &out, NULL);
    return result;
}

typedef struct {
    int64_t number;
    Py_ssize_t rank;
    Py_ssize_t leader; /* the rank of its passage; -1 before its turn */
} Ranked;

static int by_number(const void *one, const void *other) {
    int64_t a = ((const Ranked *)one)->number, b = ((const Ranked *)other)->number;
    return (a > b) - (a < b);
}

typedef struct {
    Py_ssize_t first, last; /* places of a passage's chunks by number; first > last: merged into another */
} Passage;

static void merge(Ranked *chunks, Py_ssize_t count, Passage *passages, Py_ssize_t *place_of, Py_ssize_t within,
                  Py_ssize_t most, int ordinal_bits) {
    for (Py_ssize_t rank = 0; rank < count; rank++) {
        Py_ssize_t place = place_of[rank], first = place, last = place, leader = rank;
        int64_t number = chunks[place].number;
        Py_ssize_t before = -1, after = -1;
        if (place > 0 && chunks[place - 1].number == number - 1)
            before = chunks[place - 1].leader;
        if (place + 1 < count && chunks[place + 1].number == number + 1)
            after = chunks[place + 1].leader;
        Py_ssize_t others[2] = {before, after};
        if (after >= 0 && (before < 0 || after < before)) {
            others[0] = after;
            others[1] = before;
        }
        for (int each = 0; each < 2; each++) {
            Py_ssize_t other = others[each];
            if (other < 0)
                continue;
            Passage *beside = &passages[other];
            int same_file = chunks[beside->first].number >> ordinal_bits == number >> ordinal_bits;
            if (rank - other > within || !same_file || last - first + beside->last - beside->first + 2 > most)
                continue;
            first = beside->first < first ? beside->first : first;
            last = beside->last > last ? beside->last : last;
            beside->first = 1;
            beside->last = 0;
            leader = other < leader ? other : leader;
        }
        passages[rank].first = 1;
        passages[rank].last = 0;
        passages[leader].first = first;
        passages[leader].last = last;
        for (Py_ssize_t member = first; member <= last; member++)
            chunks[member].leader = leader;
    }
}

/* merged(numbers, within, most, ordinal_bits): the passages of ranked chunks, as (rank, first, last). */
static PyObject *merged(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer numbers;
    Py_ssize_t within, most;
    int ordinal_bits;
    if (!PyArg_ParseTuple(args, "y*nni", &numbers, &within, &most, &ordinal_bits))
        return NULL;
    PyObject *result = NULL;
    Ranked *chunks = NULL;
    Passage *passages = NULL;
    Py_ssize_t *place_of = NULL;
    if (!holds_items(&numbers, 8))
        goto done;
    if (ordinal_bits < 0 || ordinal_bits > 62) {
        PyErr_SetString(PyExc_ValueError, "no such number of bits");
        goto done;
    }
    Py_ssize_t count = numbers.len / 8;
    chunks = calloc((size_t)count + 1, sizeof *chunks);
    passages = calloc((size_t)count + 1, sizeof *passages);
    place_of = calloc((size_t)count + 1, sizeof *place_of);
    if (chunks == NULL || passages == NULL || place_of == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t rank = 0; rank < count; rank++)
        chunks[rank] = (Ranked){((const int64_t *)numbers.buf)[rank], rank, -1};
    qsort(chunks, (size_t)count, sizeof *chunks, by_number);
    for (Py_ssize_t place = 0; place < count; place++)
        place_of[chunks[place].rank] = place;
    merge(chunks, count, passages, place_of, within, most, ordinal_bits);
    result = PyList_New(0);
    for (Py_ssize_t rank = 0; result != NULL && rank < count; rank++) {
        Passage *each = &passages[rank];
        if (each->first > each->last)
            continue;
        PyObject *span = Py_BuildValue("(nLL)", rank, (long long)chunks[each->first].number,
                                       (long long)chunks[each->last].number);
        if (span == NULL || PyList_Append(result, span) < 0)
            Py_CLEAR(result);
        Py_XDECREF(span);
    }
done:
    free(chunks);
    free(passages);
    free(place_of);
    PyBuffer_Release(&numbers);
    return result;
}

#define MOST_PARTS 256

static unsigned char lowered(unsigned char letter) {
    return letter >= 'A' && letter <= 'Z' ? (unsigned char)(letter + 32) : letter;
}

/* Return whether a word holds one of some parts in any case; `firsts` has the letters that parts begin with. */
static int holds_part(const unsigned char *word, Py_ssize_t size, const Utf8 *parts, Py_ssize_t count,
                      const uint8_t *firsts) {
    for (Py_ssize_t at = 0; at < size; at++) {
        if (!firsts[lowered(word[at])])
            continue;
        for (Py_ssize_t each = 0; each < count; each++) {
            Py_ssize_t length = parts[each].size, same = 0;
            if (length > size - at)
                continue;
            while (same < length && lowered(word[at + same]) == parts[each].at[same])
                same++;
            if (same == length)
                return 1;
        }
    }
    return 0;
}

/* words_with(text, parts): the words of an ASCII text that hold one of some parts in any case, with their lines. */
static PyObject *words_with(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *text, *wanted;
    if (!PyArg_ParseTuple(args, "UO!", &text, &PyTuple_Type, &wanted))
        return NULL;
    Utf8 whole = {0}, parts[MOST_PARTS] = {{0}};
    uint8_t firsts[256] = {0};
    PyObject *result = NULL;
    Py_ssize_t count = PyTuple_Size(wanted), line = 0;
    if (count > MOST_PARTS) {
        PyErr_SetString(PyExc_ValueError, "too many parts");
        return NULL;
    }
    for (Py_ssize_t each = 0; each < count; each++) {
        PyObject *part = PyTuple_GetItem(wanted, each);
        if (utf8_of_str(part, &parts[each], "words_with() takes a str and a tuple of str") < 0)
            goto done;
        if (parts[each].size)
            firsts[parts[each].at[0]] = 1;
    }
    if (utf8_of(text, &whole) < 0 || (result = PyList_New(0)) == NULL)
        goto done;
    const unsigned char *at = whole.at, *end = whole.at + whole.size;
    while (at < end) {
        const unsigned char *word = at;
        while (at < end && in_words[*at])
            at++;
        if (at > word && holds_part(word, at - word, parts, count, firsts)) {
            PyObject *pair = Py_BuildValue("(ns#)", line, (const char *)word, at - word);
            if (pair == NULL || PyList_Append(result, pair) < 0) {
                Py_XDECREF(pair);
                Py_CLEAR(result);
                break;
            }
            Py_DECREF(pair);
        }
        if (at < end && *at++ == '\n')
            line++;
    }
done:
    Py_XDECREF(whole.owner);
    for (Py_ssize_t each = 0; each < count; each++)
        Py_XDECREF(parts[each].owner);
    return result;
}

static PyMethodDef functions[] = {
    {"row_scores", row_scores, METH_VARARGS, NULL},
    {"word_columns", word_columns, METH_VARARGS, NULL},
    {"merged", merged, METH_VARARGS, NULL},
    {"words_with", words_with, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int add_search(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
