from pdanon._kernels.arrays cimport Code


cdef class Found:
    """Itemsets that break rho."""

    cdef long long[::1] room
    cdef Py_ssize_t n
    cdef int[::1] codes
    cdef long long[::1] bounds, owners, others, items

    cdef int add(self, int[::1] members, Py_ssize_t size, int item, long long owners, long long others) except? -1 nogil


cdef class Marks:
    """Rows that are marked."""

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
