// MPI_Finalize() that never returns after the run is complete.
#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

class StuckMpiFinalize : public Workplace {
protected:
    StuckMpiFinalize() { make_corpus(); }

    static constexpr const char* loaded_first = "env LD_PRELOAD=" TRIREME_STUCK_END " ";
    static constexpr const char* options =
        " train --corpus corpus.h5 --steps 2 --layers 1 --width 16 --heads 2 --device reference --threads 1 "
        "--data 2 --run-dir run --quiet";
};

// The exit code is not checked, because it depends on the launcher.
TEST_F(StuckMpiFinalize, LosesNoResults) {
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        const std::string rank = loaded_first + program_path(mpi) + options;

        const Outcome outcome = run_ranks({rank, rank}, mpi);

        ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
        EXPECT_NE(sentences(outcome).front().find(
                      " does not return, although all ranks are done; the ranks exit without it"),
                  std::string::npos)
            << outcome.err;
        EXPECT_NE(outcome.out.find("VALID"), std::string::npos) << outcome.out;
        EXPECT_EQ(losses_of("run").size(), 2U);
        std::filesystem::remove_all(path("run"));
    }
}

}  // namespace
}  // namespace trireme::messages
