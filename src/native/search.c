/* What a question looks up: how near vectors are, which chunks stand together, which words a text holds. */
#include "native.h"

#include <math.h>

#define MOST_DIMENSIONS 65536
#define MOST_WANTED (1 << 24)
#define BLOCK 256 /* rows scored at a time */

/* Processors with instructions for products of bytes, or of pairs of two, take a third of the time. A Factor is a
 * number of the query as they want it. */
#if defined(__aarch64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#include <sys/auxv.h>
#define FAST __attribute__((target("arch=armv8.2-a+dotprod")))
#define IS_FAST() ((getauxval(AT_HWCAP) >> 20) & 1)
typedef int8_t Factor;
#elif defined(__x86_64__) && defined(__GNUC__)
#define FAST __attribute__((target("avx2")))
#define IS_FAST() __builtin_cpu_supports("avx2")
typedef int16_t Factor;
#else
typedef int8_t Factor;
#define FAST
#define IS_FAST() 0
#endif

typedef struct {
    const int8_t *rows;
    Factor *query; /* to be freed */
    const float *scales;
    const int64_t *keep;
    float *scores;
    Py_ssize_t size, count, wanted;
} Scan;

#define ROWS 4
#define AHEAD 16 /* rows that are on their way from memory … */
#define LINE 64  /* … by so many bytes */

/* Score the rows from one place of `keep` to another; -1 if there is no such row. */
static ALWAYS_INLINE Py_ssize_t scan(const Scan *it, Py_ssize_t at, Py_ssize_t to) {
    Py_ssize_t size = it->size;
    const Factor *restrict query = it->query;
    float *restrict scores = it->scores;
    while (at < to) {
        Py_ssize_t rows = to - at < ROWS ? to - at : ROWS;
        const int8_t *row[ROWS];
        int64_t places[ROWS]; /* read once: another thread, or what is written here, may change them */
        for (Py_ssize_t each = 0; each < ROWS; each++) {
            places[each] = it->keep[at + (each < rows ? each : 0)];
            if (places[each] < 0 || places[each] >= it->count)
                return -1;
            row[each] = it->rows + places[each] * size;
            int64_t next = at + each + AHEAD < it->wanted ? it->keep[at + each + AHEAD] : 0;
            for (Py_ssize_t place = 0; place < size && next > 0 && next < it->count; place += LINE)
                PREFETCH(it->rows + next * size + place);
        }
        const int8_t *restrict one = row[0], *restrict two = row[1], *restrict three = row[2], *restrict four = row[3];
        int32_t sums[ROWS] = {0};
        for (Py_ssize_t place = 0; place < size; place++) {
            sums[0] += (Factor)one[place] * query[place];
            sums[1] += (Factor)two[place] * query[place];
            sums[2] += (Factor)three[place] * query[place];
            sums[3] += (Factor)four[place] * query[place];
        }
        for (Py_ssize_t each = 0; each < rows; each++, at++)
            *scores++ = (float)sums[each] * it->scales[places[each]];
    }
    return 0;
}

static FAST Py_ssize_t scan_fast(const Scan *it, Py_ssize_t at, Py_ssize_t to) {
    return scan(it, at, to);
}

static Py_ssize_t scan_anywhere(const Scan *it, Py_ssize_t at, Py_ssize_t to) {
    return scan(it, at, to);
}

static Py_ssize_t scan_rows(const Scan *it, Py_ssize_t at, Py_ssize_t to) {
    return IS_FAST() ? scan_fast(it, at, to) : scan_anywhere(it, at, to);
}

