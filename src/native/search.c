/* How near vectors are to the one of a question. */
#include "native.h"

#define MOST_DIMENSIONS 65536

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

/* Score the rows of `keep`; -1 if there is no such row. */
static ALWAYS_INLINE int scan(const Scan *it) {
    Py_ssize_t size = it->size, at = 0, to = it->wanted;
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

static FAST int scan_fast(const Scan *it) {
    return scan(it);
}

static int scan_anywhere(const Scan *it) {
    return scan(it);
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
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = IS_FAST() ? scan_fast(&it) : scan_anywhere(&it);
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

PyMethodDef search_functions[] = {
    {"row_scores", row_scores, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
