// `trireme plan`: forecasts a run without starting it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/stage_work.hpp"
#include "trireme/records/elastic_decision.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/setup/rank_memory.hpp"
#include "trireme/setup/step_fitter.hpp"

namespace trireme::tools {

enum class PlanFormat : std::uint8_t { text, json, csv, svg };

struct PlanConfig {
    config::RunConfig run;  // options of `train`; without a corpus, samples are assumed to have maximum length
    PlanFormat format = PlanFormat::text;
    std::string output;                     // a file; standard output if empty
    int ranks = 0;                          // number of ranks; 0: as the layout requires
    std::vector<std::string> compare = {};  // schedules for compare_schedules(): see compare.hpp
};

// The result of comparing the predicted memory of each rank with the memory of its device in --cluster.
struct MemoryFit {
    bool fits = false;  // true if every rank fits on its device
    // For example "rank 0, the fullest, needs 24.1 GB of the 32.0 GB of a100". If a rank does not fit, this is
    // an error message about that rank.
    std::string description;
};

// The energy of a step, in joules, over all ranks.
struct EnergyForecast {
    double joules = 0;
    // A lower limit for all clocks with which a step takes as long: see schedule::find_min_joules().
    double min_joules = 0;
    std::optional<double> baseline_joules = {};  // of Forecast::baseline_step
};

// A training step of a run on a corpus.
struct StepForecast {
    std::vector<plan::MicrobatchShape> microbatches;
    std::vector<std::vector<std::size_t>> replicas;  // see setup::PredictedStep
    std::vector<std::vector<double>> pass_seconds;   // [stage][micro-batch]: both passes, at the highest clock
    double seconds = 0;
    setup::StepFit memory = {};                            // see setup::StepPredictor::predict_memory()
    std::optional<records::ElasticDecision> elastic = {};  // if the layout follows the lengths of samples
};

// A step of a run with --freeze after a number of periods.
struct PeriodForecast {
    std::size_t periods = 0;
    int frozen = 0;              // blocks; with --freeze gradient, an upper bound
    double seconds = 0;          // of a step, in the unit of the forecast
    std::size_t peak_bytes = 0;  // of the fullest rank
    // The plan of the step. Its layout differs from that of the options only with --auto-pipe.
    layout::Layout layout = {};
    int microbatches = 0;
    std::size_t batch = 1;    // samples of a step with --auto-pipe
    double moved_bytes = 0;   // of the change to this plan
    std::string reason = {};  // of this change; empty if the plan is that of the step before
};

// A plan and its predicted costs, time and memory. The plan is that of the options. If the layout follows the
// lengths of samples, and this plan cannot execute the first step, it is the plan of the first step.
struct Forecast {
    model::ModelConfig model;
    plan::Plan plan;
    std::vector<schedule::StageCost> costs;  // per stage: the mean over a step, at the highest clock
    std::string unit = "cost units";         // of all times: "s" if costs are measured or predicted
    std::string cost_source;  // for example "measured with ..."; empty if the options state the costs
    std::vector<schedule::StageCost> counted_costs;  // per stage: GFLOP of the largest training micro-batch
    schedule::StepTime step;                         // the first training step
    // The same step before --energy chose its order and clocks; empty without --energy.
    std::optional<schedule::StepTime> baseline_step = {};
    std::size_t reconfigure_steps = 0;          // steps of the loop of --reconfigure; 0 without it
    std::optional<EnergyForecast> energy = {};  // of this step; empty if the watts are not known
    std::vector<StepForecast> steps;            // empty unless a corpus and a cluster are given
    bool is_elastic = false;                    // --elastic length
    // The changes of plan before or between these steps, if the layout follows the lengths of samples.
    std::optional<std::vector<plan::Decision>> decisions = {};
    std::size_t first_stages = 0;           // number of stages before the first of these changes
    schedule::Prediction timeline;          // one step, or several if steps overlap
    std::vector<std::size_t> parameters;    // per stage; a tied token table counts in each stage that has it
    std::size_t total_parameters = 0;       // of the model; a tied token table counts once
    std::vector<setup::RankMemory> memory;  // per rank; 0 bytes on an idle rank
    std::string assumption;  // for example "micro-batches of 2 samples, ..."; empty if a corpus was read
    std::optional<MemoryFit> memory_fit;  // empty if no cluster is given
    std::string warning;                  // about idle ranks; empty if there is no warning
    std::vector<PeriodForecast> periods;  // with --freeze: one entry per period; otherwise empty
    std::string decisions_file;           // path of --decisions, whose plans are not forecast; empty if unset
};

// Computes the forecast without starting a run. Throws ConfigError if `train` would refuse these options, or if
// --cost has several costs but not one per stage.
Forecast make_forecast(const PlanConfig& config);

// Formats the layout, the parameters, the programs as a grid, and the predicted times and memory. If the
// literature has a formula for the bubble of the schedule, the formula's value follows the predicted bubble.
std::string to_string(const Forecast& forecast);

// Returns a JSON object with the keys "layout", "programs", "parameters", "prediction" and others.
std::string to_json(const Forecast& forecast);

// Returns the programs, one line per team, in the format that --schedule reads.
std::string to_csv(const Forecast& forecast);

// Returns the fraction of a step in which ranks idle, averaged over the ranks.
double compute_bubble(const Forecast& forecast);

// Returns a title, for example "gpt2, 1f1b, 8 micro-batches a step".
std::string make_title(const Forecast& forecast);

}  // namespace trireme::tools
