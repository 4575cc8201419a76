// main() for tests that run under mpiexec: a failure on any rank fails the test on every rank.
#include <gtest/gtest.h>
#include <mpi.h>
#include <sanitizer/lsan_interface.h>

#include <cstdio>

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

// Open MPI loads plugins that it closes at once: what they leak has no name for lsan.supp, and is not counted.
void start_mpi(int* argc, char*** argv) {
    if constexpr (sanitized) __lsan_disable();
    MPI_Init(argc, argv);
    if constexpr (sanitized) __lsan_enable();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // as Session does
}

// MPI_Finalize closes the others, and with them goes what points to all they keep. Leaks are looked for before.
void end_mpi() {
    if constexpr (sanitized) __lsan_do_leak_check();
    MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
    start_mpi(&argc, &argv);
    ::testing::InitGoogleTest(&argc, argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) {  // one report, not one for each rank; a failure still shows in the exit code below
        auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
        delete listeners.Release(listeners.default_result_printer());
    }
    int failed = RUN_ALL_TESTS();
    if (failed != 0) std::fprintf(stderr, "rank %d: tests failed\n", rank);
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    end_mpi();
    return failed;
}
