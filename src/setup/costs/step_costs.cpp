#include "trireme/setup/step_costs.hpp"

#include <algorithm>
#include <set>

#include "trireme/model/model.hpp"
#include "trireme/optim/optimizer.hpp"

namespace trireme::setup {
namespace {

constexpr double nanosecond = 1e-9;

}  // namespace

StepCostPredictor::StepCostPredictor(const PricedPlan& priced, const Machine& machine)
    : priced_(priced), machine_(machine), works_(priced.model, priced.plan, priced.dtype) {
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
            work_.back().push_back(make_replica_work(s, kind, replica.ranks.front()));
        }
        leaving_messages_.push_back(s + 1 < stages.size() ? count_leaving_messages(s) : 0);
    }
    add_gradient_exchanges();
}

StepCostPredictor::ReplicaKind StepCostPredictor::find_kind(const layout::ReplicaLayout& replica) const {
    ReplicaKind kind{.shares = replica.shares,
                     .device_kinds = {},
                     .link = {},
                     .migrations = find_team_migrations(priced_.plan.migrations, replica.ranks)};
    for (std::size_t r = 0; r < replica.ranks.size(); ++r) {
        kind.device_kinds.push_back(machine_.find_kind(replica.ranks[r]));
        if (r == 0) continue;
        const layout::Link link =
            machine_.find_link(replica.ranks.front(), replica.ranks[r], replica.ranks.size());
        constexpr double typical_bytes = 1e6;
        if (r == 1 || link.predict_seconds(typical_bytes) > kind.link.predict_seconds(typical_bytes))
            kind.link = link;
    }
    return kind;
}

StepCostPredictor::ReplicaWork StepCostPredictor::make_replica_work(std::size_t s, const ReplicaKind& kind,
                                                                    int first_rank) {
    const layout::StageLayout& stage = priced_.plan.layout.stages[s];
    ReplicaWork work{.ranks = {}, .link = kind.link};
    for (std::size_t r = 0; r < kind.shares.size(); ++r) {
        const stage::StageSpec spec{.layers = stage.layers,
                                    .part = {.rank = static_cast<int>(r), .shares = kind.shares},
                                    .recompute = priced_.plan.recompute[s]};
        const std::size_t device = kind.device_kinds[r];
        const MeasuredRatios ratios = find_measured_ratios(s, device);
        work.ranks.push_back(
            {.work = &works_.find(spec, kind.migrations, first_rank),
             .kind = device,
             .ratios = ratios,
             .update_seconds = ratios.update * (predict_update_seconds(spec, stage.replicas.size(), device) +
                                                predict_backup_seconds(spec, stage.replicas.size(), device))});
    }
    return work;
}

// Returns the time in which a rank clears its gradients, adds up the gradients of all replicas, computes the
// norm and updates its parameters. Replicas divide the computation of the norm evenly. If they shard the
// optimizer state, they also divide the update.
double StepCostPredictor::predict_update_seconds(const stage::StageSpec& spec, std::size_t replicas,
                                                 std::size_t kind) const {
    const plan::KernelSeconds& kernel_seconds = machine_.kernel_seconds[kind];
    const auto value_bytes = static_cast<double>(byte_size(priced_.dtype));
    const auto state_bytes = static_cast<double>(byte_size(accumulator_type(priced_.dtype)));
    // The update reads the gradient, and reads and writes the state and the value. With master
    // weights, the update also writes the rounded weights.
    const bool has_master_weights = optim::has_master_weights(priced_.dtype);
    const double update_bytes =
        state_bytes * (1 + 2 * static_cast<double>(1 + optim::count_moments(priced_.optimizer))) +
        (has_master_weights ? value_bytes : 0);
    const char* const update = priced_.optimizer.kind == optim::OptimizerKind::adamw ? "adamw" : "sgd";
    const auto all_replicas = static_cast<double>(replicas);
    const double updating_replicas = priced_.plan.shards_optimizer ? all_replicas : 1;
    double seconds = 0;
    double all_elements = 0;
    for (const model::ParameterSpec& parameter :
         model::list_unique_parameters(build_layers(priced_.model, spec.part, spec.layers))) {
        const auto elements = static_cast<double>(parameter.size());
        seconds += kernel_seconds(update, {.bytes = elements / updating_replicas * update_bytes}) +
                   kernel_seconds("sum_of_squares", {.bytes = elements / all_replicas * state_bytes});
        all_elements += elements;
    }
    const double gradient_bytes = all_elements * state_bytes;
    if (replicas > 1)  // a rank reads the gradients of all replicas for its shard, and writes the sum
        seconds += kernel_seconds("copy", {.bytes = gradient_bytes * (all_replicas + 1) / all_replicas});
    return seconds + kernel_seconds("fill", {.bytes = gradient_bytes});
}

