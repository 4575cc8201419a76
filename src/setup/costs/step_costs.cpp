#include "trireme/setup/step_costs.hpp"

#include <algorithm>
#include <set>

#include "setup/costs/update_costs.hpp"
#include "trireme/setup/clocks.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {
namespace {

constexpr double picosecond = 1e-12;

// `Passes` is schedule::StageCost or schedule::StageJoules.
template <class Passes>
void add_passes(const Passes& extra, Passes& passes) {
    passes.forward += extra.forward;
    passes.backward_input += extra.backward_input;
    passes.backward_weight += extra.backward_weight;
}

// Returns by how much the passes of `more` exceed those of `less`.
template <class Passes>
Passes subtract_passes(const Passes& more, const Passes& less) {
    return {.forward = std::max(0.0, more.forward - less.forward),
            .backward_input = std::max(0.0, more.backward_input - less.backward_input),
            .backward_weight = std::max(0.0, more.backward_weight - less.backward_weight)};
}

}  // namespace

PricedPlan make_priced_plan(const Job& job, const PlanState& current) {
    return {.model = job.model,
            .plan = current.plan,
            .dtype = job.dtype,
            .optimizer = job.config.optimizer,
            .gradients = current.gradients,
            .cache_link = find_cache_link(job)};
}

std::vector<bool> find_empty_microbatches(const std::vector<plan::MicrobatchShape>& microbatches) {
    std::vector<bool> are_empty;
    for (const plan::MicrobatchShape& microbatch : microbatches) are_empty.push_back(microbatch.rows == 0);
    return are_empty;
}

StepCostPredictor::StepCostPredictor(const PricedPlan& priced, const Machine& machine,
                                     std::shared_ptr<StageWorks> works)
    : priced_(priced), machine_(machine), works_(std::move(works)) {
    if (!works_) works_ = std::make_shared<StageWorks>(priced.model);
    const std::vector<layout::StageLayout>& stages = priced.plan.layout.stages;
    for (std::size_t s = 0; s < stages.size(); ++s) {
        splits_backward_.push_back(priced.splits_backward.empty()
                                       ? has_split_backward(priced.plan, static_cast<int>(s))
                                       : static_cast<bool>(priced.splits_backward[s]));
        std::vector<ReplicaKind> kinds;
        work_.emplace_back();
        std::vector<std::size_t>& kind_of_replica = replica_kinds_.emplace_back();
        for (const layout::ReplicaLayout& replica : stages[s].replicas) {
            const ReplicaKind kind = find_kind(replica);
            const auto known = std::ranges::find(kinds, kind);
            kind_of_replica.push_back(static_cast<std::size_t>(known - kinds.begin()));
            if (known != kinds.end()) continue;
            kinds.push_back(kind);
            work_.back().push_back(make_replica_work(s, kind));
        }
        leaving_messages_.push_back(s + 1 < stages.size() ? count_leaving_messages(s) : 0);
    }
    exchanges_ = predict_gradient_exchanges(priced, machine);
}

StepCostPredictor::ReplicaKind StepCostPredictor::find_kind(const layout::ReplicaLayout& replica) const {
    ReplicaKind kind{.shares = replica.shares,
                     .device_kinds = {},
                     .slowness = {},
                     .link = {},
                     .migrations = find_team_migrations(priced_.plan.migrations, replica.ranks)};
    for (std::size_t r = 0; r < replica.ranks.size(); ++r) {
        const int rank = replica.ranks[r];
        kind.device_kinds.push_back(machine_.find_kind(rank));
        kind.slowness.push_back(machine_.slowness.empty() ? 1
                                                          : machine_.slowness[static_cast<std::size_t>(rank)]);
        if (r == 0) continue;
        const layout::Link link = machine_.find_link(replica.ranks.front(), rank, replica.ranks.size());
        constexpr double typical_bytes = 1e6;
        if (r == 1 || link.predict_seconds(typical_bytes) > kind.link.predict_seconds(typical_bytes))
            kind.link = link;
    }
    return kind;
}

