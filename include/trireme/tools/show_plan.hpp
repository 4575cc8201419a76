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
    int ranks = 0;                          // 0: the number that the layout needs
    std::vector<std::string> compare = {};  // schedules to compare: see compare.hpp
};

// The result of comparing the memory of ranks with the devices of --cluster.
struct MemoryFit {
    bool fits = false;
    std::string description;  // "32.0 GB of a100: 24.1 GB on rank 0, the fullest", or what is lacking
};

// A plan and its predicted costs, time and memory.
struct Forecast {
    model::ModelConfig model;
    plan::Plan plan;
    std::vector<schedule::StageCost> costs;  // per stage
    std::optional<plan::RankProfiles>
        profiles;  // source of `costs` in seconds; if unset, costs are in cost units
    std::vector<schedule::StageCost> counted_costs;  // per stage: GFLOP of a micro-batch
    schedule::StepTime step;                         // a training step, in cost units or seconds
    schedule::Prediction timeline;                   // one step, or several if steps overlap
    std::vector<std::size_t> parameters;             // per stage
    std::size_t total_parameters = 0;                // of the model; a tied table counts once
    std::vector<setup::RankMemory> memory;           // per rank; 0 bytes on an idle rank
    std::size_t max_rows = 0;                        // rows (tokens) of the largest micro-batch
    std::string assumption;               // "samples of 1024 tokens, ..."; empty if a corpus was read
    std::optional<MemoryFit> memory_fit;  // empty if no cluster is given
    std::string warning;                  // about ranks that idle; empty if there is none
    std::string decisions_file;           // file of later plans, which are not forecast; empty if there is none
};

// Computes the forecast without starting a run. Throws ConfigError if `train` would refuse these options, if
// the number of costs differs from the number of stages, or if --ranks does not match the layout.
Forecast make_forecast(const PlanConfig& config);

// Formats the layout, the parameters, the programs as a grid, and the predicted times and memory. If the
// literature has a formula for the bubble of the schedule, its value follows the predicted bubble.
std::string to_string(const Forecast& forecast);

// Returns a JSON object with the keys "layout", "programs", "parameters", "prediction" and others.
std::string to_json(const Forecast& forecast);

// Returns the programs, one line per team, as --schedule reads them.
std::string to_csv(const Forecast& forecast);

// Returns the fraction of a step in which ranks idle, averaged over the ranks.
double compute_bubble(const Forecast& forecast);

// Returns "gpt2, 1f1b, 8 micro-batches a step".
std::string make_title(const Forecast& forecast);

}  // namespace trireme::tools
