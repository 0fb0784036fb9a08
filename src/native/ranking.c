/* What candidates are ranked by: the words that they hold, and how their scores are mixed and spread.
 *
 * Each sum is made in the order in which NumPy makes it, so that both give the same numbers. */
#include "native.h"

#include <math.h>

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

/* Score one chunk; 0 if it holds none of the terms, -1 if its words are not there. */
static int score_chunk(const Part *part, const Terms *it, const uint8_t *likely, Py_ssize_t row, double *score) {
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
    int holds = 0;
    for (Py_ssize_t term = 0; term < it->terms; term++) {
        sum += it->gains[term] * held[term] / (held[term] + damping);
        holds |= held[term] > 0;
    }
    *score = sum;
    return holds;
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
        for (Py_ssize_t at = 0; at < together; at++) {
            int held = rows[at] < 0 ? 0 : score_chunk(part, it, likely, rows[at], &scores[first + at]);
            if (held < 0)
                return -1;
            if (rows[at] >= 0)
                holds[first + at] = (uint8_t)held;
        }
    }
    return 0;
}

#define PARTS 12

/* word_scores(part, terms, wanted, scores, holds): the BM25 scores of those of the chunks `wanted` that are here.
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
        b[10].len / 8 != wanted || b[11].len != wanted) {
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

/* Write scores from 0 to 1; what has none gets 0. */
static void scale(const double *scores, Py_ssize_t count, const double *floor, double *scaled) {
    double low = INFINITY, high = -INFINITY;
    for (Py_ssize_t at = 0; at < count; at++) {
        low = scores[at] < low ? scores[at] : low;
        high = scores[at] > high ? scores[at] : high;
    }
    low = floor == NULL ? low : *floor;
    double spread = high - low;
    for (Py_ssize_t at = 0; at < count; at++)
        scaled[at] = isnan(scores[at]) ? 0.0 : spread > 0 ? (scores[at] - low) / spread : 1.0;
}

/* fuse((words, cosines), weight, (keyword, semantic, fused)): both kinds of score from 0 to 1, and mixed. */
static PyObject *fuse(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer b[5];
    double weight;
    if (!PyArg_ParseTuple(args, "(y*y*)d(w*w*w*)", &b[0], &b[1], &weight, &b[2], &b[3], &b[4]))
        return NULL;
    PyObject *result = NULL;
    for (int at = 0; at < 5; at++) {
        if (!holds_items(&b[at], 8))
            goto done;
        if (b[at].len != b[0].len) {
            PyErr_SetString(PyExc_ValueError, "arrays of different lengths");
            goto done;
        }
    }
    Py_ssize_t count = b[0].len / 8;
    double *keyword = b[2].buf, *semantic = b[3].buf, *fused = b[4].buf, none = 0.0;
    scale(b[0].buf, count, &none, keyword);
    scale(b[1].buf, count, NULL, semantic);
    for (Py_ssize_t at = 0; at < count; at++)
        fused[at] = (1 - weight) * keyword[at] + weight * semantic[at];
    result = Py_NewRef(Py_None);
done:
    for (int at = 0; at < 5; at++)
        PyBuffer_Release(&b[at]);
    return result;
}

/* put_column(numbers, found, values, column): the values of some chunks in a column of sorted chunks. */
static PyObject *put_column(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer b[4];
    if (!PyArg_ParseTuple(args, "y*y*y*w*", &b[0], &b[1], &b[2], &b[3]))
        return NULL;
    PyObject *result = NULL;
    for (int at = 0; at < 4; at++)
        if (!holds_items(&b[at], 8))
            goto done;
    if (b[3].len != b[0].len || b[2].len != b[1].len) {
        PyErr_SetString(PyExc_ValueError, "arrays of different lengths");
        goto done;
    }
    const int64_t *numbers = b[0].buf, *found = b[1].buf;
    for (Py_ssize_t at = 0; at < b[1].len / 8; at++) {
        Py_ssize_t row = place_of(numbers, b[0].len / 8, found[at]);
        if (row >= 0)
            ((double *)b[3].buf)[row] = ((const double *)b[2].buf)[at];
    }
    result = Py_NewRef(Py_None);
done:
    for (int at = 0; at < 4; at++)
        PyBuffer_Release(&b[at]);
    return result;
}

/* Return whether the values and the results are numbers of the same rows, and the starts those of files. */
static int are_rows_of_files(const Py_buffer *values, const Py_buffer *starts, const Py_buffer *results) {
    if (!holds_items(values, 8) || !holds_items(starts, 8) || !holds_items(results, 8))
        return 0;
    if (results->len == values->len)
        return 1;
    PyErr_SetString(PyExc_ValueError, "arrays of different lengths");
    return 0;
}

