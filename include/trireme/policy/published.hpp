// FlexPipe's published rule for changes of plan, for comparison with decide().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "trireme/policy/length.hpp"
#include "trireme/policy/outlook.hpp"

namespace trireme::policy {

// The outcome of a decision.
//   keep    the current plan executes the next step as it is
//   memory  the current plan executes the next step with recomputation and offload
//   grow    the run changes to more stages, because the next step does not fit
//   shrink  the run changes to fewer stages, because this is faster
enum class Outcome : std::uint8_t { keep, memory, grow, shrink };

// The four conditions of FlexPipe's trigger. T(new) is the step with the new plan, T(change) the change to it,
// and T(current) the step with the current plan.
struct PublishedConditions {
    // A: the peak of the step is within the memory of the current stages, and the current plan can execute it.
    bool fits = false;
    bool change_takes_longer = false;    // B: T(new) + T(change) >= T(current)
    bool memory_plan_fits = false;       // C: recomputation and offload make the step fit into the current plan
    bool memory_plan_is_faster = false;  // D: T(new) + T(change) >= T(current) + T(recomputation and offload)
};

// Returns `keep` if A and B are true, `shrink` if only A of them is true, `memory` if A is false and C and D
// are true, otherwise `grow`. This includes the case "neither A nor C", which the paper omits.
Outcome choose_outcome(const PublishedConditions& conditions);

struct PublishedRules {
    LengthRules lengths = {};  // `cuts` has the first layer of each block, because stages have whole blocks
    double team_bytes = 0;     // memory of a team, summed over its ranks
    // Predicts the peak of a step, summed over the stages of a pipeline, without recomputation and offload.
    std::function<double(const plan::StepAhead& step)> peak_bytes = {};
    // Returns the largest number of blocks of a stage that fit on one team in this step.
    std::function<std::size_t(const plan::StepAhead& step)> max_blocks = {};
    // Predicts the seconds that recomputation and offload add to the step with the current plan. Returns
    // nothing if the step does not even fit with them.
    std::function<std::optional<double>(const plan::StepAhead& step)> memory_plan_seconds = {};
};

struct PublishedVerdict {
    Outcome outcome = Outcome::keep;
    PublishedConditions conditions = {};  // C and D are computed only if A is false
    double peak_bytes = 0;                // of the next step
    double pooled_bytes = 0;              // memory of one team per current stage
    // T(current), T(new) and T(change). If no other plan is possible, the new plan is the current one.
    double current_seconds = 0;
    double new_seconds = 0;
    double change_seconds = 0;
    std::optional<double> memory_plan_seconds = {};  // only if A is false and the step fits with them
    // Numbers of stages without a candidate: the bounds admit none, or the outlook refuses the best one.
    std::size_t refused_candidates = 0;
    // The new plan if the outcome is `grow` or `shrink`. Empty if the outcome is `grow`, but no other plan is
    // possible.
    std::optional<Candidate> candidate = {};
};

// Decides by the rule of FlexPipe, from the first of the steps ahead only. Without steps ahead, keeps the plan.
//
// The new plan has the fewest stages whose pooled memory exceeds the peak of the step. If this is the current
// number of stages, the new plan is the current plan. Otherwise it is the fastest cut with exactly this number
// of stages S, among those of the paper's search HBSA: with L blocks and D teams, each stage has
//     from floor(L / S) to floor(L / S) + L % S blocks, but at most `max_blocks`
//     from floor(D / S) to floor(D / S) + D % S consecutive teams, but at most one per micro-batch
// The paper has L % S in place of D % S, and its recursion misses cuts. Dynamic programming searches the
// corrected space. Here, the change enters only conditions B and D, not the search: the candidates of one
// number of stages differ little in it if teams are equal.
//
// The outlook refuses plans that cannot execute the step, or to which no change is possible. The next larger
// number of stages is tried then, up to one stage per team. If it reaches the current number of stages, the new
// plan is the current plan. If the outlook refuses the current plan, too, all numbers of stages are tried.
//
// All times of steps are by Eq. (1) of the paper, with n - 1 in place of n - S + 1, which would never shrink:
//     sum of t(i) over the stages i  +  (n - 1) * maximum of t(i)
// n is the number of micro-batches, and t(i) the time of a micro-batch in stage i: its slowest team's compute
// and the messages, divided by the number of replicas, and an n-th of the all-reduce.
PublishedVerdict decide_published(const plan::Observation& observed, const Candidate& current,
                                  const PublishedRules& rules, Outlook& outlook);

}  // namespace trireme::policy
