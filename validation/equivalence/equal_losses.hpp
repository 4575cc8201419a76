// Runs of the same training in different ways: on other numbers of ranks, in other micro-batches, padded or
// packed. Each is held to the one of a single rank.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "messages/workplace.hpp"

namespace trireme::messages {

// Of each step, then of the evaluation at the end, with what else that counted.
using Losses = std::vector<double>;

struct Way {
    std::string options;
    int ranks = 0;  // 0: without mpiexec
    std::size_t mpi = 0;
    int threads = 1;
};

class EqualLosses : public Workplace {
protected:
    static constexpr std::size_t steps = 20;

    // `training` are the options that say what is trained, `way` those that must not matter.
    Losses losses_of(const std::string& training, const Way& way) {
        const std::string folder = "run" + std::to_string(runs_++);
        const std::string common = " --steps " + std::to_string(steps) +
                                   " --warmup-steps 3 --quiet --run-dir " + folder + " --threads " +
                                   std::to_string(way.threads);
        const Outcome outcome = run("train " + training + " " + way.options + common, way.ranks, way.mpi);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return read_losses(read(folder + "/steps.jsonl"));
    }

    // The largest relative difference.
    static double difference(const Losses& got, const Losses& expected) {
        EXPECT_EQ(got.size(), expected.size());
        double most = 0;
        for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
            if (got[i] == expected[i]) continue;
            most = std::max(most, std::abs(got[i] - expected[i]) / std::abs(expected[i]));
        }
        return most;
    }

    void expect_equal_losses(const std::string& training, const std::vector<Way>& ways, double bar) {
        const Losses one = losses_of(training, {});
        ASSERT_GT(one.size(), steps);
        EXPECT_LT(one[steps - 1], one[0]);
        for (const Way& way : ways) {
            EXPECT_LE(difference(losses_of(training, way), one), bar)
                << way.options << " on " << way.ranks << " ranks";
        }
    }

private:
    static Losses read_losses(const std::string& lines) {
        std::istringstream in(lines);
        Losses losses;
        for (std::string line; std::getline(in, line);) {
            const auto record = nlohmann::json::parse(line);
            for (const char* field : {"loss", "validation_loss", "validation_accuracy",
                                      "validation_exact_match", "validation_f1"}) {
                if (record.contains(field)) losses.push_back(record.at(field));
            }
        }
        return losses;
    }

    int runs_ = 0;
};

}  // namespace trireme::messages