StepCostPredictor::ReplicaWork StepCostPredictor::make_replica_work(std::size_t s, const ReplicaKind& kind) {
    const layout::StageLayout& stage = priced_.plan.layout.stages[s];
    const stage::PassVariant variant = make_pass_variant(priced_.plan, priced_.dtype, kind.migrations);
    ReplicaWork work{.ranks = {}, .link = kind.link};
    for (std::size_t r = 0; r < kind.shares.size(); ++r) {
        const stage::StageSpec spec{.layers = stage.layers,
                                    .part = {.rank = static_cast<int>(r), .shares = kind.shares},
                                    .recompute = priced_.plan.recompute[s],
                                    .first_trained_layer = priced_.plan.first_trained_layer()};
        const std::size_t device = kind.device_kinds[r];
        const MeasuredRatios ratios = find_measured_ratios(s, device);
        work.ranks.push_back(
            {.work = &works_->find(spec, variant),
             .kind = device,
             .slowness = kind.slowness[r],
             .ratios = ratios,
             .update_seconds =
                 kind.slowness[r] * ratios.update *
                 (predict_update_seconds(priced_, machine_, spec, stage.replicas.size(), device) +
                  predict_backup_seconds(priced_, machine_, spec, stage.replicas.size(), device))});
    }
    return work;
}

// Returns the ratios of the measured times to the predicted times of the kernels, for the measured micro-batch
// and a rank that holds the whole layers of the stage. All ratios are 1 if the machine has no profiles.
StepCostPredictor::MeasuredRatios StepCostPredictor::find_measured_ratios(std::size_t s, std::size_t kind) {
    if (!machine_.profiles) return {};
    const plan::Profile& profile = machine_.profiles->kinds[kind];
    stage::StageSpec spec{.layers = priced_.plan.layout.stages[s].layers, .part = {.rank = 0, .shares = {1}}};
    plan::LayerProfile measured;
    for (std::size_t layer = spec.layers.begin; layer < spec.layers.end(); ++layer) {
        for (double plan::LayerProfile::*seconds :
             {&plan::LayerProfile::forward, &plan::LayerProfile::backward, &plan::LayerProfile::backward_input,
              &plan::LayerProfile::backward_weight, &plan::LayerProfile::update})
            measured.*seconds += profile.layers[layer].*seconds;
    }
    if (priced_.plan.recompute[s] == plan::Recompute::full) {
        measured.backward += measured.forward;
        spec.recompute = plan::Recompute::full;
    }
    const plan::TrainingCosts kernels = works_->find(spec, make_pass_variant(priced_.plan, priced_.dtype))
                                            .predict_costs(profile.microbatch, machine_.kernel_seconds[kind]);
    const auto divide = [](double seconds, double kernel_seconds) {
        return kernel_seconds > 0 ? seconds / kernel_seconds : 0;
    };
    const auto divide_pass = [&](double seconds, const plan::PassCost& cost) {
        return divide(seconds, picosecond * static_cast<double>(cost.kernel_picoseconds()));
    };
    return {.forward = divide_pass(measured.forward, kernels.forward),
            .backward = divide_pass(measured.backward, kernels.backward),
            .backward_input = divide_pass(measured.backward_input, kernels.backward_input),
            .backward_weight = divide_pass(measured.backward_weight, kernels.backward_weight),
            .update = divide(measured.update, predict_update_seconds(priced_, machine_, spec, 1, kind))};
}

std::vector<std::vector<schedule::StageCost>> StepCostPredictor::predict_costs(
    const std::vector<plan::MicrobatchShape>& microbatches, const std::vector<plan::MicrobatchLevels>& levels,
    const CachedShares& cached, std::size_t clock) {
    const std::vector<layout::StageLayout>& stages = priced_.plan.layout.stages;
    std::vector<std::vector<schedule::StageCost>> costs(stages.size());
    for (std::size_t s = 0; s < stages.size(); ++s) {
        std::vector<std::map<plan::MicrobatchShape, schedule::StageCost>> known_costs(work_[s].size());
        for (std::size_t m = 0; m < microbatches.size(); ++m) {
            const std::size_t kind = find_replica_kind(s, m);
            const auto [cost, is_new] = known_costs[kind].try_emplace(microbatches[m]);
            if (is_new) {
                cost->second = predict_cost(s, work_[s][kind], microbatches[m], clock);
                cost->second.forward += predict_cache_seconds(s, kind, microbatches[m], cached, clock);
            }
            costs[s].push_back(cost->second);
            costs[s].back().send = predict_send_seconds(s, m, microbatches[m].rows);
            const std::vector<plan::Recompute> of_blocks = plan::find_levels(levels, m, static_cast<int>(s));
            for (std::size_t b = 0; b < of_blocks.size(); ++b) {
                const schedule::StageCost extra = predict_extra(s, m, b, of_blocks[b], microbatches[m], clock);
                add_passes(extra, costs[s].back());
                add_passes(extra.joules, costs[s].back().joules);
            }
        }
    }
    return costs;
}