// Returns the time in which a rank copies the values and the optimizer state that it updates, before a
// speculative update; 0 if updates are not speculative.
double StepCostPredictor::predict_backup_seconds(const stage::StageSpec& spec, std::size_t replicas,
                                                 std::size_t kind) const {
    if (!priced_.plan.training.shape.has_speculative_updates) return 0;
    const double updating_replicas = priced_.plan.shards_optimizer ? static_cast<double>(replicas) : 1;
    const auto state_values = static_cast<double>(optim::count_state_values(priced_.optimizer, priced_.dtype));
    double seconds = 0;
    for (const model::ParameterSpec& parameter :
         model::list_unique_parameters(build_layers(priced_.model, spec.part, spec.layers))) {
        const double elements = static_cast<double>(parameter.size()) / updating_replicas;
        const auto copy_seconds = [&](device::DType dtype) {
            const double bytes = 2 * elements * static_cast<double>(byte_size(dtype));
            return machine_.kernel_seconds[kind]("copy", {.bytes = bytes});
        };
        seconds += copy_seconds(priced_.dtype) + state_values * copy_seconds(accumulator_type(priced_.dtype));
    }
    return seconds;
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
    const plan::TrainingCosts kernels =
        works_.find(spec, {}, 0).predict_costs(profile.microbatch, machine_.kernel_seconds[kind]);
    const auto divide = [](double seconds, double kernel_seconds) {
        return kernel_seconds > 0 ? seconds / kernel_seconds : 0;
    };
    const auto divide_pass = [&](double seconds, const plan::PassCost& cost) {
        return divide(seconds, nanosecond * static_cast<double>(cost.kernel_nanoseconds()));
    };
    return {.forward = divide_pass(measured.forward, kernels.forward),
            .backward = divide_pass(measured.backward, kernels.backward),
            .backward_input = divide_pass(measured.backward_input, kernels.backward_input),
            .backward_weight = divide_pass(measured.backward_weight, kernels.backward_weight),
            .update = divide(measured.update, predict_update_seconds(spec, 1, kind))};
}

// Sets `exchanges_`: for each stage, the longest times of any rank of the stage. The exchange times of a rank
// that holds several stages are divided evenly among these stages.
void StepCostPredictor::add_gradient_exchanges() {
    const std::vector<layout::StageLayout>& stages = priced_.plan.layout.stages;
    std::set<std::size_t> first_layers;
    for (const layout::StageLayout& stage : stages) first_layers.insert(stage.layers.begin);
    struct Elements {
        double early = 0;
        double late = 0;
    };
    std::map<std::vector<int>, Elements> elements_by_holders;
    for (const layout::Bucket& bucket : priced_.gradients.buckets) {
        if (bucket.holders.size() < 2) continue;
        Elements& elements = elements_by_holders[bucket.holders];
        (first_layers.contains(bucket.last_use) ? elements.late : elements.early) +=
            static_cast<double>(bucket.elements);
    }
    const auto gradient_bytes = static_cast<double>(byte_size(accumulator_type(priced_.dtype)));
    const double gathered_bytes =
        priced_.plan.shards_optimizer ? static_cast<double>(byte_size(priced_.dtype)) : gradient_bytes;
    std::map<int, ExchangeSeconds> exchange_by_rank;
    for (const auto& [holders, elements] : elements_by_holders) {
        const ExchangeSeconds seconds{
            .early_reduce_scatter = predict_exchange_seconds(holders, gradient_bytes * elements.early),
            .late_reduce_scatter = predict_exchange_seconds(holders, gradient_bytes * elements.late),
            .all_gather = predict_exchange_seconds(holders, gathered_bytes * (elements.early + elements.late))};
        for (const int rank : holders) {
            ExchangeSeconds& sum = exchange_by_rank[rank];
            sum.early_reduce_scatter += seconds.early_reduce_scatter;
            sum.late_reduce_scatter += seconds.late_reduce_scatter;
            sum.all_gather += seconds.all_gather;
        }
    }
    exchanges_.resize(stages.size());
    for (const layout::Team& team : priced_.plan.teams) {
        const auto team_stages = static_cast<double>(team.stages.size());
        for (const int rank : team.ranks) {
            const ExchangeSeconds& seconds = exchange_by_rank[rank];
            for (const int s : team.stages) {
                ExchangeSeconds& slowest = exchanges_[static_cast<std::size_t>(s)];
                for (double ExchangeSeconds::*part :
                     {&ExchangeSeconds::early_reduce_scatter, &ExchangeSeconds::late_reduce_scatter,
                      &ExchangeSeconds::all_gather})
                    slowest.*part = std::max(slowest.*part, seconds.*part / team_stages);
            }
        }
    }
}

