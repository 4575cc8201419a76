// `trireme plan`: what a run would be, before anything of it is started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/train/config.hpp"

namespace trireme {

enum class PlanFormat : std::uint8_t { text, json, csv, svg };

struct PlanConfig {
    RunConfig run;  // without a corpus, samples are taken to be as long as may be
    PlanFormat format = PlanFormat::text;
    std::string output;                            // a file; empty: standard output
    std::vector<StageCost> costs = {StageCost{}};  // of all stages, or of each
};

// A plan and what can be said of it beforehand.
struct Forecast {
    ModelConfig model;
    Plan plan;
    std::vector<StageCost> costs;         // per stage
    Prediction prediction;                // of a training step, in units of cost
    std::vector<std::size_t> parameters;  // per stage
    std::size_t all_parameters = 0;       // a tied table counts once
    std::vector<std::size_t> peak_bytes;  // per rank; 0: idle
    std::string assumed;                  // "samples of 1024 tokens, ..."; empty: a corpus was read
};

// Starts nothing. Throws ConfigError for whatever `train` would refuse of these options, and for costs of
// another number than the stages.
Forecast foresee(const PlanConfig& config);

// For people: layout, parameters, the programs as a grid, and the prediction beside its closed form.
std::string text_of(const Forecast& forecast);

// {"layout", "programs", "parameters", "prediction", ...}: see README.
std::string json_of(const Forecast& forecast);

// The programs, one line for each team: what --schedule reads back.
std::string csv_of(const Forecast& forecast);

// "gpt2, 1f1b, 8 micro-batches a step"
std::string title_of(const Forecast& forecast);

}  // namespace trireme
