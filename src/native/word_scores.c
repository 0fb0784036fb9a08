/* The scores of chunks by the words that they hold; see `findspot.store.word_counts`.
 *
 * Each sum is made in the order in which NumPy makes it, so that both give the same numbers. */
#include "native.h"

#define MOST_TERMS 1024

typedef struct {
    const int64_t *numbers, *starts;
    const uint32_t *lengths, *words;
    const uint8_t *counts;
    Py_ssize_t chunks, total;
} Part;

typedef struct {
    const uint32_t *hashes;
    const double *gains, *steps, *damping;
    Py_ssize_t terms, lengths;
} Terms;

/* Return the place of a number among sorted ones, or -1. */
static Py_ssize_t place_of(const int64_t *numbers, Py_ssize_t count, int64_t number) {
    Py_ssize_t low = 0, high = count;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && numbers[low] == number ? low : -1;
}

/* Return the damping of the longest length that is not above this one. */
static double damping_of(const Terms *it, double length) {
    Py_ssize_t low = 0, high = it->lengths;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (it->steps[middle] <= length)
            low = middle + 1;
        else
            high = middle;
    }
    return it->damping[low > 0 ? low - 1 : it->lengths - 1];
}

/* Score one chunk, and say which terms it holds; -1 if its words are not there. */
static int score_chunk(const Part *part, const Terms *it, const uint8_t *likely, Py_ssize_t row, double *score,
                       uint8_t *holds) {
    int64_t begin = part->starts[row], end = part->starts[row + 1];
    if (begin < 0 || end > part->total)
        return -1;
    double held[MOST_TERMS];
    for (Py_ssize_t term = 0; term < it->terms; term++)
        held[term] = 0;
    for (int64_t at = begin; at < end; at++) {
        uint32_t word = part->words[at], low = word & 0xffff;
        if (!(likely[low >> 3] & 1 << (low & 7)))
            continue;
        for (Py_ssize_t term = 0; term < it->terms; term++)
            if (it->hashes[term] == word)
                held[term] = part->counts[at];
    }
    double sum = 0, damping = damping_of(it, part->lengths[row]);
    for (Py_ssize_t term = 0; term < it->terms; term++) {
        sum += it->gains[term] * held[term] / (held[term] + damping);
        holds[term] = held[term] > 0;
    }
    *score = sum;
    return 0;
}

#define TOGETHER 16
#define LINE 16 /* words that memory brings at a time */

/* Bring the words of some chunks nearer: each of them lies somewhere else. */
static void look_ahead(const Part *part, const Py_ssize_t *rows, Py_ssize_t count) {
    for (Py_ssize_t at = 0; at < count; at++) {
        if (rows[at] < 0)
            continue;
        PREFETCH(&part->starts[rows[at]]);
        PREFETCH(&part->lengths[rows[at]]);
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        int64_t word = rows[at] < 0 ? 0 : part->starts[rows[at]], end = rows[at] < 0 ? 0 : part->starts[rows[at] + 1];
        for (; word >= 0 && word < end && end <= part->total; word += LINE)
            PREFETCH(&part->words[word]);
    }
}

/* Score chunks where they are here; -1 if the words of one are not. */
static int score_chunks(const Part *part, const Terms *it, const int64_t *numbers, Py_ssize_t count, double *scores,
                        uint8_t *holds) {
    uint8_t likely[8192] = {0};
    for (Py_ssize_t at = 0; at < it->terms; at++)
        likely[(it->hashes[at] & 0xffff) >> 3] |= (uint8_t)(1 << (it->hashes[at] & 7));
    for (Py_ssize_t first = 0; first < count; first += TOGETHER) {
        Py_ssize_t rows[TOGETHER], together = count - first < TOGETHER ? count - first : TOGETHER;
        for (Py_ssize_t at = 0; at < together; at++)
            rows[at] = place_of(part->numbers, part->chunks, numbers[first + at]);
        look_ahead(part, rows, together);
        for (Py_ssize_t at = 0; at < together; at++)
            if (rows[at] >= 0 && score_chunk(part, it, likely, rows[at], &scores[first + at],
                                             &holds[(first + at) * it->terms]) < 0)
                return -1;
    }
    return 0;
}

#define PARTS 12

/* word_scores(part, terms, wanted, scores, holds): the BM25 scores of those of the chunks `wanted` that are here, and
 * which terms each of them holds.
 *
 * `part` has the numbers of chunks, starts and lengths, and words and counts; `terms` has the hash and the gain of each
 * term, the stored lengths, and the damping for each of those. */
static PyObject *word_scores(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer b[PARTS];
    if (!PyArg_ParseTuple(args, "(y*y*y*y*y*)(y*y*y*y*)y*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &b[7],
                          &b[8], &b[9], &b[10], &b[11]))
        return NULL;
    static const size_t sizes[PARTS] = {8, 8, 4, 4, 1, 4, 8, 8, 8, 8, 8, 1};
    PyObject *result = NULL;
    for (int at = 0; at < PARTS; at++)
        if (!holds_items(&b[at], sizes[at]))
            goto done;
    Part part = {b[0].buf, b[1].buf, b[2].buf, b[3].buf, b[4].buf, b[0].len / 8, b[3].len / 4};
    Terms terms = {b[5].buf, b[6].buf, b[7].buf, b[8].buf, b[5].len / 4, b[7].len / 8};
    Py_ssize_t wanted = b[9].len / 8;
    if (b[1].len / 8 != part.chunks + 1 || b[2].len / 4 != part.chunks || b[4].len != part.total || terms.terms < 1 ||
        terms.terms > MOST_TERMS || b[6].len / 8 != terms.terms || terms.lengths < 1 || b[8].len != b[7].len ||
        b[10].len / 8 != wanted || b[11].len / terms.terms != wanted || b[11].len % terms.terms) {
        PyErr_SetString(PyExc_ValueError, "arrays of different lengths");
        goto done;
    }
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = score_chunks(&part, &terms, b[9].buf, wanted, b[10].buf, b[11].buf);
    Py_END_ALLOW_THREADS
    if (failed)
        PyErr_SetString(PyExc_IndexError, "no such words");
    else
        result = Py_NewRef(Py_None);
done:
    for (int at = 0; at < PARTS; at++)
        PyBuffer_Release(&b[at]);
    return result;
}

PyMethodDef word_scores_functions[] = {
    {"word_scores", word_scores, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
