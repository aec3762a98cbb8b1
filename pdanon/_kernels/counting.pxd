cimport cython

# What kernels read: names for the elements of arrays that are not written, which Arrow's are not.
ctypedef const int Code                # items, rows
ctypedef const long long Number        # offsets, supports, weights
ctypedef const unsigned char Flag      # of NumPy's bool
ctypedef const double Real

# Contiguous arrays of one dimension: those that are read, and those that are written.
ctypedef Code[::1] Codes
ctypedef Number[::1] Numbers
ctypedef Flag[::1] Flags
ctypedef Real[::1] Reals
ctypedef int[::1] int32s
ctypedef long long[::1] int64s
ctypedef unsigned char[::1] uint8s
ctypedef unsigned long long[::1] uint64s
ctypedef double[::1] float64s

ctypedef fused Growing:
    int
    long long

cdef Growing[::1] grown(Growing[::1] array, Py_ssize_t size, Py_ssize_t capacity) nogil


cdef long long total(Numbers numbers) noexcept nogil

cdef void sort_by(
    int32s items, Py_ssize_t start, Py_ssize_t stop, Numbers values, long long sign
) noexcept nogil

cdef void sort_part(int32s codes, Py_ssize_t start, Py_ssize_t stop) noexcept nogil


cdef class Rows:
    """Rows in CSR form with weights, and their transpose."""

    cdef readonly Codes codes
    cdef readonly Numbers offsets, weights
    cdef readonly Numbers starts
    cdef readonly Codes tids
    cdef readonly Numbers positions


cdef void count_local_pairs(
    int32s count,
    Py_ssize_t d,
    const unsigned int[::1] items,
    Numbers bounds,
    Py_ssize_t n_rows,
    Codes sources,
    Numbers weights,
) noexcept nogil

cdef long long support(
    Codes sets, Py_ssize_t first, Py_ssize_t last, Rows rows, long long enough
) noexcept nogil


cdef inline Py_ssize_t rarest(Codes sets, Py_ssize_t first, Py_ssize_t last, Numbers starts) noexcept nogil:
    """Return the item of sets[first:last] in the fewest rows."""
    cdef Py_ssize_t i, item, found = sets[first]
    for i in range(first, last):
        item = sets[i]
        if starts[item + 1] - starts[item] < starts[found + 1] - starts[found]:
            found = item
    return found


cdef inline bint contains(
    Codes codes, Py_ssize_t start, Py_ssize_t stop, Codes sets, Py_ssize_t first, Py_ssize_t last
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


cdef inline Py_ssize_t find(Codes codes, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t code) noexcept nogil:
    """Return the position of a code in the ascending codes[start:stop], -1 if it is not there."""
    cdef Py_ssize_t middle, last = stop
    while start < stop:
        middle = (start + stop) // 2
        if codes[middle] < code:
            start = middle + 1
        else:
            stop = middle
    return start if start < last and codes[start] == code else -1


@cython.overflowcheck(False)
cdef inline long long count_bits(unsigned long long word) noexcept nogil:
    """Count the set bits of a word."""
    # Sums of neighboring bits, then pairs, then nibbles: an intrinsic is not portable between compilers.
    word -= (word >> 1) & <unsigned long long>0x5555555555555555
    word = (word & <unsigned long long>0x3333333333333333) + ((word >> 2) & <unsigned long long>0x3333333333333333)
    word = (word + (word >> 4)) & <unsigned long long>0x0F0F0F0F0F0F0F0F
    return (word * <unsigned long long>0x0101010101010101) >> 56


cdef extern from *:
    """
    static const unsigned char first_bits[64] = {
        0, 1, 48, 2, 57, 49, 28, 3, 61, 58, 50, 42, 38, 29, 17, 4, 62, 55, 59, 36, 53, 51, 43, 22, 45, 39, 33, 30, 24, 18, 12, 5,
        63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21, 44, 32, 23, 11, 46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9, 13, 8, 7, 6
    };
    """
    const unsigned char first_bits[64]  # position of the only bit of a word, by the first bits of its product


@cython.overflowcheck(False)
cdef inline long long first_bit(unsigned long long word) noexcept nogil:
    """Return the position of the lowest bit of a word that is not 0."""
    # The factor is a sequence of de Bruijn: it contains all words of 6 bits.
    return first_bits[((word & (~word + 1)) * <unsigned long long>0x03F79D71B4CB0A89) >> 58]


cdef inline long long weigh(
    unsigned long long word, long long row, long long enough, Rows rows
) noexcept nogil:
    """Sum the weights of the rows marked in a word, from ``row`` on; stop at ``enough``."""
    cdef long long total = 0
    while word and total < enough:
        total += rows.weights[row + first_bit(word)]
        word &= word - 1
    return total
