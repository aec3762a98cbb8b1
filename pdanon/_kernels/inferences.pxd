from pdanon._kernels.counting cimport Codes, Numbers, int32s, int64s, uint8s


cdef class Marks:
    """Marks of rows."""

    cdef bint apart
    cdef uint8s result, before, marked

    cdef void begin(self) noexcept nogil
    cdef void end(self) noexcept nogil
    cdef void set_all(self, Codes rows, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void set_both(
        self, Codes rows, Py_ssize_t begin, Py_ssize_t end, uint8s which
    ) noexcept nogil
    cdef bint has_all(self, Codes rows, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void set_if(
        self, Py_ssize_t row, Codes codes, Py_ssize_t begin, Py_ssize_t end, int64s values
    ) noexcept nogil


cdef enum:
    FREE
    BANNED
    MEMBER


cdef class Path:
    """The nodes from the root to the current one."""

    cdef int64s begins, ends, cursor, n_members
    cdef int32s following, members
    cdef uint8s status

    cdef void begin(self, int item) noexcept nogil
    cdef Py_ssize_t following_at(self, Py_ssize_t depth) noexcept nogil
    cdef void enter(self, Py_ssize_t depth, Py_ssize_t now) noexcept nogil
    cdef void leave(self, Py_ssize_t depth) noexcept nogil
    cdef int make_room(self, Py_ssize_t n) except? -1 nogil


cdef class Stack:
    """The rows of the nodes of a path."""

    cdef int32s rows
    cdef int64s begins
    cdef Py_ssize_t start, stop, free

    cdef int begin(self, Py_ssize_t n) except? -1 nogil
    cdef void take(self, Py_ssize_t now, Py_ssize_t end) noexcept nogil
    cdef int fill(self, Codes tids, Py_ssize_t begin, Py_ssize_t end, uint8s without) except? -1 nogil
    cdef int make_room(self, Py_ssize_t n) except? -1 nogil
    cdef int make_room_for(self, Py_ssize_t n) except? -1 nogil
    cdef long long n_items(self, Numbers offsets) noexcept nogil
    cdef void flag(self, uint8s flags, bint value) noexcept nogil
    cdef void gather(
        self, Codes tids, Py_ssize_t begin, Py_ssize_t end, uint8s flags, Py_ssize_t to
    ) noexcept nogil
    cdef long long divide(
        self, Codes codes, Numbers offsets, int64s values, int64s places
    ) noexcept nogil
