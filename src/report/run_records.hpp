// What a run left behind, as far as it got.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/trace_records.hpp"
#include "trireme/plan/decision.hpp"

namespace trireme::report {

using Figure = std::optional<double>;  // nothing: the records do not say
using Words = std::optional<std::string>;

// A line of steps.jsonl: a step, or an evaluation after it.
struct StepRecord {
    double step = 0;
    Figure loss, validation_loss;
    Figure validation_accuracy, validation_exact_match, validation_f1;  // shares, as below
    Figure tokens, padded_tokens;
    Figure seconds, comm_wait_s;
    Figure tokens_per_s, mfu, mfu_causal, bubble;                // shares are from 0 to 1
    Figure bubble_schedule, wait_tensor, wait_data, wait_other;  // what the bubble consists of
    Figure grad_norm, lr;
    Figure peak_bytes;
    Figure energy_j;  // of all ranks
    bool is_skipped = false;
};

struct Summary {
    bool is_final = false;  // from summary.json; otherwise added up from the steps so far
    Words verdict, reason;  // "VALID" or "INVALID"
    std::vector<std::string> approximations = {};  // why its losses are not the exact ones
    std::vector<std::string> remarks = {};
    Words clock;  // "wall" or "simulated"
    Figure steps, skipped_steps, rolled_back;
    Figure first_loss, last_loss, validation_loss;
    Figure accuracy, exact_match, f1;  // of the validation; shares
    Figure seconds, tokens, tokens_per_s, images_per_s;
    Figure padding;  // share of the computed tokens
    Figure flops_per_s, peak_flops_per_s;
    Words peak_is;
    Figure mfu, mfu_causal, bubble, bubble_limit;
    Figure bubble_schedule, wait_tensor, wait_data, wait_other;  // what the bubble consists of; shares
    Words mfu_formula;
    Figure comm_wait_s;                   // mean over the ranks
    Figure energy_j;                      // of all ranks
    Figure grown_bytes, predicted_bytes;  // of one rank
};

struct Manifest {
    Words version, started, mpi, device, model, corpus, corpus_sha256;
    Words schedule, plan, dtype, sums;  // `sums`: the type in which numbers are summed
    Figure ranks, threads_per_rank, measured_peak_flops, parameters;
    Figure batch, microbatches;  // of a step
    Figure tokens_of_image;      // of a model that reads images
    std::optional<Layout> layout;
    std::vector<std::string> hosts;
    std::vector<std::string> slowed;  // on purpose: "rank 3 to take 4 times as long"
};

// Seconds of one rank in all steps.
struct RankSeconds {
    double compute = 0, stages = 0, tensor = 0, data = 0, rest = 0;
};

// Something that happened after a step.
struct RunEvent {
    enum Kind { slow_rank, plan_change, evaluation, checkpoint };
    Kind kind = slow_rank;
    double step = 0;
    std::string text;
};

struct RunRecords {
    std::string name;  // of the directory
    std::optional<Manifest> manifest;
    std::optional<Summary> summary;
    std::vector<StepRecord> steps;        // in the order written
    std::vector<StepRecord> evaluations;  // those with a validation loss
    std::vector<Decision> decisions;      // that changed the plan
    std::vector<RankSeconds> ranks;       // of each rank; empty: the records do not say
    std::vector<RunEvent> events;         // in the order of their kinds
    Words config;                         // config.ini as it is
    std::optional<RunTrace> trace;        // trace.json
};

// Throws ConfigError where `directory` holds no steps.jsonl, or a record that cannot be read. The last line of
// a run that is writing, or was killed while it wrote, may be unfinished: it is left out.
RunRecords read_run(const std::filesystem::path& directory);

}  // namespace trireme::report
