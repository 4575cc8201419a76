// Runs of four tensor ranks, some of which become slow and recover, and their records.
#pragma once

#include "messages/simulated_runs.hpp"

namespace trireme::messages {

inline constexpr const char* of_model =
    "--corpus corpus.h5 --model gpt2-tiny --layers 2 --width 32 --heads 8 --mlp-width 128 --positions 32 "
    "--validation-share 0.2 --batch 4 --dtype f64 --device reference --dropout 0.1 --lr 3e-3 "
    "--threads 1 ";
inline constexpr const char* slow_options =
    "--slow rank=1,factor=4,steps=11:40 --slow rank=3,factor=2.5,steps=31:70 ";

class Stragglers : public Simulate {
protected:
    void SetUp() override {
        Simulate::SetUp();
        write("double.json", slow_abacus().dump());
    }

    Outcome simulate(const std::string& options, int steps = 100) const {
        const Outcome outcome = run("simulate --ranks 4 --cluster double.json --tensor 4 --steps " +
                                    std::to_string(steps) + ' ' + of_model + options);
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        return outcome;
    }

    std::vector<json> training_steps(const std::string& folder) const {
        std::vector<json> trained = steps(folder);
        std::erase_if(trained, [](const json& record) { return !record.contains("grad_norm"); });
        return trained;
    }

    std::vector<double> losses(const std::string& folder) const {
        std::vector<double> all;
        for (const json& step : training_steps(folder)) all.push_back(step.at("loss"));
        return all;
    }
};

inline double max_relative_difference(const std::vector<double>& these, const std::vector<double>& those) {
    double most = 0;
    EXPECT_EQ(these.size(), those.size());
    for (std::size_t i = 0; i < std::min(these.size(), those.size()); ++i)
        most = std::max(most, std::abs(these[i] / those[i] - 1));
    return most;
}

}  // namespace trireme::messages
