// `trireme plan`: forecasts a run without starting it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/rank_profiles.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/setup/rank_memory.hpp"

namespace trireme::tools {

enum class PlanFormat : std::uint8_t { text, json, csv, svg };

struct PlanConfig {
    config::RunConfig run;  // without a corpus, samples are assumed to have the maximum length
    PlanFormat format = PlanFormat::text;
    std::string output;                     // a file; standard output if empty
    int ranks = 0;                          // 0: as many as the layout needs
    std::vector<std::string> compare = {};  // schedules to compare: see compare.hpp
};

// The result of comparing the memory of ranks with the devices of --cluster.
struct Fit {
    bool fits = false;
    std::string words;
};

// A plan and its predicted costs, time and memory.
struct Forecast {
    model::ModelConfig model;
    plan::Plan plan;
    std::vector<schedule::StageCost> costs;      // per stage
    std::optional<plan::RankProfiles> profiles;  // of the costs, in seconds; if unset, cost units
    std::vector<schedule::StageCost> counted;    // per stage: the arithmetic of a micro-batch, in GFLOP
    schedule::StepTime step;                     // of training, in cost units or seconds
    schedule::Prediction timeline;               // one step, or several if steps overlap
    std::vector<std::size_t> parameters;         // per stage
    std::size_t all_parameters = 0;              // a tied table counts once
    std::vector<setup::RankMemory> memory;       // per rank; 0 bytes on an idle rank
    std::size_t rows = 0;                        // of the largest micro-batch
    std::string assumed;                         // "samples of 1024 tokens, ..."; empty if a corpus was read
    std::optional<Fit> fit;                      // empty if no cluster is given
    std::string warning;                         // about ranks that idle; empty if there is none
    std::string decisions;  // file of later plans, which are not forecast; empty if there is none
};

// Computes the forecast. Starts nothing. Throws ConfigError if `train` would refuse these options, if the
// number of costs is not that of the stages, or if --ranks does not suit the layout.
Forecast foresee(const PlanConfig& config);

// Formats layout, parameters, the programs as a grid, and the prediction with the closed form beside it.
std::string to_string(const Forecast& forecast);

// Returns {"layout", "programs", "parameters", "prediction", ...}: see README.
std::string json_of(const Forecast& forecast);

// Returns the programs, one line per team, as --schedule reads them.
std::string csv_of(const Forecast& forecast);

// Returns the fraction of a step in which ranks idle, averaged over the ranks.
double bubble_of(const Forecast& forecast);

// Returns "gpt2, 1f1b, 8 micro-batches a step".
std::string title_of(const Forecast& forecast);

}  // namespace trireme::tools
