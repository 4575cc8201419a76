// Runs the same training in different ways: with other numbers of ranks or micro-batches, padded or packed. The
// losses are compared with those of a single rank.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "messages/workplace.hpp"

namespace trireme::messages {

// The loss of each step, and the loss and scores of each evaluation.
using Losses = std::vector<double>;

struct Way {
    std::string options;
    int ranks = 0;  // 0 runs without mpiexec
    std::size_t mpi = 0;
    int threads = 1;
};

class EqualLosses : public Workplace {
protected:
    static constexpr std::size_t steps = 20;

    // Runs a training and returns its losses. `training` has the options that determine the results, `way`
    // those that must not change them.
    Losses losses_of(const std::string& training, const Way& way) {
        const std::string folder = "run" + std::to_string(runs_++);
        const std::string common = " --steps " + std::to_string(steps) +
                                   " --warmup-steps 3 --quiet --run-dir " + folder + " --threads " +
                                   std::to_string(way.threads);
        const Outcome outcome = run("train " + training + " " + way.options + common, way.ranks, way.mpi);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return read_losses(read(folder + "/steps.jsonl"));
    }

    // Returns the largest relative difference.
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

    // Returns the records of the steps that have a loss.
    std::vector<nlohmann::json> read_steps(const std::string& folder) const {
        std::istringstream lines(read(folder + "/steps.jsonl"));
        std::vector<nlohmann::json> found;
        for (std::string line; std::getline(lines, line);) {
            found.push_back(nlohmann::json::parse(line));
            if (!found.back().contains("loss")) found.pop_back();
        }
        return found;
    }

    static void expect_near(const std::vector<nlohmann::json>& steps,
                            const std::vector<nlohmann::json>& expected, double bar) {
        ASSERT_EQ(steps.size(), expected.size());
        for (std::size_t s = 0; s < steps.size(); ++s) {
            const double loss = expected[s].at("loss");
            EXPECT_LE(std::abs(steps[s].at("loss").get<double>() - loss), bar * std::abs(loss)) << "step " << s;
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