/* Make a scan ready, if its arrays fit each other. */
static int prepare(Scan *it, const Py_buffer *rows, const Py_buffer *scales, const Py_buffer *query,
                const Py_buffer *keep) {
    if (!holds_items(scales, 4) || !holds_items(keep, 8))
        return 0;
    *it = (Scan){rows->buf, NULL, scales->buf, keep->buf, NULL, query->len, scales->len / 4, keep->len / 8};
    if (it->size < 1 || it->size > MOST_DIMENSIONS || rows->len / it->size != it->count || rows->len % it->size) {
        PyErr_SetString(PyExc_ValueError, "arrays of different lengths");
        return 0;
    }
    it->query = malloc((size_t)it->size * sizeof *it->query);
    if (it->query == NULL)
        return PyErr_NoMemory() != NULL;
    for (Py_ssize_t place = 0; place < it->size; place++)
        it->query[place] = ((const int8_t *)query->buf)[place];
    return 1;
}

/* row_scores(rows, scales, query, keep, out): the product of each row `keep` and the query, by the row's scale. */
static PyObject *row_scores(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer rows, scales, query, keep, out;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*", &rows, &scales, &query, &keep, &out))
        return NULL;
    PyObject *result = NULL;
    Scan it = {0};
    if (!prepare(&it, &rows, &scales, &query, &keep) || !holds_items(&out, 4))
        goto done;
    if (out.len / 4 != it.wanted) {
        PyErr_SetString(PyExc_ValueError, "arrays of different lengths");
        goto done;
    }
    it.scores = out.buf;
    Py_ssize_t failed;
    Py_BEGIN_ALLOW_THREADS
    failed = scan_rows(&it, 0, it.wanted);
    Py_END_ALLOW_THREADS
    if (failed)
        PyErr_SetString(PyExc_IndexError, "no such row");
    else
        result = Py_NewRef(Py_None);
done:
    free(it.query);
    release_buffers(&rows, &scales, &query, &keep, &out, NULL);
    return result;
}

typedef struct {
    Py_ssize_t place;
    float score;
} Found;

/* Return the score that as many of these reach as are wanted; the order of `scores` changes. */
static float reached(float *scores, Py_ssize_t count, Py_ssize_t wanted) {
    Py_ssize_t low = 0, high = count - 1, target = wanted - 1;
    while (low < high) {
        float pivot = scores[low + (high - low) / 2];
        Py_ssize_t left = low, right = high;
        while (left <= right) {
            while (scores[left] > pivot)
                left++;
            while (scores[right] < pivot)
                right--;
            if (left <= right) {
                float kept = scores[left];
                scores[left++] = scores[right];
                scores[right--] = kept;
            }
        }
        if (target <= right)
            high = right;
        else if (target >= left)
            low = left;
        else
            break;
    }
    return scores[target];
}

typedef struct {
    Found *found;
    float *scratch;
    Py_ssize_t count, room, top;
    float floor;
} Best;

/* Leave out what is not among the best so far. */
static void keep_best(Best *best) {
    if (best->count < best->top)
        return;
    for (Py_ssize_t at = 0; at < best->count; at++)
        best->scratch[at] = best->found[at].score;
    best->floor = reached(best->scratch, best->count, best->top);
    Py_ssize_t kept = 0;
    for (Py_ssize_t at = 0; at < best->count; at++)
        if (best->found[at].score >= best->floor)
            best->found[kept++] = best->found[at];
    best->count = kept;
}

/* Make room for one more: many may tie for the last place. */
static int make_room(Best *best) {
    if (best->room)
        keep_best(best);
    if (best->room && best->count < best->room / 2)
        return 0;
    Py_ssize_t room = best->room ? 2 * best->room : 2 * best->top + BLOCK;
    Found *found = realloc(best->found, (size_t)room * sizeof *found);
    if (found == NULL)
        return -1;
    best->found = found;
    float *scratch = realloc(best->scratch, (size_t)room * sizeof *scratch);
    if (scratch == NULL)
        return -1;
    best->scratch = scratch;
    best->room = room;
    return 0;
}

enum { NO_ROW = -1, NO_MEMORY = -2 };

