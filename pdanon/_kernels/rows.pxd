from pdanon._kernels.arrays cimport Number

cdef long long total(Number[::1] numbers) noexcept nogil
