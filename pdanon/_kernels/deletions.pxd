cimport cython

from pdanon._kernels.counting cimport Code, Number, Real, Rows


cdef class Deletions:
    cdef Rows rows
    cdef long long[::1] starts  # of the slots of each row
    cdef int[::1] slots  # pair of the positions b <= a of a row, at a * (a + 1) / 2 + b; (a, a) is the item
    cdef readonly long long k, lack  # number of rare pairs
    cdef int[::1] support, original  # by pair
    cdef double[::1] factor  # by pair: of its price, if that falls to a support of 0 only; 0 for other pairs
    cdef double[::1] living, leaving  # price by support up to k, of pairs with a factor of 0, and of others
    cdef Real[::1] worth  # by item
    cdef unsigned char[::1] is_kept  # by occurrence, and those below by position in a row
    cdef unsigned char[::1] inside
    cdef long long[::1] threats
    cdef double[::1] risks
    cdef int[::1] hot  # positions to try, row after row
    cdef long long[::1] hot_rows, hot_starts
    cdef Py_ssize_t n_hot, n_rows
    cdef int[::1] left  # positions of a row that are kept
    cdef int[::1] rivals  # the first two that would be in rare pairs after the last change
    cdef double[::1] deltas  # change of the price of each of these pairs
    cdef Py_ssize_t n_left, n_rivals
    cdef bint touches  # whether the last change was of a rare pair
    cdef unsigned long long random
