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

// Open MPI unloads some plugins immediately. Their leaks have no symbols that lsan.supp could name, so they are
// not tracked.
void start_mpi(int* argc, char*** argv) {
    if constexpr (sanitized) __lsan_disable();
    MPI_Init(argc, argv);
    if constexpr (sanitized) __lsan_enable();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // as Session does
}

// MPI_Finalize unloads the other plugins, and with them the pointers to memory that they keep. Hence leaks are
// checked before.
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
    if (rank != 0) {  // only rank 0 reports; the exit code below includes all ranks
        auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
        delete listeners.Release(listeners.default_result_printer());
    }
    int failed = RUN_ALL_TESTS();
    if (failed != 0) std::fprintf(stderr, "rank %d: tests failed\n", rank);
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    end_mpi();
    return failed;
}
