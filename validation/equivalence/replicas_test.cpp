// The central promise of the program: with the same data and seed, any number of replicas and micro-batches,
// padded or packed, gives the same losses. Every run is compared with a single rank.
#include "equivalence/equal_losses.hpp"

namespace trireme::messages {
namespace {

class Replicas : public EqualLosses {
protected:
    void SetUp() override {
        const Outcome outcome = run("prepare --synthetic csn --count 60 --quiet --output corpus.h5");
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    static std::string training(const std::string& precision = "") {
        return "--corpus corpus.h5 --batch 12 --layers 2 --width 24 --heads 3 --positions 48 --dropout 0.1 "
               "--lr 5e-3 --validation-share 0.1 " +
               precision;
    }

    static std::vector<Way> ways() {
        std::vector<Way> all;
        for (Way way : {Way{"--length pack", 1, 0, 8}, Way{"--microbatches 3", 2}, Way{"--length fixed", 3},
                        Way{"--length pack --microbatches 2", 4}, Way{"--length step --microbatches 2", 3},
                        Way{"", 8}}) {  // micro-batches of one and of two samples
            for (const std::size_t mpi : programs_for(way.ranks)) {
                way.mpi = mpi;
                all.push_back(way);
            }
        }
        return all;
    }
};

TEST_F(Replicas, GiveTheSameLossesWithReferenceKernels) {
    expect_equal_losses(training("--dtype f64 --device reference"), ways(), 1e-10);
}

TEST_F(Replicas, GiveTheSameLossesWithFastKernels) {
    expect_equal_losses(training("--dtype f32 --device cpu"), ways(), 1e-5);
}

TEST_F(Replicas, GiveTheSameLossesInTheOrderOfTheCorpus) {
    const std::string shuffled = training("--dtype f64 --device reference");
    const std::string in_order = shuffled + " --order corpus";

    expect_equal_losses(in_order, {Way{"--microbatches 2", 2}}, 1e-10);
    EXPECT_NE(losses_of(in_order, {}), losses_of(shuffled, {}));
}

TEST_F(Replicas, MatchBitForBitUnderEveryMpiLibrary) {
    const Losses first = losses_of(training(), {"--microbatches 2", 3, 0});

    for (const std::size_t mpi : programs_for(3)) {
        EXPECT_EQ(losses_of(training(), {"--microbatches 2", 3, mpi}), first);
    }
}

TEST_F(Replicas, MatchBitForBitInDoubleOnAnyNumberOfThreads) {
    const std::string doubles = training("--dtype f64");

    EXPECT_EQ(losses_of(doubles, {.options = "", .threads = 8}), losses_of(doubles, {}));
}

}  // namespace
}  // namespace trireme::messages
