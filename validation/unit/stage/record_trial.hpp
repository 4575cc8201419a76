// Records on every machine, for the tests against Hugging Face.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>

#include "unit/stage/model_record.hpp"
#include "unit/stage/stage_numbers.hpp"

namespace trireme::stage {

// A backend, reference or cpu, and a type of numbers.
struct Machine {
    const char* name;
    bool is_reference;
    device::DType dtype;

    device::Stream stream() const;
    // Returns the allowed error: 1e-10 in f64; in f32 twice PyTorch's own error, but at least 1e-5.
    double bar(double pytorch_f32_error) const;
};

struct RecordTrial {
    Machine machine;
    std::string record;

    std::string name() const;
    friend void PrintTo(const RecordTrial& trial, std::ostream* out) { *out << trial.name(); }
};

std::vector<RecordTrial> make_trials(const std::vector<std::string>& records);

// Sets the parameters of a stage by their names.
void load_weights(const WholeModel& stage, const NamedNumbers& weights);

// Differences between one forward and backward pass and its record.
struct PassErrors {
    double loss = 0;
    std::map<std::string, double> gradients;  // one per tensor of the stage

    // Returns the largest error as a multiple of the allowed one.
    double worst_ratio(const Machine& machine, const RecordedPass& pass) const;
};

// Fixture with a record and a machine, and with the recorded samples as packed and as padded rows.
class RecordTest : public testing::TestWithParam<RecordTrial> {
protected:
    const Machine machine_ = GetParam().machine;
    const ModelRecord record_ = read_record(GetParam().record);
    const TokenRows packed_{record_.samples};
    const TokenRows padded_{record_.samples, record_.config.positions};

    // Returns a stage with the recorded weights and memory for these rows.
    WholeModel loaded_stage(const TokenRows& rows, BackwardHalves halves = BackwardHalves::together) const;

    PassErrors pass_errors(const RecordedPass& pass, const NamedNumbers& weights, const TokenRows& rows,
                           BackwardHalves halves = BackwardHalves::together) const;
    // Checks packed and padded rows, each with the backward halves together and apart.
    void expect_within_bars(const RecordedPass& pass) const;
};

double largest_magnitude(std::span<const double> numbers);

}  // namespace trireme::stage