/* Return the row from which on the rows of the next file come; -1 if the files are not in order. */
static Py_ssize_t end_of(const int64_t *starts, Py_ssize_t files, Py_ssize_t file, Py_ssize_t rows) {
    int64_t end = file + 1 < files ? starts[file + 1] : rows;
    return starts[file] < 0 || end < starts[file] || end > rows ? -1 : (Py_ssize_t)end;
}

#define FOLLOWING 3

/* The best row of a file gains by what its next ones found. */
static void add_gain(const double *fused, Py_ssize_t first, Py_ssize_t end, double share, double enough, double *gains) {
    Py_ssize_t best[FOLLOWING + 1], count = 0;
    for (Py_ssize_t row = first; row < end; row++) {
        Py_ssize_t place = count;
        while (place > 0 && fused[best[place - 1]] < fused[row])
            place--;
        if (place > FOLLOWING)
            continue;
        count = count > FOLLOWING ? FOLLOWING : count;
        for (Py_ssize_t at = count; at > place; at--)
            best[at] = best[at - 1];
        best[place] = row;
        count++;
    }
    if (count < 2)
        return;
    double rest = 0;
    for (Py_ssize_t at = 1; at < count; at++)
        rest += fused[best[at]];
    double worth = rest / enough;
    gains[best[0]] = share * (worth < 1.0 ? worth : 1.0);
}

/* coherence(fused, starts, share, enough, gains): what the best row of each file gains by the others of it. */
static PyObject *coherence(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer fused, starts, gains;
    double share, enough;
    if (!PyArg_ParseTuple(args, "y*y*ddw*", &fused, &starts, &share, &enough, &gains))
        return NULL;
    PyObject *result = NULL;
    if (!are_rows_of_files(&fused, &starts, &gains))
        goto done;
    Py_ssize_t rows = fused.len / 8, files = starts.len / 8;
    memset(gains.buf, 0, (size_t)gains.len);
    for (Py_ssize_t file = 0; file < files; file++) {
        Py_ssize_t end = end_of(starts.buf, files, file, rows);
        if (end < 0) {
            PyErr_SetString(PyExc_IndexError, "no such row");
            goto done;
        }
        add_gain(fused.buf, (Py_ssize_t)((const int64_t *)starts.buf)[file], end, share, enough, gains.buf);
    }
    result = Py_NewRef(Py_None);
done:
    release_buffers(&fused, &starts, &gains, NULL);
    return result;
}

typedef struct {
    double score;
    Py_ssize_t row;
} Placed;

static int best_first(const void *one, const void *other) {
    const Placed *a = one, *b = other;
    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return (a->row > b->row) - (a->row < b->row);
}

#define FEW 32

static void sort_few(Placed *rows, Py_ssize_t count) {
    for (Py_ssize_t at = 1; at < count; at++) {
        Placed each = rows[at];
        Py_ssize_t place = at;
        for (; place > 0 && rows[place - 1].score < each.score; place--)
            rows[place] = rows[place - 1];
        rows[place] = each;
    }
}

/* places_in_files(scores, starts, places): the place of each row among those of its file, the best one first. */
static PyObject *places_in_files(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer scores, starts, places;
    if (!PyArg_ParseTuple(args, "y*y*w*", &scores, &starts, &places))
        return NULL;
    PyObject *result = NULL;
    Placed *sorted = NULL;
    if (!are_rows_of_files(&scores, &starts, &places))
        goto done;
    Py_ssize_t rows = scores.len / 8, files = starts.len / 8;
    if ((sorted = malloc(((size_t)rows + 1) * sizeof *sorted)) == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    memset(places.buf, 0, (size_t)places.len);
    for (Py_ssize_t file = 0; file < files; file++) {
        Py_ssize_t first = (Py_ssize_t)((const int64_t *)starts.buf)[file], end = end_of(starts.buf, files, file, rows);
        if (end < 0) {
            PyErr_SetString(PyExc_IndexError, "no such row");
            goto done;
        }
        for (Py_ssize_t row = first; row < end; row++)
            sorted[row - first] = (Placed){((const double *)scores.buf)[row], row};
        if (end - first <= FEW)
            sort_few(sorted, end - first);
        else
            qsort(sorted, (size_t)(end - first), sizeof *sorted, best_first);
        for (Py_ssize_t place = 0; place < end - first; place++)
            ((int64_t *)places.buf)[sorted[place].row] = place;
    }
    result = Py_NewRef(Py_None);
done:
    free(sorted);
    release_buffers(&scores, &starts, &places, NULL);
    return result;
}

PyMethodDef ranking_functions[] = {
    {"word_scores", word_scores, METH_VARARGS, NULL},
    {"put_column", put_column, METH_VARARGS, NULL},
    {"fuse", fuse, METH_VARARGS, NULL},
    {"coherence", coherence, METH_VARARGS, NULL},
    {"places_in_files", places_in_files, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
