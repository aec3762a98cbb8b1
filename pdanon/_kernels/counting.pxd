cimport cython

# What kernels read: names for the elements of arrays that are not written, which Arrow's are not.
ctypedef const int Code                # items, rows
ctypedef const long long Number        # offsets, supports, weights
ctypedef const unsigned char Flag      # of NumPy's bool
ctypedef const double Real

ctypedef fused Growing:
    int
    long long

cdef Growing[::1] grown(Growing[::1] array, Py_ssize_t size, Py_ssize_t capacity) nogil


cdef long long total(Number[::1] numbers) noexcept nogil

cdef void sort_part(int[::1] codes, Py_ssize_t start, Py_ssize_t stop) noexcept nogil


cdef class Rows:
    """Rows in CSR form with weights, and their transpose."""

    cdef readonly Code[::1] codes
    cdef readonly Number[::1] offsets, weights
    cdef readonly Number[::1] starts
    cdef readonly Code[::1] tids
    cdef readonly Number[::1] positions


cdef void count_local_pairs(
    int[::1] count,
    Py_ssize_t d,
    const unsigned int[::1] items,
    Number[::1] bounds,
    Py_ssize_t n_rows,
    Code[::1] sources,
    Number[::1] weights,
) noexcept nogil

cdef long long support(
    Code[::1] sets, Py_ssize_t first, Py_ssize_t last, Rows rows, long long enough
) noexcept nogil


cdef inline Py_ssize_t rarest(Code[::1] sets, Py_ssize_t first, Py_ssize_t last, Number[::1] starts) noexcept nogil:
    """Return the item of sets[first:last] in the fewest rows."""
    cdef Py_ssize_t i, item, found = sets[first]
    for i in range(first, last):
        item = sets[i]
        if starts[item + 1] - starts[item] < starts[found + 1] - starts[found]:
            found = item
    return found


cdef inline bint contains(
    Code[::1] codes, Py_ssize_t start, Py_ssize_t stop, Code[::1] sets, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Return whether a sorted row contains the sorted itemset sets[first:last]."""
    cdef Py_ssize_t i
    for i in range(first, last):
        while start < stop and codes[start] < sets[i]:
            start += 1
        if start == stop or codes[start] != sets[i]:
            return False
        start += 1
    return True


@cython.overflowcheck(False)
cdef inline long long count_bits(unsigned long long word) noexcept nogil:
    """Count the set bits of a word."""
    # Sums of neighboring bits, then pairs, then nibbles: an intrinsic is not portable between compilers.
    word -= (word >> 1) & <unsigned long long>0x5555555555555555
    word = (word & <unsigned long long>0x3333333333333333) + ((word >> 2) & <unsigned long long>0x3333333333333333)
    word = (word + (word >> 4)) & <unsigned long long>0x0F0F0F0F0F0F0F0F
    return (word * <unsigned long long>0x0101010101010101) >> 56