// Returns the time of an all-gather or reduce-scatter of `bytes` bytes among the holders. Every holder owns an
// equal portion of the bytes. In an all-gather, a holder sends its portion to all other holders. In a
// reduce-scatter, a holder receives its portion from all other holders. The other ranks of the holders' teams
// exchange bytes at the same time.
double StepCostPredictor::predict_exchange_seconds(const std::vector<int>& holders, double bytes) const {
    if (bytes == 0) return 0;
    const auto size = static_cast<double>(holders.size());
    const auto team = static_cast<std::size_t>(priced_.plan.find_team(holders.front()));
    const std::size_t team_ranks = priced_.plan.teams[team].ranks.size();
    std::map<std::size_t, std::vector<int>> holders_by_node;
    for (const int rank : holders) holders_by_node[machine_.find_node(rank)].push_back(rank);
    double slowest = 0;
    for (const auto& [node, ranks] : holders_by_node) {
        const auto inside = static_cast<double>(ranks.size());
        if (ranks.size() > 1) {
            const layout::Link link = machine_.find_link(ranks[0], ranks[1], 1);
            slowest = std::max(slowest, link.predict_seconds(bytes * (inside - 1) / size));
        }
        if (holders_by_node.size() == 1) continue;
        const auto& other_node =
            holders_by_node.begin()->first == node ? *holders_by_node.rbegin() : *holders_by_node.begin();
        const layout::Link link =
            machine_.find_link(ranks[0], other_node.second.front(), ranks.size() * team_ranks);
        slowest = std::max(slowest, link.predict_seconds(bytes * (size - inside) / size));
    }
    return slowest;
}

schedule::StepCosts StepCostPredictor::predict(const std::vector<plan::MicrobatchShape>& microbatches) const {
    const schedule::PipelineShape& shape = priced_.plan.training.shape;
    const std::vector<layout::StageLayout>& stages = priced_.plan.layout.stages;
    std::vector<std::vector<schedule::StageCost>> costs(stages.size());
    std::vector<bool> empty_microbatches;
    for (const plan::MicrobatchShape& microbatch : microbatches)
        empty_microbatches.push_back(microbatch.rows == 0);
    for (std::size_t s = 0; s < stages.size(); ++s) {
        std::vector<std::map<plan::MicrobatchShape, schedule::StageCost>> known_costs(work_[s].size());
        for (std::size_t m = 0; m < microbatches.size(); ++m) {
            const int team = shape.find_executor(static_cast<int>(s), static_cast<int>(m));
            const auto replica = std::ranges::find(shape.holders[s], team) - shape.holders[s].begin();
            const std::size_t kind = replica_kinds_[s][static_cast<std::size_t>(replica)];
            const auto [cost, is_new] = known_costs[kind].try_emplace(microbatches[m]);
            if (is_new) cost->second = predict_cost(s, work_[s][kind], microbatches[m]);
            costs[s].push_back(cost->second);
            costs[s].back().send = predict_send_seconds(s, m, microbatches[m].rows);
        }
    }
    return schedule::StepCosts(std::move(costs), std::move(empty_microbatches));
}

schedule::StageCost StepCostPredictor::predict_cost(std::size_t stage, const ReplicaWork& replica,
                                                    const plan::MicrobatchShape& shape) const {
    // A rank sends the messages of a collective at the same time, so their latency counts only once.
    const double peers = static_cast<double>(std::max<std::size_t>(2, replica.ranks.size()) - 1);
    const auto predict_seconds = [&](const plan::PassCost& cost, double ratio) {
        const double exchange_seconds =
            replica.link.bandwidth == 0
                ? 0
                : cost.messages_sent / peers * replica.link.latency + cost.bytes_sent / replica.link.bandwidth;
        return ratio * nanosecond * static_cast<double>(cost.kernel_nanoseconds()) + exchange_seconds;
    };
    schedule::StageCost slowest{.forward = 0, .backward_input = 0, .backward_weight = 0};
    double backward = 0;
    for (const RankWork& rank : replica.ranks) {
        const plan::TrainingCosts costs = rank.work->predict_costs(shape, machine_.kernel_seconds[rank.kind]);
        const MeasuredRatios& ratios = rank.ratios;
        slowest.forward = std::max(slowest.forward, predict_seconds(costs.forward, ratios.forward));
        slowest.backward_input =
            std::max(slowest.backward_input, predict_seconds(costs.backward_input, ratios.backward_input));
        slowest.backward_weight =
            std::max(slowest.backward_weight, predict_seconds(costs.backward_weight, ratios.backward_weight));
        slowest.step = std::max(slowest.step, rank.update_seconds);
        backward = std::max(backward, predict_seconds(costs.backward, ratios.backward));
    }
    // The gradients of a layer are reduced while earlier layers of the stage compute their gradients.
    const double last_layer = 1 / static_cast<double>(priced_.plan.layout.stages[stage].layers.count);
    const double overlap = (1 - last_layer) * (splits_backward_[stage] ? slowest.backward_weight : backward);
    const ExchangeSeconds& exchange = exchanges_[stage];
    slowest.reduce = exchange.late_reduce_scatter + std::max(0.0, exchange.early_reduce_scatter - overlap);
    slowest.step += exchange.all_gather;
    if (!splits_backward_[stage]) {
        // Divides the time of the whole pass in proportion to the times of separate halves.
        const double halves = slowest.backward_input + slowest.backward_weight;
        slowest.backward_weight *= halves > 0 ? backward / halves : 0;
        slowest.backward_input = backward - slowest.backward_weight;
    }
    return slowest;
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
