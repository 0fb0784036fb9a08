/* Where a text may hold secrets; see `findspot.discover.secrets`. */
#include "native.h"

#define MIN_RUN 20
#define MOST_CAPITALS 15

enum { OTHER, SMALL, CAPITAL, DIGIT, SIGN };

static unsigned char kinds[256];

static void fill_kinds(void) {
    for (int byte = 'a'; byte <= 'z'; byte++)
        kinds[byte] = SMALL;
    for (int byte = 'A'; byte <= 'Z'; byte++)
        kinds[byte] = CAPITAL;
    for (int byte = '0'; byte <= '9'; byte++)
        kinds[byte] = DIGIT;
    for (const char *sign = "_-+/~"; *sign; sign++)
        kinds[(unsigned char)*sign] = SIGN;
}

static const unsigned char *past(const unsigned char *at, const unsigned char *end, int kind) {
    while (at < end && kinds[*at] == kind)
        at++;
    return at;
}

/* Return whether a run is whole words without digits: the pattern WORDS. */
static int is_words(const unsigned char *at, const unsigned char *end) {
    while (at < end) {
        if (kinds[*at] == SIGN) {
            at = past(at, end, SIGN);
            continue;
        }
        const unsigned char *small = past(at, end, CAPITAL);
        const unsigned char *after = past(small, end, SMALL);
        if (after - small >= 2)
            at = after;
        else if (small - at >= 2 && small - at <= MOST_CAPITALS)
            at = small;
        else
            return 0;
    }
    return 1;
}

/* mixed_runs(text: str) → [(start, end), …] */
static PyObject *mixed_runs(PyObject *self, PyObject *text) {
    (void)self;
    Utf8 utf8;
    if (utf8_of_str(text, &utf8, "mixed_runs() takes a str") < 0)
        return NULL;
    PyObject *runs = PyList_New(0);
    const unsigned char *at = utf8.at, *end = utf8.at + utf8.size;
    const unsigned char *counted = utf8.at; /* up to here, `before` bytes begin no character */
    Py_ssize_t before = 0;
    while (runs != NULL && end - at >= MIN_RUN) { /* no character of a run stands directly before `at` */
        const unsigned char *last = at + MIN_RUN - 1;
        while (last >= at && kinds[*last] != OTHER)
            last--;
        if (last >= at) {
            at = last + 1;
            continue;
        }
        const unsigned char *after = at + MIN_RUN;
        while (after < end && kinds[*after] != OTHER)
            after++;
        if (!is_words(at, after)) {
            for (; counted < at; counted++)
                before += (*counted & 0xc0) == 0x80;
            Py_ssize_t start = at - utf8.at - before;
            PyObject *run = Py_BuildValue("(nn)", start, start + (after - at));
            if (run == NULL || PyList_Append(runs, run) < 0)
                Py_CLEAR(runs);
            Py_XDECREF(run);
        }
        at = after;
    }
    Py_XDECREF(utf8.owner);
    return runs;
}

/* The automaton of Aho and Corasick: after each byte, its state is the longest end of what was read that
 * begins a keyword. */
typedef struct {
    unsigned char classes[256]; /* of bytes; 0: in no keyword */
    size_t width;               /* how many classes there are */
    uint16_t *next;             /* state × class → state */
    uint16_t *found;            /* state → the number of the keyword that ends there, from 1 on; 0: none */
    uint16_t *shorter;          /* state → the next state with a keyword that also ends there; 0: none */
    uint16_t *equal;            /* the number of a keyword → that of the first one that equals it */
    size_t keywords;
} Finder;

#define FINDER "findspot._native.finder"
#define MOST_STATES 65535

static void free_finder(Finder *finder) {
    if (finder == NULL)
        return;
    free(finder->next);
    free(finder->found);
    free(finder->shorter);
    free(finder->equal);
    free(finder);
}

static void delete_finder(PyObject *capsule) {
    free_finder(PyCapsule_GetPointer(capsule, FINDER));
}

/* find(text: str) → the places of the keywords that it holds, in order */
static PyObject *find_keywords(PyObject *capsule, PyObject *text) {
    Finder *finder = PyCapsule_GetPointer(capsule, FINDER);
    Utf8 utf8;
    if (finder == NULL || utf8_of_str(text, &utf8, "a finder takes a str") < 0)
        return NULL;
    unsigned char *marked = calloc(finder->keywords + 1, 1);
    PyObject *places = marked == NULL ? PyErr_NoMemory() : PyList_New(0);
    if (places == NULL)
        goto done;
    size_t state = 0;
    marked[finder->found[state]] = 1; /* an empty keyword is everywhere */
    for (const unsigned char *at = utf8.at, *end = at + utf8.size; at < end; at++) {
        state = finder->next[state * finder->width + finder->classes[*at]];
        for (size_t seen = state; seen && (finder->found[seen] || finder->shorter[seen]);
             seen = finder->shorter[seen])
            if (finder->found[seen])
                marked[finder->found[seen]] = 1;
    }
    for (size_t keyword = 1; keyword <= finder->keywords; keyword++) {
        if (!marked[finder->equal[keyword]])
            continue;
        PyObject *place = PyLong_FromSize_t(keyword - 1);
        if (place == NULL || PyList_Append(places, place) < 0) {
            Py_XDECREF(place);
            Py_CLEAR(places);
            goto done;
        }
        Py_DECREF(place);
    }
done:
    free(marked);
    Py_XDECREF(utf8.owner);
    return places;
}

