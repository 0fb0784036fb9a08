/* `findspot._native`: small loops that take too long in Python. Each has a version in Python with the same
 * result, which runs where this module could not be compiled. */
#include "native.h"

#include <stdarg.h>

int utf8_of(PyObject *text, Utf8 *utf8) {
    utf8->owner = NULL;
    utf8->at = (const unsigned char *)PyUnicode_AsUTF8AndSize(text, &utf8->size);
    if (utf8->at != NULL)
        return 0;
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return -1;
    PyErr_Clear();
    char *bytes;
    utf8->owner = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    if (utf8->owner == NULL)
        return -1;
    if (PyBytes_AsStringAndSize(utf8->owner, &bytes, &utf8->size) < 0) {
        Py_CLEAR(utf8->owner);
        return -1;
    }
    utf8->at = (const unsigned char *)bytes;
    return 0;
}

int utf8_of_str(PyObject *object, Utf8 *utf8, const char *message) {
    if (object == NULL)
        return -1;
    if (!PyUnicode_Check(object)) {
        PyErr_SetString(PyExc_TypeError, message);
        return -1;
    }
    return utf8_of(object, utf8);
}

void release_buffers(Py_buffer *first, ...) {
    va_list others;
    va_start(others, first);
    for (Py_buffer *buffer = first; buffer != NULL; buffer = va_arg(others, Py_buffer *))
        PyBuffer_Release(buffer);
    va_end(others);
}

Py_ssize_t space_at(const unsigned char *at, const unsigned char *end) {
    unsigned char first = at[0];
    if (first < 0x80)
        return first == ' ' || (first >= 0x09 && first <= 0x0d) || (first >= 0x1c && first <= 0x1f);
    if (first == 0xc2)
        return end - at >= 2 && (at[1] == 0x85 || at[1] == 0xa0) ? 2 : 0;
    if (first < 0xe1 || first > 0xe3 || end - at < 3)
        return 0;
    unsigned code = (unsigned)(first & 0x0f) << 12 | (unsigned)(at[1] & 0x3f) << 6 | (at[2] & 0x3f);
    switch (code) {
    case 0x1680: case 0x2028: case 0x2029: case 0x202f: case 0x205f: case 0x3000:
        return 3;
    default:
        return code >= 0x2000 && code <= 0x200a ? 3 : 0;
    }
}

unsigned char in_words[256];

static void fill_in_words(void) {
    for (int byte = 0; byte < 128; byte++)
        in_words[byte] = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                         (byte >= '0' && byte <= '9') || byte == '_';
}

int seed_of_process(uint64_t *seed) {
    PyObject *name = PyUnicode_FromString("findspot");
    if (name == NULL)
        return -1;
    Py_hash_t hash = PyObject_Hash(name);
    Py_DECREF(name);
    if (hash == -1 && PyErr_Occurred())
        return -1;
    *seed = (uint64_t)hash;
    return 0;
}

static uint32_t crc_table[256];

static void fill_crc_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++)
            rest = rest & 1 ? 0xedb88320u ^ (rest >> 1) : rest >> 1;
        crc_table[byte] = rest;
    }
}

uint32_t crc32_of(const unsigned char *at, Py_ssize_t size) {
    uint32_t rest = 0xffffffffu;
    for (const unsigned char *end = at + size; at < end; at++)
        rest = crc_table[(rest ^ *at) & 0xff] ^ (rest >> 8);
    return rest ^ 0xffffffffu;
}

int holds_items(const Py_buffer *buffer, size_t size) {
    if (buffer->len == 0 || ((size_t)buffer->len % size == 0 && (uintptr_t)buffer->buf % size == 0))
        return 1;
    PyErr_SetString(PyExc_ValueError, "not an array of such numbers");
    return 0;
}

static PyMethodDef *const functions[] = {
    search_functions, word_counts_functions,
};

static int fill_module(PyObject *module) {
    fill_in_words();
    fill_crc_table();
    for (size_t at = 0; at < sizeof functions / sizeof *functions; at++)
        if (PyModule_AddFunctions(module, functions[at]) < 0)
            return -1;
    return add_words(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill_module},
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "findspot._native",
    .m_doc = "The compiled part of Findspot.",
    .m_size = 0,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void) {
    return PyModuleDef_Init(&definition);
}
