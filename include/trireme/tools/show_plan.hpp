// `trireme plan`: what a run would be, before anything of it is started.
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
    config::RunConfig run;  // without a corpus, samples are taken to be as long as may be
    PlanFormat format = PlanFormat::text;
    std::string output;                     // a file; empty: standard output
    int ranks = 0;                          // 0: those that the layout needs
    std::vector<std::string> compare = {};  // schedules to be put side by side: see compare.hpp
};

// The result of comparing the memory of ranks with the devices of --cluster.
struct Fit {
    bool fits = false;
    std::string words;
};

// A plan and what can be said of it beforehand.
struct Forecast {
    model::ModelConfig model;
    plan::Plan plan;
    std::vector<schedule::StageCost> costs;      // per stage
    std::optional<plan::RankProfiles> profiles;  // that they come from, in seconds; none: in units of cost
    std::vector<schedule::StageCost> counted;    // per stage: the arithmetic of a micro-batch, in GFLOP
    schedule::StepTime step;                     // of training, in units of cost
    schedule::Prediction timeline;        // of one step, or of several where work is in flight over their ends
    std::vector<std::size_t> parameters;  // per stage
    std::size_t all_parameters = 0;       // a tied table counts once
    std::vector<setup::RankMemory> memory;  // per rank; an idle one holds nothing
    std::size_t rows = 0;                   // of the largest micro-batch
    std::string assumed;                    // "samples of 1024 tokens, ..."; empty: a corpus was read
    std::optional<Fit> fit;                 // none: no cluster is given
    std::string warning;                    // of a schedule that idles; empty: nothing
    std::string decisions;  // a file of later plans, which are not foreseen; empty: there are none
};

// Starts nothing. Throws ConfigError for whatever `train` would refuse of these options, for costs of another
// number than the stages, and where the ranks are not those of the layout.
Forecast foresee(const PlanConfig& config);

// For people: layout, parameters, the programs as a grid, and the prediction beside its closed form.
std::string to_string(const Forecast& forecast);

// {"layout", "programs", "parameters", "prediction", ...}: see README.
std::string json_of(const Forecast& forecast);

// The programs, one line for each team: what --schedule reads back.
std::string csv_of(const Forecast& forecast);

// The part of the step in which ranks idle, averaged over the ranks.
double bubble_of(const Forecast& forecast);

// "gpt2, 1f1b, 8 micro-batches a step"
std::string title_of(const Forecast& forecast);

}  // namespace trireme::tools
