// Decides about changes of the layout from predictions of the coming steps: for the lengths of samples
// (--elastic length) and for the number of frozen blocks (--auto-pipe on). If slow ranks change the layout,
// too, all reasons lead to one decision.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "adapt/candidate_outlook.hpp"
#include "adapt/published_decisions.hpp"
#include "trireme/policy/candidate.hpp"
#include "trireme/records/step_outcome.hpp"

namespace trireme::adapt {

class LayoutChooser {
public:
    // `job` and `current` must outlive the object; `origin` is the layout of the options. `frozen`
    // blocks are frozen in all coming steps.
    LayoutChooser(const setup::Job& job, const setup::PlanState& current, const layout::Layout& origin,
                  int frozen);

    // Takes over the observed steps and the decisions of `earlier`, made for another number of frozen blocks.
    void continue_from(LayoutChooser& earlier);

    // Called after a step. Sets the decision about the plan of the step in `outcome`.
    void observe(records::StepOutcome& outcome);
    // Returns the decision about the plan after the observed steps; empty if the plan stays. Only steps before
    // `end` count, because the number of frozen blocks may change there. If `propose_for_slow_ranks` is not
    // empty, it varies the candidates of the other proposers.
    std::optional<plan::Decision> decide(plan::Observation observed, std::size_t end,
                                         const policy::Proposer& propose_for_slow_ranks,
                                         ChangePredictions changes);
    // Called if the last decision was not carried out. Later decisions do not choose its layout.
    void exclude(const layout::Layout& layout);

    // Throws ConfigError if no layout can execute a step of the longest samples.
    void check_longest_samples();
    // Throws ConfigError if --memory-limit allows neither the current plan nor any that --auto-pipe on
    // proposes.
    void check_memory();

private:
    std::optional<double> find_scale(const plan::Observation& observed) const;
    std::vector<policy::Proposer> list_proposers(const policy::Proposer& propose_for_slow_ranks);
    policy::Candidate find_current() const;
    std::string name_outcome(const policy::Candidate& chosen, std::size_t step);
    std::optional<plan::Decision> decide_ahead(const plan::Observation& observed, std::size_t end,
                                               const policy::Candidate& current,
                                               const policy::Proposer& propose_for_slow_ranks,
                                               records::ElasticDecision& record);
    std::optional<plan::Decision> decide_as_published(const plan::Observation& observed,
                                                      const policy::Candidate& current, double scale,
                                                      records::ElasticDecision& record);
    std::vector<plan::StepAhead> list_steps_ahead(std::size_t step, std::size_t end);

    const setup::Job& job_;
    const setup::PlanState& current_;
    layout::Layout origin_;
    int ranks_;
    std::map<std::size_t, plan::StepAhead> known_steps_;  // coming steps
    CandidateOutlook outlook_;
    policy::Proposer propose_for_depth_ = {};      // empty without --auto-pipe on
    policy::Proposer propose_for_lengths_ = {};    // empty if the layout does not follow lengths
    std::optional<PublishedDecisions> published_;  // empty unless --elastic-rule is published
    // If predictions are only relative, observed steps scale them. The predictions are those of coming steps.
    std::map<std::size_t, double> predicted_seconds_;
    std::map<std::size_t, records::ElasticDecision> decisions_;  // about the plans of coming steps
    double observed_sum_ = 0;
    double predicted_sum_ = 0;
};

}  // namespace trireme::adapt