static int scan_for_best(Scan *it, Best *best) {
    float scores[BLOCK];
    it->scores = scores;
    for (Py_ssize_t at = 0; at < it->wanted; at += BLOCK) {
        Py_ssize_t to = at + BLOCK < it->wanted ? at + BLOCK : it->wanted;
        if (scan_rows(it, at, to) < 0)
            return NO_ROW;
        for (Py_ssize_t each = 0; each < to - at; each++) {
            if (!(scores[each] >= best->floor))
                continue;
            if (best->count == best->room && make_room(best) < 0)
                return NO_MEMORY;
            best->found[best->count++] = (Found){at + each, scores[each]};
        }
    }
    keep_best(best);
    return 0;
}

/* best_rows(rows, scales, query, keep, top): the places in `keep` of the rows that score best, with their scores.
 * All that tie for the last place are among them, in the order of `keep`. */
static PyObject *best_rows(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer rows, scales, query, keep;
    Py_ssize_t top;
    if (!PyArg_ParseTuple(args, "y*y*y*y*n", &rows, &scales, &query, &keep, &top))
        return NULL;
    PyObject *result = NULL;
    Scan it = {0};
    Best best = {.top = top, .floor = -INFINITY};
    if (!prepare(&it, &rows, &scales, &query, &keep))
        goto done;
    if (top < 1 || top > MOST_WANTED) {
        PyErr_SetString(PyExc_ValueError, "no such number of rows");
        goto done;
    }
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = scan_for_best(&it, &best);
    Py_END_ALLOW_THREADS
    if (failed == NO_MEMORY)
        PyErr_NoMemory();
    else if (failed)
        PyErr_SetString(PyExc_IndexError, "no such row");
    if (failed)
        goto done;
    PyObject *places = PyBytes_FromStringAndSize(NULL, best.count * 8);
    PyObject *scores = PyBytes_FromStringAndSize(NULL, best.count * 4);
    if (places != NULL && scores != NULL) {
        char *place = PyBytes_AsString(places), *score = PyBytes_AsString(scores);
        for (Py_ssize_t at = 0; at < best.count; at++) {
            int64_t number = best.found[at].place;
            memcpy(place + at * 8, &number, 8);
            memcpy(score + at * 4, &best.found[at].score, 4);
        }
        result = PyTuple_Pack(2, places, scores);
    }
    Py_XDECREF(places);
    Py_XDECREF(scores);
done:
    free(best.found);
    free(best.scratch);
    free(it.query);
    release_buffers(&rows, &scales, &query, &keep, NULL);
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
        // Of two different numbers, the smaller one can be increased without an overflow.
        if (place > 0 && chunks[place - 1].number < number && chunks[place - 1].number + 1 == number)
            before = chunks[place - 1].leader;
        if (place + 1 < count && number < chunks[place + 1].number && chunks[place + 1].number == number + 1)
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

/* merged(numbers, within, most, ordinal_bits): rank, first and last chunk of each passage of ranked chunks. */
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
    Py_ssize_t found = 0;
    for (Py_ssize_t rank = 0; rank < count; rank++)
        found += passages[rank].first <= passages[rank].last;
    if ((result = PyBytes_FromStringAndSize(NULL, found * 24)) == NULL)
        goto done;
    char *at = PyBytes_AsString(result);
    for (Py_ssize_t rank = 0; rank < count; rank++) {
        Passage *each = &passages[rank];
        if (each->first > each->last)
            continue;
        int64_t span[3] = {rank, chunks[each->first].number, chunks[each->last].number};
        memcpy(at, span, sizeof span);
        at += sizeof span;
    }
done:
    free(chunks);
    free(passages);
    free(place_of);
    PyBuffer_Release(&numbers);
    return result;
}

PyMethodDef search_functions[] = {
    {"row_scores", row_scores, METH_VARARGS, NULL},
    {"best_rows", best_rows, METH_VARARGS, NULL},
    {"merged", merged, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
