from pdanon._kernels.counting cimport Code, Number, Rows, find


cdef class Supports:
    cdef Number[::1] singles  # support of each node
    cdef Number[::1] starts, together  # pairs a < b as CSR, or empty: starts by a, supports
    cdef Code[::1] partners  # b of each pair, ascending
    cdef Rows rows  # extended by all ancestors of their items, except the root
    cdef Number[::1] secret_offsets  # sensitive items of each row, as CSR
    cdef Code[::1] secrets
    cdef Py_ssize_t n_secrets  # codes of sensitive items
    cdef long long diversity  # 0 if it does not matter


cdef class Space:
    cdef int[::1] nodes, at, trial, out
    cdef long long[::1] shared


cdef Py_ssize_t maximal(Code[::1] nodes, Py_ssize_t n, Code[::1] size, int[::1] out) noexcept nogil

cdef long long reached(
    Code[::1] nodes, Py_ssize_t n, long long k, Supports supports, Space space
) noexcept nogil


cdef Py_ssize_t raise_nodes(
    Py_ssize_t n, long long k, Code[::1] up, Code[::1] size, bint apart, Supports supports, Space space
) noexcept nogil


cdef inline Py_ssize_t slot_of(Py_ssize_t a, Py_ssize_t b, Supports supports) noexcept nogil:
    """Return the position of a pair a < b, -1 if it is in no row."""
    return find(supports.partners, supports.starts[a], supports.starts[a + 1], b)
