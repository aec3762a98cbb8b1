from pdanon._kernels.counting cimport Numbers, int32s, int64s


cdef class Lists:
    """Lists of codes in CSR form, with a number each."""

    cdef int32s codes
    cdef int64s bounds, numbers
    cdef readonly Py_ssize_t n

    cdef int add(self, int32s codes, Py_ssize_t size, long long number) except? -1 nogil


cdef class Nodes:
    cdef unsigned int[:, ::1] items  # unsigned: an index needs no test for negatives
    cdef long long[:, ::1] bounds
    cdef int[:, ::1] sources
    cdef int64s n_rows
    cdef int[:, ::1] names, origins
    cdef int64s n_names
    cdef int[:, ::1] counts

    cdef void count_pairs(self, Py_ssize_t depth, Numbers weights) noexcept nogil
    cdef bint fill_child(self, Py_ssize_t depth, Py_ssize_t b, long long floor, int32s keep) noexcept nogil
    cdef void _fill_rows(self, Py_ssize_t depth, Py_ssize_t b, int32s keep) noexcept nogil
