// Micro-batches that are formed by the lengths of the samples give the losses of a single rank, whose
// micro-batches have equal numbers of samples.
#include <filesystem>
#include <fstream>

#include "equivalence/equal_losses.hpp"

namespace trireme::messages {
namespace {

// Three, three and two replicas of a stage; 11 layers, as half a block counts as one.
constexpr const char* uneven_layout = R"({"layers": 11, "stages": [
    {"layers": [0, 4], "replicas": [{"ranks": [0]}, {"ranks": [1]}, {"ranks": [2]}]},
    {"layers": [4, 8], "replicas": [{"ranks": [3]}, {"ranks": [4]}, {"ranks": [5]}]},
    {"layers": [8, 11], "replicas": [{"ranks": [6]}, {"ranks": [7]}]}]})";

class LengthPolicies : public EqualLosses {
protected:
    void SetUp() override {
        const Outcome outcome = run("prepare --synthetic csn --count 60 --quiet --output corpus.h5");
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        std::ofstream(path("uneven.json")) << uneven_layout;
    }

    static std::string training(const std::string& precision) {
        return "--corpus corpus.h5 --batch 12 --layers 4 --width 24 --heads 3 --positions 48 --dropout 0.1 "
               "--lr 5e-3 --validation-share 0.1 " +
               precision;
    }

    // Each way with another MPI library than the last one, if there are several.
    static std::vector<Way> ways() {
        std::vector<Way> all = {
            {"--length step --pipe 2 --data 2 --microbatches 3 --schedule zb-h1", 4},
            {"--length dynapipe --data 2 --microbatches 4", 2},
            {"--length balanced --pipe 2 --microbatches 12 --schedule gpipe", 2},
            {"--length dynapipe --pipe 2 --tensor 2 --microbatches 5 --sequence-parallel on", 4},
            {"--length balanced --pipe 2 --data 2 --microbatches 3 --schedule zb-h1", 4},
            {"--length balanced --pipe 2 --microbatches 4 --chunks 2 --schedule interleaved", 2},
            {"--length dynapipe --layout uneven.json --microbatches 12 --schedule 1f1b", 8},
        };
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::vector<std::size_t> programs = programs_for(all[i].ranks);
            all[i].mpi = programs[i % programs.size()];
        }
        return all;
    }
};

TEST_F(LengthPolicies, GiveTheSameLossesWithReferenceKernels) {
    expect_equal_losses(training("--dtype f64 --device reference"), ways(), 1e-10);
}

TEST_F(LengthPolicies, GiveTheSameLossesWithFastKernels) {
    expect_equal_losses(training("--dtype f32 --device cpu"), ways(), 1e-5);
}

}  // namespace
}  // namespace trireme::messages
