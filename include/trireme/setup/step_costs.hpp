// Predicts the costs of the steps of a plan from the shapes of their micro-batches.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "trireme/layout/links.hpp"
#include "trireme/model/config.hpp"
#include "trireme/optim/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/stage_work.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/setup/cached_visits.hpp"
#include "trireme/setup/exchange_costs.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/stage_work.hpp"
#include "trireme/stage/gradient_exchange.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::setup {

struct PlanState;

// A plan, and the properties of its run on which the costs of its steps depend.
struct PricedPlan {
    const model::ModelConfig& model;
    const plan::Plan& plan;
    device::DType dtype;
    const optim::OptimizerConfig& optimizer;
    const stage::GradientPlan& gradients;
    // Per stage: true if its backward passes are split. If empty, the programs of `plan` determine this.
    std::vector<bool> splits_backward = {};
    layout::Link cache_link = {};  // between a device and the cache; if it has no bandwidth, the device copies
};

// Returns the current plan of a job with references to the members of `job` and `current`.
PricedPlan make_priced_plan(const Job& job, const PlanState& current);

// Without profiles of layers, the cost of a pass is the sum of its kernels. With profiles, this sum is scaled
// such that the whole layers of a stage have their measured cost for the measured micro-batch. The costs for
// other shapes, and for shares of layers, follow from this cost and from the kernels.
class StepCostPredictor {
public:
    // `priced` and `machine` are kept by reference. Predictors for plans of the same model may share `works`;
    // if it is null, the predictor has its own.
    StepCostPredictor(const PricedPlan& priced, const Machine& machine,
                      std::shared_ptr<StageWorks> works = nullptr);

    // Returns the costs of a step in seconds. `microbatches` has one shape per micro-batch of the step, in the
    // order of the plan. The ranks of a team wait for each other in every layer, so that a pass takes the time
    // of the slowest rank. `levels` is that of stage::StepWork. `cached` are the samples of each micro-batch
    // that the cache has.
    schedule::StepCosts predict(const std::vector<plan::MicrobatchShape>& microbatches,
                                const std::vector<plan::MicrobatchLevels>& levels = {},
                                const CachedShares& cached = {});
    // Returns the same costs, with those at the lower clocks of the devices if list_team_clocks() returns any.
    schedule::StepCosts predict_at_all_clocks(const std::vector<plan::MicrobatchShape>& microbatches,
                                              const std::vector<plan::MicrobatchLevels>& levels = {},
                                              const CachedShares& cached = {});
    // Returns the costs at one clock as a table, indexed by [stage][micro-batch]. `clock` is an index into the
    // clocks of the device that executes the micro-batch; a device with fewer clocks has the lowest one.
    std::vector<std::vector<schedule::StageCost>> predict_costs(
        const std::vector<plan::MicrobatchShape>& microbatches,
        const std::vector<plan::MicrobatchLevels>& levels = {}, const CachedShares& cached = {},
        std::size_t clock = 0);

    // Returns the time that the passes of a micro-batch take longer if one block of the stage has the
    // recomputation `level` instead of that of the plan. `shape` is the shape of the micro-batch.
    schedule::StageCost predict_extra(std::size_t stage, std::size_t microbatch, std::size_t block,
                                      plan::Recompute level, const plan::MicrobatchShape& shape,
                                      std::size_t clock = 0);

private:
    // The properties of a replica that determine the time of its passes.
    struct ReplicaKind {
        std::vector<std::size_t> shares;        // per rank
        std::vector<std::size_t> device_kinds;  // per rank
        std::vector<double> slowness;           // per rank: see Machine
        layout::Link link;  // the slowest link between the replica's first rank and its other ranks
        std::vector<layout::Migration> migrations;

        friend bool operator==(const ReplicaKind&, const ReplicaKind&) = default;
    };
    // Measured costs of the whole layers of a stage as fractions of the costs of their kernels.
    struct MeasuredRatios {
        double forward = 1;
        double backward = 1;
        double backward_input = 1;
        double backward_weight = 1;
        double update = 1;
    };
    struct RankWork {
        const plan::StageWork* work;
        std::size_t kind;  // kind of the rank's device
        double slowness;   // see Machine
        MeasuredRatios ratios;
        // Seconds to clear and sum gradients, compute their norm, and back up and update parameters.
        double update_seconds;
    };
    struct ReplicaWork {
        std::vector<RankWork> ranks;
        layout::Link link;  // see ReplicaKind
    };

    ReplicaKind find_kind(const layout::ReplicaLayout& replica) const;
    ReplicaWork make_replica_work(std::size_t stage, const ReplicaKind& kind);
    MeasuredRatios find_measured_ratios(std::size_t stage, std::size_t kind);
    std::size_t find_replica_kind(std::size_t stage, std::size_t microbatch) const;
    ReplicaWork& find_part_work(std::size_t stage, std::size_t kind, layout::Range layers,
                                plan::Recompute level);
    double predict_cache_seconds(std::size_t stage, std::size_t kind, const plan::MicrobatchShape& shape,
                                 const CachedShares& cached, std::size_t clock);
    schedule::StageCost predict_passes(const ReplicaWork& replica, bool splits_backward,
                                       const plan::MicrobatchShape& shape, std::size_t clock) const;
    schedule::StageCost predict_cost(std::size_t stage, const ReplicaWork& replica,
                                     const plan::MicrobatchShape& shape, std::size_t clock) const;
    std::size_t count_leaving_messages(std::size_t stage) const;
    double predict_send_seconds(std::size_t stage, std::size_t microbatch, std::size_t rows) const;
    int find_executing_rank(std::size_t stage, std::size_t microbatch) const;

    const PricedPlan& priced_;
    const Machine& machine_;
    std::shared_ptr<StageWorks> works_;
    std::vector<std::vector<ReplicaWork>> work_;           // [stage][kind of replica]
    std::vector<std::vector<std::size_t>> replica_kinds_;  // [stage][replica]: index in work_[stage]
    // Work of a part of a stage: by stage, kind of replica, first layer, number of layers and recomputation.
    std::map<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t, plan::Recompute>, ReplicaWork>
        part_work_;
    std::vector<bool> splits_backward_;       // per stage
    std::vector<ExchangeSeconds> exchanges_;  // per stage
    // Per stage: the largest number of messages to the next stage that leave a node at the same time.
    std::vector<std::size_t> leaving_messages_;
};

// Returns one entry per micro-batch, which is true if the micro-batch has no samples.
std::vector<bool> find_empty_microbatches(const std::vector<plan::MicrobatchShape>& microbatches);

}  // namespace trireme::setup
