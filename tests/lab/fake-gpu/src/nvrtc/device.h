// The parts of CUDA C++ that kernels use, for the host's compiler: threads run one after the other.

#define __device__
#define __global__
#define __forceinline__ inline

namespace {
struct Dimension {
    unsigned x;
};
thread_local Dimension blockIdx, blockDim, threadIdx;

inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}

inline int __float_as_int(float x) {
    int bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline float __int_as_float(int bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

inline unsigned atomicAdd(unsigned* to, unsigned more) {
    const unsigned before = *to;
    *to += more;
    return before;
}

inline float fabsf(float x) { return __builtin_fabsf(x); }
inline float rintf(float x) { return __builtin_rintf(x); }
inline float sqrtf(float x) { return __builtin_sqrtf(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline double floor(double x) { return __builtin_floor(x); }

// A kernel with its one parameter, as the fake calls it.
template <class Parameter>
constexpr unsigned long bytes_of(void (*)(Parameter)) {
    return sizeof(Parameter);
}

template <class Parameter>
void run(void (*kernel)(Parameter), const void* parameter, unsigned blocks, unsigned threads) {
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) kernel(*(const Parameter*)parameter);
}
} // namespace

#define HOST_KERNEL(name)                                                                                  \
    extern "C" const unsigned long bytes_of_##name = bytes_of(name);                                       \
    extern "C" void run_##name(const void* parameter, unsigned blocks, unsigned threads) {                 \
        run(name, parameter, blocks, threads);                                                             \
    }
