// The matrix library takes its number of threads from OpenMP's setting of the calling thread. It is set for one
// product and put back, so that ranks simulated in one process do not see each other's.
#pragma once

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace trireme::cpu {

class ProductThreads {
public:
#if defined(_OPENMP)
    explicit ProductThreads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
    ~ProductThreads() { omp_set_num_threads(before_); }
#else
    explicit ProductThreads(int) {}
#endif
    ProductThreads(const ProductThreads&) = delete;
    ProductThreads& operator=(const ProductThreads&) = delete;

private:
    int before_ = 1;
};

}  // namespace trireme::cpu
