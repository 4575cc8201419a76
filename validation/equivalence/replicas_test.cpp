// The promise of the whole program: same data, same seed, any number of replicas and micro-batches, padded or
// packed, the same losses. Every run is held to the one of a single rank.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

using Losses = std::vector<double>;  // of each step, and of the evaluation at the end

struct Way {
    std::string options;
    int ranks = 0;  // 0: without mpiexec
    std::size_t mpi = 0;
    int threads = 1;
};

class Replicas : public Workplace {
protected:
    void SetUp() override {
        const Outcome outcome = run("prepare --synthetic csn --count 60 --quiet --output corpus.h5");
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    Losses losses_of(const Way& way) {
        const std::string folder = "run" + std::to_string(runs_++);
        const std::string sizes =
            " --corpus corpus.h5 --steps 20 --batch 12 --layers 2 --width 24 --heads 3 --positions 48 "
            "--dropout 0.1"
            " --lr 5e-3 --warmup-steps 3 --validation-share 0.1 --quiet --run-dir ";
        const std::string threads = " --threads " + std::to_string(way.threads);
        const Outcome outcome = run("train " + way.options + threads + sizes + folder, way.ranks, way.mpi);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return read_losses(read(folder + "/steps.jsonl"));
    }

    // The largest relative difference of the losses.
    static double difference(const Losses& got, const Losses& expected) {
        EXPECT_EQ(got.size(), expected.size());
        double most = 0;
        for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
            most = std::max(most, std::abs(got[i] - expected[i]) / expected[i]);
        }
        return most;
    }

    void expect_equal_losses(const std::string& precision, double bar) {
        const Losses one = losses_of({.options = precision});
        ASSERT_EQ(one.size(), 21U);
        EXPECT_LT(one[19], one[0]);
        for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
            for (const Way& way : ways(precision, mpi)) {
                EXPECT_LE(difference(losses_of(way), one), bar)
                    << way.options << " on " << way.ranks << " ranks";
            }
        }
    }

private:
    static std::vector<Way> ways(const std::string& precision, std::size_t mpi) {
        return {{precision + " --length pack", 1, mpi, 8},
                {precision + " --microbatches 3", 2, mpi},
                {precision + " --length fixed", 3, mpi},
                {precision + " --length pack --microbatches 2", 4, mpi},
                {precision, 8, mpi}};  // micro-batches of one and of two samples
    }

    static Losses read_losses(const std::string& lines) {
        std::istringstream in(lines);
        Losses losses;
        for (std::string line; std::getline(in, line);) {
            const auto record = nlohmann::json::parse(line);
            losses.push_back(record.value("loss", record.value("validation_loss", 0.0)));
        }
        return losses;
    }

    int runs_ = 0;
};

TEST_F(Replicas, GiveTheSameLossesInTheReference) {
    expect_equal_losses("--dtype f64 --device reference", 1e-10);
}

TEST_F(Replicas, GiveTheSameLossesWithTheFastKernels) { expect_equal_losses("--dtype f32 --device cpu", 1e-5); }

TEST_F(Replicas, GiveTheSameBitsWhateverTheMpiLibrary) {
    const Losses first = losses_of({"--microbatches 2", 3, 0});

    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        EXPECT_EQ(losses_of({"--microbatches 2", 3, mpi}), first);
    }
}

TEST_F(Replicas, GiveTheSameBitsInDoubleWhateverTheNumberOfThreads) {
    EXPECT_EQ(losses_of({.options = "--dtype f64", .threads = 8}), losses_of({.options = "--dtype f64"}));
}

}  // namespace
}  // namespace trireme::messages
