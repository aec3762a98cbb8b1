from pdanon._kernels.counting cimport int64s, uint64s


cdef class Terms:
    cdef Py_ssize_t n_terms, n_words
    cdef long long k, m, n_chunks
    cdef int64s supports  # by term, as all arrays below
    cdef int64s blocks
    cdef int64s chunk  # 0 for no chunk
    cdef uint64s words  # rows of each term, as bits
    cdef uint64s held  # rows of the current itemsets, as bits
    cdef int64s members  # terms of the current chunk
    cdef Py_ssize_t n_members

    cdef int _make_room(self, Py_ssize_t n_terms, Py_ssize_t n_words) except? -1 nogil
    cdef int open(self, Py_ssize_t n_terms, Py_ssize_t n_rows) except? -1 nogil
    cdef void note(self, Py_ssize_t term, Py_ssize_t row) noexcept nogil
    cdef bint has(self, Py_ssize_t term, Py_ssize_t row) noexcept nogil
    cdef void divide(self) noexcept nogil
    cdef long long rows_of(self, long long chunk) noexcept nogil
    cdef bint _has_twin(self, Py_ssize_t term) noexcept nogil
    cdef bint _fits(self, Py_ssize_t term) noexcept nogil
    cdef bint _is_shared(self, Py_ssize_t term) noexcept nogil
    cdef bint _spread(self, Py_ssize_t depth, Py_ssize_t begin, long long left, long long support) noexcept nogil
    cdef void _meet(self, Py_ssize_t depth, Py_ssize_t term, Py_ssize_t to) noexcept nogil
    cdef long long _count(self, Py_ssize_t depth) noexcept nogil