schedule::StepCosts StepCostPredictor::predict(const std::vector<plan::MicrobatchShape>& microbatches,
                                               const std::vector<plan::MicrobatchLevels>& levels,
                                               const CachedShares& cached) {
    return schedule::StepCosts(predict_costs(microbatches, levels, cached),
                               find_empty_microbatches(microbatches));
}

schedule::StepCosts StepCostPredictor::predict_at_all_clocks(
    const std::vector<plan::MicrobatchShape>& microbatches, const std::vector<plan::MicrobatchLevels>& levels,
    const CachedShares& cached) {
    schedule::StepCosts costs = predict(microbatches, levels, cached);
    std::vector<schedule::TeamClocks> clocks =
        list_team_clocks(priced_.plan.teams, [&](int rank) { return machine_.find_clocks(rank); });
    if (clocks.empty()) return costs;
    costs.add_clocks(std::move(clocks), [&](std::size_t clock) {
        return schedule::StepCosts(predict_costs(microbatches, levels, cached, clock),
                                   find_empty_microbatches(microbatches));
    });
    return costs;
}

std::size_t StepCostPredictor::find_replica_kind(std::size_t s, std::size_t microbatch) const {
    const schedule::PipelineShape& shape = priced_.plan.training.shape;
    const int team = shape.find_executor(static_cast<int>(s), static_cast<int>(microbatch));
    const auto replica = std::ranges::find(shape.holders[s], team) - shape.holders[s].begin();
    return replica_kinds_[s][static_cast<std::size_t>(replica)];
}

schedule::StageCost StepCostPredictor::predict_extra(std::size_t s, std::size_t microbatch, std::size_t block,
                                                     plan::Recompute level, const plan::MicrobatchShape& shape,
                                                     std::size_t clock) {
    const std::size_t kind = find_replica_kind(s, microbatch);
    const layout::Range layers = stage::list_blocks(priced_.model, priced_.plan.layout.stages[s].layers)[block];
    const auto predict_block = [&](plan::Recompute recompute) {
        schedule::StageCost cost =
            predict_passes(find_part_work(s, kind, layers, recompute), splits_backward_[s], shape, clock);
        if (splits_backward_[s]) return cost;
        cost.backward_input += std::exchange(cost.backward_weight, 0);
        cost.joules.backward_input += std::exchange(cost.joules.backward_weight, 0);
        return cost;
    };
    const schedule::StageCost cost = predict_block(level);
    const schedule::StageCost without = predict_block(priced_.plan.recompute[s]);
    schedule::StageCost extra = subtract_passes(cost, without);
    extra.joules = subtract_passes(cost.joules, without.joules);
    return extra;
}

// Returns by how many seconds the cache changes a forward pass: each sample that has a place is read or
// written, and those that are read only in part are also written. Only the stage that ends the frozen layers
// uses the cache.
double StepCostPredictor::predict_cache_seconds(std::size_t s, std::size_t kind,
                                                const plan::MicrobatchShape& shape, const CachedShares& cached,
                                                std::size_t clock) {
    const layout::Range layers = priced_.plan.layout.stages[s].layers;
    const std::size_t first_trained = priced_.plan.first_trained_layer();
    if (cached.placed == 0 || first_trained <= layers.begin || first_trained > layers.end()) return 0;
    const auto predict_forward = [&](std::size_t end) {
        if (end <= layers.begin) return 0.0;
        const ReplicaWork& part =
            find_part_work(s, kind, {layers.begin, end - layers.begin}, plan::Recompute::none);
        return predict_passes(part, /*splits_backward=*/false, shape, clock).forward;
    };
    const auto bytes = static_cast<double>(shape.tokens * priced_.model.width * byte_size(priced_.dtype));
    const layout::Link& link = priced_.cache_link;
    const double copy_seconds = link.bandwidth > 0
                                    ? static_cast<double>(shape.samples) * link.latency + bytes / link.bandwidth
                                    : machine_.find_kernel_seconds(work_[s][kind].ranks.front().kind, clock)(
                                          "copy", {.bytes = 2 * bytes});
    return copy_seconds * (cached.placed + cached.at_earlier_depth) -
           cached.at_depth * predict_forward(first_trained) -
           cached.at_earlier_depth * predict_forward(plan::find_first_trained_layer(cached.earlier_depth));
}

