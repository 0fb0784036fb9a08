/* What the files of the compiled part share. Each one adds its own functions to the module. */
#ifndef FINDSPOT_NATIVE_H
#define FINDSPOT_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GNUC__
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

/* Whether a byte is an ASCII letter, a digit or an underscore. */
extern unsigned char in_words[256];

/* Ask memory for what is read soon. */
#if defined(__GNUC__)
#define PREFETCH(place) __builtin_prefetch(place)
#else
#define PREFETCH(place) ((void)(place))
#endif

/* The UTF-8 of a str. `owner` must outlive `at`; release it with Py_XDECREF. */
typedef struct {
    const unsigned char *at;
    Py_ssize_t size;
    PyObject *owner;
} Utf8;

/* Return 0, or -1 with an exception; lone surrogates are encoded as `surrogatepass` does. */
int utf8_of(PyObject *text, Utf8 *utf8);

/* The same for any object: one that is not a str is a TypeError with this message. NULL, from a call that
 * failed, keeps its exception. */
int utf8_of_str(PyObject *object, Utf8 *utf8, const char *message);

/* Release buffers; NULL ends the list. */
void release_buffers(Py_buffer *first, ...);

/* Return the length of the white space that begins here, as `str.split` sees it; 0 where there is none. */
Py_ssize_t space_at(const unsigned char *at, const unsigned char *end);

/* The same as `zlib.crc32`. */
uint32_t crc32_of(const unsigned char *at, Py_ssize_t size);

/* Set a seed that nobody outside of this process knows, so that no file can be made whose words collide. */
int seed_of_process(uint64_t *seed);

/* Return whether a buffer holds a whole number of items of a size, each where such items may be. */
int holds_items(const Py_buffer *buffer, size_t size);

/* What each file adds to the module: a list of functions, or whatever else it needs. */
extern PyMethodDef search_functions[], word_counts_functions[];
int add_words(PyObject *module);

#endif