static PyMethodDef find_definition = {"find", find_keywords, METH_O, "Return the places of the keywords in a text."};

/* Add a keyword to the tree of keywords; `states` is how many there are. */
static void add_keyword(Finder *finder, const unsigned char *at, Py_ssize_t size, size_t number, size_t *states) {
    size_t state = 0;
    for (const unsigned char *end = at + size; at < end; at++) {
        uint16_t *next = &finder->next[state * finder->width + finder->classes[*at]];
        if (*next == 0)
            *next = (uint16_t)(*states)++;
        state = *next;
    }
    if (finder->found[state] == 0)
        finder->found[state] = (uint16_t)number;
    finder->equal[number] = finder->found[state];
}

/* Turn the tree into an automaton: what does not go on in the tree goes on from the longest end. */
static int link_states(Finder *finder, size_t states) {
    uint16_t *queue = calloc(states, sizeof(uint16_t)), *longest = calloc(states, sizeof(uint16_t));
    size_t first = 0, last = 0;
    if (queue == NULL || longest == NULL) {
        free(queue);
        free(longest);
        return -1;
    }
    for (size_t class = 0; class < finder->width; class++)
        if (finder->next[class])
            queue[last++] = finder->next[class];
    while (first < last) {
        size_t state = queue[first++], end = longest[state];
        finder->shorter[state] = finder->found[end] ? (uint16_t)end : finder->shorter[end];
        for (size_t class = 0; class < finder->width; class++) {
            uint16_t *next = &finder->next[state * finder->width + class];
            uint16_t other = finder->next[end * finder->width + class];
            if (*next) {
                longest[*next] = other;
                queue[last++] = *next;
            } else
                *next = other;
        }
    }
    free(queue);
    free(longest);
    return 0;
}

static int read_keyword(PyObject *keywords, Py_ssize_t place, Utf8 *utf8) {
    return utf8_of_str(PyTuple_GetItem(keywords, place), utf8, "keyword_finder() takes a tuple of str");
}

/* keyword_finder(keywords: tuple[str, ...]) → find */
static PyObject *keyword_finder(PyObject *self, PyObject *keywords) {
    (void)self;
    if (!PyTuple_Check(keywords)) {
        PyErr_SetString(PyExc_TypeError, "keyword_finder() takes a tuple of str");
        return NULL;
    }
    Py_ssize_t number = PyTuple_Size(keywords);
    Finder *finder = calloc(1, sizeof(Finder));
    if (finder == NULL)
        return PyErr_NoMemory();
    size_t states = 1;
    finder->width = 1;
    finder->keywords = (size_t)number;
    for (Py_ssize_t place = 0; place < number; place++) {
        Utf8 utf8;
        if (read_keyword(keywords, place, &utf8) < 0)
            goto failed;
        for (Py_ssize_t at = 0; at < utf8.size; at++)
            if (finder->classes[utf8.at[at]] == 0) /* UTF-8 has fewer than 255 different bytes */
                finder->classes[utf8.at[at]] = (unsigned char)finder->width++;
        states += (size_t)utf8.size;
        Py_XDECREF(utf8.owner);
        if (states > MOST_STATES || number > MOST_STATES) {
            PyErr_SetString(PyExc_ValueError, "too many keywords");
            goto failed;
        }
    }
    finder->next = calloc(states * finder->width, sizeof(uint16_t));
    finder->found = calloc(states, sizeof(uint16_t));
    finder->shorter = calloc(states, sizeof(uint16_t));
    finder->equal = calloc((size_t)number + 1, sizeof(uint16_t));
    if (!finder->next || !finder->found || !finder->shorter || !finder->equal) {
        PyErr_NoMemory();
        goto failed;
    }
    states = 1;
    for (Py_ssize_t place = 0; place < number; place++) {
        Utf8 utf8;
        if (read_keyword(keywords, place, &utf8) < 0)
            goto failed;
        add_keyword(finder, utf8.at, utf8.size, (size_t)place + 1, &states);
        Py_XDECREF(utf8.owner);
    }
    if (link_states(finder, states) < 0) {
        PyErr_NoMemory();
        goto failed;
    }
    PyObject *capsule = PyCapsule_New(finder, FINDER, delete_finder);
    if (capsule == NULL)
        goto failed;
    PyObject *find = PyCFunction_NewEx(&find_definition, capsule, NULL);
    Py_DECREF(capsule);
    return find;
failed:
    free_finder(finder);
    return NULL;
}

static PyMethodDef functions[] = {
    {"mixed_runs", mixed_runs, METH_O, "Return where long runs start and end that are not only words."},
    {"keyword_finder", keyword_finder, METH_O, "Return a function that returns which keywords a text holds."},
    {NULL, NULL, 0, NULL},
};

int add_secrets(PyObject *module) {
    fill_kinds();
    return PyModule_AddFunctions(module, functions);
}
