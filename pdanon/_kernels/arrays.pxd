# What kernels read: names for the elements of arrays that are not written, which Arrow's are not.
ctypedef const int Code                # items, rows
ctypedef const long long Number        # offsets, supports, weights
ctypedef const unsigned char Flag      # of NumPy's bool
ctypedef const double Real

ctypedef fused Growing:
    int
    long long

cdef Growing[::1] grown(Growing[::1] array, Py_ssize_t size, Py_ssize_t capacity) nogil