// Returns the work of some layers of a replica, with a recomputation of their own.
StepCostPredictor::ReplicaWork& StepCostPredictor::find_part_work(std::size_t s, std::size_t kind,
                                                                  layout::Range layers, plan::Recompute level) {
    const auto [known, is_new] = part_work_.try_emplace({s, kind, layers.begin, layers.count, level});
    ReplicaWork& work = known->second;
    if (!is_new) return work;
    const layout::StageLayout& stage = priced_.plan.layout.stages[s];
    const auto& kinds = replica_kinds_[s];
    const auto replica = static_cast<std::size_t>(std::ranges::find(kinds, kind) - kinds.begin());
    const layout::ReplicaLayout& first = stage.replicas[replica];
    const stage::PassVariant variant = make_pass_variant(
        priced_.plan, priced_.dtype, find_team_migrations(priced_.plan.migrations, first.ranks));
    work = work_[s][kind];
    for (std::size_t r = 0; r < work.ranks.size(); ++r) {
        const stage::StageSpec spec{.layers = layers,
                                    .part = {.rank = static_cast<int>(r), .shares = first.shares},
                                    .recompute = level,
                                    .first_trained_layer = priced_.plan.first_trained_layer()};
        work.ranks[r].work = &works_->find(spec, variant);
    }
    return work;
}

// Returns the times and joules of the passes of one micro-batch. If backward passes are whole, divides their
// time and their joules in proportion to those of separate halves. A device that communicates with its team is
// idle.
schedule::StageCost StepCostPredictor::predict_passes(const ReplicaWork& replica, bool splits_backward,
                                                      const plan::MicrobatchShape& shape,
                                                      std::size_t clock) const {
    // A rank sends the messages of a collective at the same time, so their latency counts only once.
    const double peers = static_cast<double>(std::max<std::size_t>(2, replica.ranks.size()) - 1);
    const auto predict_exchange_seconds = [&](const plan::PassCost& cost) {
        return replica.link.bandwidth == 0 ? 0
                                           : cost.messages_sent / peers * replica.link.latency +
                                                 cost.bytes_sent / replica.link.bandwidth;
    };
    schedule::StageCost slowest{.forward = 0, .backward_input = 0, .backward_weight = 0};
    schedule::StageJoules& joules = slowest.joules;
    double backward = 0;
    double backward_joules = 0;
    for (const RankWork& rank : replica.ranks) {
        const plan::TrainingCosts costs =
            rank.work->predict_costs(shape, machine_.find_kernel_seconds(rank.kind, clock));
        const auto add = [&](double& seconds, double& all_joules, const plan::PassCost& cost, double ratio) {
            const double kernel_seconds =
                rank.slowness * ratio * picosecond * static_cast<double>(cost.kernel_picoseconds());
            seconds = std::max(seconds, kernel_seconds + predict_exchange_seconds(cost));
            all_joules += machine_.find_busy_watts(rank.kind, clock) * kernel_seconds;
        };
        add(slowest.forward, joules.forward, costs.forward, rank.ratios.forward);
        add(slowest.backward_input, joules.backward_input, costs.backward_input, rank.ratios.backward_input);
        add(slowest.backward_weight, joules.backward_weight, costs.backward_weight,
            rank.ratios.backward_weight);
        add(backward, backward_joules, costs.backward, rank.ratios.backward);
    }
    const auto divide = [](double whole, double& input, double& weight) {
        const double halves = input + weight;
        weight *= halves > 0 ? whole / halves : 0;
        input = whole - weight;
    };
    if (!splits_backward) {
        divide(backward, slowest.backward_input, slowest.backward_weight);
        divide(backward_joules, joules.backward_input, joules.backward_weight);
    }
    return slowest;
}

