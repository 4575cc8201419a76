// Predicts the steps and changes of candidates from their planned steps.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adapt/moved_bytes.hpp"
#include "trireme/adapt/plan_transition.hpp"
#include "trireme/policy/length.hpp"
#include "trireme/policy/outlook.hpp"
#include "trireme/setup/cached_visits.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/rank_memory.hpp"
#include "trireme/setup/stage_work.hpp"

namespace trireme::adapt {

// Predicts changes of plan. The functions return seconds. They are empty before a run has any state.
struct ChangePredictions {
    // The arguments are the bytes that the rank with the most bytes moves, and the seconds in which offloaded
    // state is copied.
    std::function<double(double, double)> estimate;
    std::function<double(const PlanTransition&)> predict;
};

// Keeps the plans and steps of recent candidates between decisions.
class CandidateOutlook final : public policy::Outlook {
public:
    // `job` and `current` must outlive the object. The plans of all candidates freeze `frozen` blocks.
    CandidateOutlook(const setup::Job& job, const setup::PlanState& current, int frozen);
    ~CandidateOutlook() override;

    // Takes over the work of stages from an outlook for another number of frozen blocks.
    void continue_from(const CandidateOutlook& earlier) { works_ = earlier.works_; }

    // Called before each decision about the plan after `step` steps. All predicted times are multiplied by
    // `scale`. `slowness` has the slowness of each rank; if it is empty, no rank is slow.
    void begin_decision(std::size_t step, double scale, const std::vector<double>& slowness,
                        ChangePredictions changes);

    // Predicts a step like the first one of its class that was met, which takes little time and compares
    // candidates fairly. Predicts the next step by itself if --elastic-rule is published, or if the
    // current plan cannot execute this step or the first one of its class.
    std::optional<policy::StepOutlook> predict_step(const policy::Candidate& candidate,
                                                    const plan::StepAhead& step) override;
    // True if the plan of the candidate can execute the next step. If not, predict_step() returns nothing for
    // all steps of its class from now on.
    bool can_execute_next_step(const policy::Candidate& candidate, const plan::StepAhead& next);
    // Predicts the next step by itself. Returns nothing if the candidate cannot execute it.
    std::optional<policy::StepOutlook> predict_next_step(const policy::Candidate& candidate,
                                                         const plan::StepAhead& next);
    std::vector<std::optional<policy::StepOutlook>> predict_steps(
        const policy::Candidate& candidate, std::span<const plan::StepAhead> steps) override;
    double estimate_change_seconds(const policy::Candidate& from, const policy::Candidate& to) override;
    std::vector<std::vector<double>> estimate_changes(
        std::span<const policy::Candidate* const> candidates) override;
    std::optional<double> predict_change_seconds(const policy::Candidate& to) override;

    // Returns the bytes by which a step, which the plan of the candidate can execute, exceeds the memory of a
    // rank without additional recomputation and offload.
    std::size_t predict_deficit_bytes(const policy::Candidate& candidate, std::size_t step);
    // Returns the seconds that recomputation and offload add to a step with the plan of the candidate. Returns
    // nothing if the step does not fit into memory with them.
    std::optional<double> predict_memory_plan_seconds(const policy::Candidate& candidate, std::size_t step);

    // True if the plan of the candidate passes all checks, and the devices of --cluster have enough memory.
    bool is_possible(const policy::Candidate& candidate);
    // Returns the memory of the rank that needs the most, even if the candidate exceeds --memory-limit. Returns
    // the largest number if the candidate is impossible for other reasons.
    std::size_t predict_bytes(const policy::Candidate& candidate) const;
    // Returns the decision for a change to the candidate.
    plan::Decision decide(const policy::Candidate& candidate) const;
    // Changes to this layout become impossible.
    void exclude(const layout::Layout& layout) { excluded_layouts_.emplace_back(layout); }
    // Returns why the plan of the candidate cannot execute micro-batches of the longest samples; an empty text
    // if it can.
    std::string explain_lack_for_longest_samples(const policy::Candidate& candidate) const;

private:
    struct Entry;
    // Steps with samples of about equal lengths, of which the cache has equal parts.
    using StepClass = std::pair<policy::LengthClass, setup::CachedShares>;

    Entry& find_entry(const policy::Candidate& candidate);
    bool has_device_memory(const setup::PlanState& state, std::vector<setup::RankMemory> memories) const;
    std::optional<policy::StepOutlook> predict_class(Entry& entry, const plan::StepAhead& step);
    std::optional<policy::StepOutlook> predict_exactly(Entry& entry, const plan::StepAhead& next);
    bool can_execute(Entry& entry, const plan::StepAhead& next);
    const policy::LengthClass& find_length_class(const plan::StepAhead& step);
    double estimate_change(const Entry& before, const Entry& after);
    bool must_predict_exactly(const plan::StepAhead& next);
    std::optional<policy::StepOutlook> scale(const Entry& entry, const std::optional<double>& seconds) const;

    const setup::Job& job_;
    const setup::PlanState& current_;
    int frozen_;
    std::vector<LayerBytes> layer_bytes_;
    setup::Machine machine_;                    // with `slowness_`
    std::shared_ptr<setup::StageWorks> works_;  // shared by the predictors of all candidates
    std::size_t step_ = 0;
    policy::Candidate from_ = {};  // the current plan in the last decision
    double scale_ = 1;
    std::vector<double> slowness_ = {};
    ChangePredictions changes_ = {};
    std::vector<policy::SharedLayout> excluded_layouts_ = {};
    std::optional<bool> must_predict_exactly_ = {};              // in this decision; empty if unknown
    std::map<std::size_t, policy::LengthClass> length_classes_;  // by steps
    std::map<StepClass, std::size_t> class_steps_;               // the first step that was met of each class
    std::list<Entry> entries_;                                   // the most recently used one first
    std::size_t next_number_ = 0;
    std::map<std::pair<std::size_t, std::size_t>, double> moved_bytes_;  // by the numbers of two entries
};

// Returns the decision for a change after `step` steps to the plan of the candidate.
plan::Decision make_decision(std::size_t step, const policy::Candidate& candidate);

}  // namespace trireme::adapt
