from pdanon._kernels.counting cimport Codes, Numbers, Rows, find, int32s, int64s


cdef class Supports:
    cdef Numbers singles  # support of each node
    cdef Numbers starts, together  # pairs a < b as CSR, or empty: starts by a, supports
    cdef Codes partners  # b of each pair, ascending
    cdef Rows rows  # extended by all ancestors of their items, except the root
    cdef Numbers secret_offsets  # sensitive items of each row, as CSR
    cdef Codes secrets
    cdef Py_ssize_t n_secrets  # codes of sensitive items
    cdef long long diversity  # 0 if it does not matter


cdef class Space:
    cdef int32s nodes, at, trial, out
    cdef int64s shared


cdef Py_ssize_t maximal(Codes nodes, Py_ssize_t n, Codes size, int32s out) noexcept nogil

cdef long long reached(
    Codes nodes, Py_ssize_t n, long long k, Supports supports, Space space
) noexcept nogil


cdef Py_ssize_t raise_nodes(
    Py_ssize_t n, long long k, Codes up, Codes size, bint apart, Supports supports, Space space
) noexcept nogil


cdef inline Py_ssize_t slot_of(Py_ssize_t a, Py_ssize_t b, Supports supports) noexcept nogil:
    """Return the position of a pair a < b, -1 if it is in no row."""
    return find(supports.partners, supports.starts[a], supports.starts[a + 1], b)
