// Plans for a number of frozen blocks, by the formula of find_best_cuts().
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "policy/proposers/cut_stages.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/policy/depth.hpp"

namespace trireme::policy {

struct PipePlan {
    std::vector<std::size_t> layers = {};    // per stage
    std::vector<std::size_t> replicas = {};  // per stage
    std::vector<std::size_t> teams = {};     // per replica, those of the first stage first
    std::size_t microbatches = 0;            // per step, over all replicas

    friend auto operator<=>(const PipePlan&, const PipePlan&) = default;
};

class PipePlans {
public:
    // The arguments must outlive the object. `slowness` has one factor per team.
    PipePlans(const DepthRules& rules, const plan::StepAhead& step, const std::vector<double>& slowness);

    // Return the plans with equal and with different numbers of replicas. The fastest plan is first.
    const std::vector<PipePlan>& equal() const { return equal_; }
    const std::vector<PipePlan>& unequal() const { return unequal_; }
    // The numbers of micro-batches of pipelines, ascending.
    const std::vector<std::size_t>& microbatch_counts() const { return counts_; }

    layout::Layout make_layout(const PipePlan& plan) const;

private:
    using Pipeline = std::vector<std::size_t>;  // indices of teams, one per stage
    using TimedPlans = std::vector<std::pair<double, PipePlan>>;

    std::size_t count_layers() const { return rules_.gradient_bytes.size(); }
    std::size_t count_teams() const { return rules_.layers.teams.size(); }
    int find_node(std::size_t team) const;
    std::vector<Pipeline> place_in_nodes(std::size_t stages) const;
    std::vector<Pipeline> place_consecutively(std::size_t stages) const;
    std::vector<Pipeline> place_fixed_pipelines(std::size_t stages) const;
    std::vector<std::vector<std::size_t>> list_team_orders(std::size_t stages) const;
    std::vector<std::size_t> list_microbatches(std::size_t stages, std::size_t pipelines) const;
    std::vector<double> predict_reductions(const std::vector<std::size_t>& teams, std::size_t replicas) const;
    std::size_t count_samples(std::size_t pipelines) const;
    CutProblem make_problem(std::size_t microbatches, std::size_t samples);
    void add_pipelines(std::size_t stages, const std::vector<std::size_t>& teams, TimedPlans& plans);
    void add_unequal(std::size_t microbatches, TimedPlans& plans);
    std::size_t count_unequal_cuts() const;
    std::vector<std::size_t> list_all_cuts() const;
    std::vector<std::size_t> list_unequal_counts() const;

    const DepthRules& rules_;
    const plan::StepAhead& step_;
    const std::vector<double>& slowness_;
    std::map<std::pair<std::size_t, std::size_t>, LengthCosts> costs_ = {};  // by micro-batches and samples
    std::vector<std::size_t> counts_ = {};
    std::vector<PipePlan> equal_ = {};
    std::vector<PipePlan> unequal_ = {};
};

}  // namespace trireme::policy