schedule::StageCost StepCostPredictor::predict_cost(std::size_t stage, const ReplicaWork& replica,
                                                    const plan::MicrobatchShape& shape,
                                                    std::size_t clock) const {
    schedule::StageCost cost = predict_passes(replica, splits_backward_[stage], shape, clock);
    for (const RankWork& rank : replica.ranks) {
        cost.step = std::max(cost.step, rank.update_seconds);
        cost.joules.step += machine_.find_busy_watts(rank.kind, clock) * rank.update_seconds;
    }
    // The gradients of a layer are reduced while earlier layers of the stage compute their gradients.
    const layout::Range layers = priced_.plan.layout.stages[stage].layers;
    const std::size_t first_trained =
        std::clamp(priced_.plan.first_trained_layer(), layers.begin, layers.end() - 1);
    const double last_layer = 1 / static_cast<double>(layers.end() - first_trained);
    const double overlap =
        (1 - last_layer) *
        (splits_backward_[stage] ? cost.backward_weight : cost.backward_input + cost.backward_weight);
    const ExchangeSeconds& exchange = exchanges_[stage];
    cost.reduce = exchange.late_reduce_scatter + std::max(0.0, exchange.early_reduce_scatter - overlap);
    cost.step += exchange.all_gather;
    return cost;
}

// Returns the number of messages from a stage to the next stage that leave a node at the same time: the number
// of ranks on the node, in all replicas of the stage, that send to other nodes. The result is the maximum over
// nodes, and at least 1.
std::size_t StepCostPredictor::count_leaving_messages(std::size_t s) const {
    const schedule::PipelineShape& shape = priced_.plan.training.shape;
    std::map<std::size_t, std::set<int>> senders_by_node;
    for (std::size_t m = 0; m < static_cast<std::size_t>(shape.microbatches); ++m) {
        const int team = shape.find_executor(static_cast<int>(s), static_cast<int>(m));
        const int receiver = find_executing_rank(s + 1, m);
        for (const int rank : priced_.plan.teams[static_cast<std::size_t>(team)].ranks) {
            const std::size_t node = machine_.find_node(rank);
            if (node != machine_.find_node(receiver)) senders_by_node[node].insert(rank);
        }
    }
    std::size_t count = 1;
    for (const auto& [node, senders] : senders_by_node) count = std::max(count, senders.size());
    return count;
}

// For each micro-batch, a stage sends its output to the next stage, and gradients of its input, which have the
// same size, to the previous stage. Returns the time of the slower of these two messages.
double StepCostPredictor::predict_send_seconds(std::size_t s, std::size_t microbatch, std::size_t rows) const {
    const int team =
        priced_.plan.training.shape.find_executor(static_cast<int>(s), static_cast<int>(microbatch));
    const std::size_t tensor_ranks = priced_.plan.teams[static_cast<std::size_t>(team)].ranks.size();
    const std::size_t own_rows = priced_.plan.cuts_rows ? (rows + tensor_ranks - 1) / tensor_ranks : rows;
    const auto bytes = static_cast<double>(own_rows * priced_.model.width * byte_size(priced_.dtype));
    const auto predict_seconds = [&](std::size_t sender, std::size_t receiver) {
        return machine_
            .find_link(find_executing_rank(sender, microbatch), find_executing_rank(receiver, microbatch),
                       leaving_messages_[std::min(sender, receiver)])
            .predict_seconds(bytes);
    };
    double longest = 0;
    if (s > 0) longest = predict_seconds(s, s - 1);
    if (s + 1 < work_.size()) longest = std::max(longest, predict_seconds(s, s + 1));
    return longest;
}

// Returns the first rank of the team that executes a micro-batch in a stage.
int StepCostPredictor::find_executing_rank(std::size_t stage, std::size_t microbatch) const {
    const int team =
        priced_.plan.training.shape.find_executor(static_cast<int>(stage), static_cast<int>(microbatch));
    return priced_.plan.teams[static_cast<std::size_t>(team)].ranks.front();
}

}  // namespace trireme::setup
