from pdanon._kernels.counting cimport Code, Number


cdef class Found:
    """Itemsets that break rho."""

    cdef long long[::1] room
    cdef Py_ssize_t n
    cdef int[::1] codes
    cdef long long[::1] bounds, owners, others, items

    cdef int add(self, int[::1] members, Py_ssize_t size, int item, long long owners, long long others) except? -1 nogil


cdef class Marks:
    """Marks of rows."""

    cdef bint apart
    cdef unsigned char[::1] result, before, marked

    cdef void begin(self) noexcept nogil
    cdef void end(self) noexcept nogil
    cdef void set_all(self, Code[::1] rows, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void set_both(
        self, Code[::1] rows, Py_ssize_t begin, Py_ssize_t end, unsigned char[::1] which
    ) noexcept nogil
    cdef bint has_all(self, Code[::1] rows, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void set_if(
        self, Py_ssize_t row, Code[::1] codes, Py_ssize_t begin, Py_ssize_t end, long long[::1] values
    ) noexcept nogil


cdef enum:
    FREE
    BANNED
    MEMBER


cdef class Path:
    """The nodes from the root to the current one."""

    cdef long long[::1] begins, ends, cursor, n_members
    cdef int[::1] following, members
    cdef unsigned char[::1] status

    cdef void begin(self, int item) noexcept nogil
    cdef Py_ssize_t following_at(self, Py_ssize_t depth) noexcept nogil
    cdef void enter(self, Py_ssize_t depth, Py_ssize_t now) noexcept nogil
    cdef void leave(self, Py_ssize_t depth) noexcept nogil
    cdef int make_room(self, Py_ssize_t n) except? -1 nogil


cdef class Stack:
    """The rows of the nodes of a path."""

    cdef int[::1] rows
    cdef long long[::1] begins
    cdef Py_ssize_t start, stop, free

    cdef int begin(self, Py_ssize_t n) except? -1 nogil
    cdef void take(self, Py_ssize_t now, Py_ssize_t end) noexcept nogil
    cdef int fill(self, Code[::1] tids, Py_ssize_t begin, Py_ssize_t end, unsigned char[::1] without) except? -1 nogil
    cdef int make_room(self, Py_ssize_t n) except? -1 nogil
    cdef int make_room_for(self, Py_ssize_t n) except? -1 nogil
    cdef long long n_items(self, Number[::1] offsets) noexcept nogil
    cdef void flag(self, unsigned char[::1] flags, bint value) noexcept nogil
    cdef void gather(
        self, Code[::1] tids, Py_ssize_t begin, Py_ssize_t end, unsigned char[::1] flags, Py_ssize_t to
    ) noexcept nogil
    cdef long long divide(
        self, Code[::1] codes, Number[::1] offsets, long long[::1] values, long long[::1] places
    ) noexcept nogil
